//! Descriptions as servers write them, and texts that are refused.

use super::*;

fn read(kind: DefinitionKind, text: &str) -> Definition {
    parse_definition(kind, text).unwrap_or_else(|error| panic!("{text}: {error:?}"))
}

#[test]
fn every_kind_prints_and_reads_identically() {
    for (kind, text) in [
        (
            DefinitionKind::AttributeType,
            "( 1.2.3 NAME ( 'a' 'b-c' ) DESC 'it\\27s \\5C' OBSOLETE SUP name \
             EQUALITY caseIgnoreMatch ORDERING caseIgnoreOrderingMatch \
             SUBSTR caseIgnoreSubstringsMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15{64} \
             SINGLE-VALUE NO-USER-MODIFICATION USAGE dSAOperation X-ORIGIN 'us' \
             X-ORDERED ( 'VALUES' 'x' ) )",
        ),
        (
            DefinitionKind::AttributeType,
            "( 1.2.3 NAME 'c-l' SUP l COLLECTIVE )",
        ),
        (
            DefinitionKind::ObjectClass,
            "( 1.2.4 NAME 'c' DESC '' SUP ( a $ b ) AUXILIARY MUST cn MAY ( sn $ l ) \
             X-ORIGIN 'x' )",
        ),
        (
            DefinitionKind::Syntax,
            "( 1.2.5 DESC 'Thing' X-SUBST '1.3.6.1.4.1.1466.115.121.1.15' )",
        ),
        (
            DefinitionKind::MatchingRule,
            "( 1.2.6 NAME 'thingMatch' OBSOLETE SYNTAX 1.2.5 )",
        ),
        (
            DefinitionKind::MatchingRuleUse,
            "( 1.2.6 NAME 'thingMatch' APPLIES ( a $ b ) )",
        ),
        (
            DefinitionKind::ContentRule,
            "( 2.5.6.6 NAME 'r' AUX posixAccount MUST mail MAY ( a $ b ) NOT seeAlso )",
        ),
        (
            DefinitionKind::NameForm,
            "( 1.2.7 NAME 'f' OC person MUST cn MAY ( uid $ sn ) )",
        ),
        (
            DefinitionKind::StructureRule,
            "( 2 NAME 'r' FORM f SUP ( 1 3 ) )",
        ),
    ] {
        let definition = read(kind, text);
        assert_eq!(definition.kind(), kind);
        assert_eq!(definition.to_string(), text);
        assert_eq!(read(kind, &definition.to_string()), definition);
    }
}

#[test]
fn what_servers_write_is_accepted() {
    let strict = "( 1.2.3 NAME 'a' SUP name SYNTAX 1.2.4 SINGLE-VALUE )";
    for lenient in [
        "( 1.2.3 NAME 'a' SINGLE-VALUE SYNTAX '1.2.4' SUP 'name' )",
        "(1.2.3 NAME a SUP name SYNTAX 1.2.4 SINGLE-VALUE)",
        "( 1.2.3\n\tNAME ( 'a' )\r\n  SUP name SYNTAX 1.2.4 single-value USAGE UserApplications )",
    ] {
        let kind = DefinitionKind::AttributeType;
        assert_eq!(read(kind, lenient), read(kind, strict), "{lenient}");
    }
    let class = "( 1.2.3 NAME 'c' STRUCTURAL MAY ( a $ b ) )";
    for lenient in [
        "( 1.2.3 NAME 'c' MAY ( a b ) )",
        "( 1.2.3 NAME 'c' MAY (a$b$) )",
    ] {
        let kind = DefinitionKind::ObjectClass;
        assert_eq!(read(kind, lenient), read(kind, class), "{lenient}");
    }
    let named = read(
        DefinitionKind::AttributeType,
        "( mailid-oid NAME 'mail_id' SYNTAX 1.2.4 )",
    );
    assert_eq!(named.identifier(), "mailid-oid");
}

#[test]
fn what_is_not_a_description_is_refused_with_its_place() {
    for (text, at) in [
        ("", 0),
        ("1.2.3", 0),
        ("( 1.2.3", 7),
        ("( NAME 'a' )", 7),
        ("( 1..3 NAME 'a' )", 2),
        ("( 1.2.3 NAME 'a' ) x", 19),
        ("( 1.2.3 NAME 'a b' )", 8),
        ("( 1.2.3 NAME 'a )", 13),
        ("( 1.2.3 NAME 'a' COLOUR blue )", 17),
        ("( 1.2.3 NAME 'a' DESC 'x' DESC 'y' )", 26),
        ("( 1.2.3 NAME 'a' SUP ( x $ y ) )", 17),
        ("( 1.2.3 NAME 'a' SYNTAX 1.2.4{x} )", 17),
        ("( 1.2.3 NAME 'a' USAGE never )", 17),
        ("( 1.2.3 NAME 'a' DESC )", 22),
        ("( 1.2.3 NAME ( 'a' ( 'b' ) ) )", 19),
    ] {
        match parse_definition(DefinitionKind::AttributeType, text) {
            Ok(definition) => panic!("{text} was read as {definition}"),
            Err(error) => assert_eq!(error.at, at, "{text}: {}", error.message),
        }
    }
    let two_kinds = "( 1.2.3 NAME 'c' ABSTRACT AUXILIARY )";
    assert!(parse_definition(DefinitionKind::ObjectClass, two_kinds).is_err());
}

proptest::proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "[ ()$'{}a-zA-Z0-9.:\\\\\u{e4}-]{0,80}") {
        for kind in DefinitionKind::ALL {
            if let Ok(definition) = parse_definition(kind, &text) {
                let printed = definition.to_string();
                proptest::prop_assert_eq!(parse_definition(kind, &printed).ok(), Some(definition));
            }
        }
    }
}

#[test]
fn what_definitions_refer_to_is_a_word() {
    let parse = |text: &str| parse_definition(DefinitionKind::AttributeType, text);
    let quoted = parse("( 1.2.3 NAME 'a' SUP 'name' EQUALITY '2.5.13.2' )").unwrap();
    assert_eq!(
        quoted.to_string(),
        "( 1.2.3 NAME 'a' SUP name EQUALITY 2.5.13.2 )"
    );
    // Printed, such a value would change the meaning or be unreadable.
    for odd in ["SUP 'name ) EQUALITY x'", "EQUALITY ''", "SYNTAX '1.2 $ 3'"] {
        let error = parse(&format!("( 1.2.3 NAME 'a' {odd} )")).unwrap_err();
        assert!(error.message.contains("expected a name or an OID"), "{odd}");
    }
}
