//! The standard schema is complete, and schemas grow without changing older definitions.

use std::time::Instant;

use super::standard::files_at;
use super::*;
use crate::definition_parse::parse_definition;
use crate::error::SchemaError;
use crate::schema_file::read_schema_file;
use crate::syntax::SYNTAXES;

fn attribute_type(text: &str) -> Definition {
    parse_definition(DefinitionKind::AttributeType, text).unwrap()
}

fn object_class(text: &str) -> Definition {
    parse_definition(DefinitionKind::ObjectClass, text).unwrap()
}

#[test]
fn every_standard_definition_prints_and_reads_identically() {
    let schema = Schema::standard();
    for (kind, values) in schema.subschema() {
        let kind = DefinitionKind::of_attribute(kind).unwrap();
        assert!(!values.is_empty());
        for text in values {
            let definition = parse_definition(kind, &text).unwrap();
            assert_eq!(definition.to_string(), text);
        }
    }
}

#[test]
fn definitions_of_a_level_are_absent_below_it() {
    let of_level_3 = ["pandoIdentityText", "pandoIdentityOrder"];
    let (before, since) = (Schema::standard_at(2), Schema::standard_at(3));
    for name in of_level_3 {
        assert!(before.attribute_type(name).is_none(), "{name}");
        assert!(since.attribute_type(name).is_some(), "{name}");
    }
    assert!(before.object_class("pandoIdentityRule").is_none());
    assert!(since.object_class("pandoIdentityRule").is_some());
    assert!(before.attribute_type("pandoAccessText").is_some());
}

#[test]
fn no_standard_file_repeats_or_contradicts_another() {
    let schema = Schema::standard();
    let mut count = 0;
    for (file, text) in files_at(u32::MAX) {
        let definitions = read_schema_file(text).unwrap_or_else(|error| panic!("{file}: {error}"));
        assert!(!definitions.is_empty(), "{file}");
        count += definitions.len();
    }
    assert_eq!(
        count,
        schema.attribute_types().count() + schema.object_classes().count()
    );
}

#[test]
fn every_syntax_a_standard_type_names_is_implemented() {
    for (_, it) in Schema::standard().attribute_types() {
        if let Some(oid) = &it.definition.syntax {
            let known = SYNTAXES.iter().any(|syntax| syntax.oid == oid);
            assert!(known, "{} names syntax {oid}", it.name());
        }
    }
}

#[test]
fn every_rule_a_standard_type_names_fits_its_syntax() {
    let mut misfits = Vec::new();
    for (_, it) in Schema::standard().attribute_types() {
        for rule in [it.equality, it.ordering, it.substring]
            .into_iter()
            .flatten()
        {
            // Octets can be compared whatever their meaning: photo, audio.
            if !rule.applies_to(it.syntax) && rule.name != "octetStringMatch" {
                misfits.push(format!(
                    "{} {} {}",
                    it.name(),
                    rule.name,
                    it.syntax.description
                ));
            }
        }
    }
    assert_eq!(misfits, Vec::<String>::new());
}

#[test]
fn classes_that_people_look_for_are_there() {
    let schema = Schema::standard();
    for class in [
        "inetOrgPerson",
        "groupOfNames",
        "groupOfUniqueNames",
        "groupOfURLs",
        "groupOfEntries",
        "namedObject",
        "posixAccount",
        "posixGroup",
        "shadowAccount",
        "automount",
        "sudoRole",
        "ldapPublicKey",
        "eduPerson",
        "sambaSamAccount",
        "radiusprofile",
        "dhcpHost",
        "krbPrincipal",
        "printerService",
        "uddiBusinessEntity",
        "javaObject",
        "corbaObject",
        "calEntry",
        "DUAConfigProfile",
        "pwdPolicy",
        "subentry",
        "collectiveAttributeSubentry",
        "dynamicObject",
        "referral",
        "extensibleObject",
        "labeledURIObject",
        "pkiCA",
        "dcObject",
        "account",
        "pandoConfig",
        "pandoIndex",
        "pandoSchema",
        "pandoAdministrator",
    ] {
        assert!(schema.object_class(class).is_some(), "{class}");
    }
}

#[test]
fn attribute_types_that_people_look_for_are_there() {
    let schema = Schema::standard();
    for (name, oid) in [
        ("photo", "0.9.2342.19200300.100.1.7"),
        ("entryUUID", "1.3.6.1.1.16.4"),
        ("entryDN", "1.3.6.1.1.20"),
        ("numSubordinates", "1.3.6.1.4.1.453.16.2.103"),
        ("entryCSN", "1.3.6.1.4.1.4203.666.1.7"),
        ("contextCSN", "1.3.6.1.4.1.4203.666.1.25"),
        ("memberOf", "1.2.840.113556.1.2.102"),
        ("isMemberOf", "1.3.6.1.4.1.42.2.27.9.1.792"),
        ("hasSubordinates", "2.5.18.9"),
        ("createTimestamp", "2.5.18.1"),
        ("memberURL", "2.16.840.1.113730.3.1.198"),
        ("entryTtl", "1.3.6.1.4.1.1466.101.119.3"),
        ("sshPublicKey", "1.3.6.1.4.1.24552.500.1.1.1.13"),
        ("localityName", "2.5.4.7"),
        ("structuralObjectClass", "2.5.21.9"),
        ("ref", "2.16.840.1.113730.3.1.34"),
    ] {
        assert!(schema.attribute_type(name).is_some(), "{name}");
        assert_eq!(
            schema.attribute_type(name),
            schema.attribute_type(oid),
            "{name}"
        );
    }
    let posix_group = schema.class_of(schema.object_class("posixGroup").unwrap());
    assert_eq!(posix_group.kind, ClassKind::Auxiliary);
}

#[test]
fn supertypes_hand_down_syntax_and_rules() {
    let schema = Schema::standard();
    let cn = schema.type_of(schema.attribute_type("cn").unwrap());
    assert_eq!(cn.equality.unwrap().name, "caseIgnoreMatch");
    assert_eq!(cn.substring.unwrap().name, "caseIgnoreSubstringsMatch");
    assert_eq!(cn.syntax.oid, "1.3.6.1.4.1.1466.115.121.1.15");
    let name = schema.attribute_type("name").unwrap();
    let cn = schema.attribute_type("cn").unwrap();
    assert!(schema.is_subtype(cn, name) && schema.is_subtype(cn, cn));
    assert!(!schema.is_subtype(name, cn));
    let certificate = schema.attribute_type("userCertificate").unwrap();
    assert!(schema.type_of(certificate).binary_transfer);
    let person = schema.object_class("person").unwrap();
    let inet_org_person = schema.object_class("inetOrgPerson").unwrap();
    assert!(schema.is_subclass(inet_org_person, person));
    assert!(!schema.is_subclass(person, inet_org_person));
}

#[test]
fn own_oids_are_recorded() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/oids.md");
    let record = std::fs::read_to_string(path).unwrap();
    let schema = Schema::standard();
    let types = schema
        .attribute_types()
        .map(|(_, it)| (it.oid.clone(), it.name().to_string()));
    let classes = schema
        .object_classes()
        .map(|(_, it)| (it.oid.clone(), it.name().to_string()));
    for (oid, name) in types
        .chain(classes)
        .filter(|(oid, _)| oid.starts_with("2.25."))
    {
        let arc = oid.splitn(4, '.').nth(3).unwrap();
        let row = record
            .lines()
            .find(|line| line.contains(&format!("`{name}`")));
        assert!(
            row.is_some_and(|row| row.contains(&format!("`.{arc}`"))),
            "{name} {oid}"
        );
    }
}

#[test]
fn extending_keeps_every_handle() {
    let schema = Schema::standard();
    let extended = schema
        .extended(&[
            object_class("( 1.2.3.9.3 NAME 'car' SUP vehicle MUST wheels MAY plate )"),
            object_class("( 1.2.3.9.2 NAME 'vehicle' SUP top MAY maker )"),
            attribute_type("( 1.2.3.9.12 NAME 'plate' SUP maker )"),
            attribute_type("( 1.2.3.9.11 NAME 'maker' SUP name )"),
            attribute_type("( 1.2.3.9.13 NAME 'wheels' SYNTAX 9.9.9 EQUALITY octetStringMatch )"),
        ])
        .unwrap();
    for (id, it) in schema.attribute_types() {
        assert_eq!(extended.attribute_type(&it.oid), Some(id));
        assert_eq!(extended.type_of(id).definition, it.definition);
    }
    let wheels = extended.type_of(extended.attribute_type("WHEELS").unwrap());
    assert_eq!(wheels.syntax.oid, "1.3.6.1.4.1.1466.115.121.1.40");
    assert_eq!(wheels.definition.syntax.as_deref(), Some("9.9.9"));
    let plate = extended.attribute_type("plate").unwrap();
    assert!(extended.is_subtype(plate, extended.attribute_type("name").unwrap()));
    assert!(schema.attribute_type("plate").is_none());
    let car = extended.class_of(extended.object_class("1.2.3.9.3").unwrap());
    assert!(car.allows(plate) && car.allows(extended.attribute_type("maker").unwrap()));
}

#[test]
fn repeating_a_definition_changes_nothing() {
    let schema = Schema::standard();
    let cn = "( 2.5.4.3 NAME 'CN' DESC 'other words' SUP NAME X-ORIGIN 'elsewhere' )";
    let count = schema.attribute_types().count();
    assert_eq!(
        schema
            .extended(&[attribute_type(cn)])
            .unwrap()
            .attribute_types()
            .count(),
        count
    );
    for (_, texts) in schema
        .subschema()
        .iter()
        .filter(|(name, _)| *name == "attributeTypes")
    {
        let again: Vec<Definition> = texts.iter().map(|text| attribute_type(text)).collect();
        assert_eq!(
            schema.extended(&again).unwrap().attribute_types().count(),
            count
        );
    }
}

#[test]
fn contradictions_are_refused() {
    let schema = Schema::standard();
    for (definition, expected) in [
        (attribute_type("( 2.5.4.3 NAME 'cn' SUP uid )"), "Conflict"),
        (attribute_type("( 1.2.3.9 NAME 'cn' SUP name )"), "Conflict"),
        (
            attribute_type("( 2.5.4.3 NAME 'newName' SUP name )"),
            "Conflict",
        ),
        (
            attribute_type("( 1.2.3.9 NAME 'x' SUP nothing )"),
            "Unknown",
        ),
        (
            attribute_type("( 1.2.3.9 NAME 'x' EQUALITY noMatch SYNTAX 1.2.3 )"),
            "Unknown",
        ),
        (attribute_type("( 1.2.3.9 NAME 'x' )"), "NoSyntax"),
        (attribute_type("( 1.2.3.9 NAME 'x' SUP x )"), "Cycle"),
        (
            attribute_type("( 1.2.3.9 NAME 'x' SUP name USAGE dSAOperation )"),
            "Contradiction",
        ),
        (
            attribute_type("( 1.2.3.9 NAME 'x' SUP name COLLECTIVE SINGLE-VALUE )"),
            "Contradiction",
        ),
        (
            object_class("( 2.5.6.6 NAME 'person' SUP top AUXILIARY MUST cn )"),
            "Conflict",
        ),
        (object_class("( 1.2.3.9 NAME 'x' SUP x )"), "Cycle"),
        (
            object_class("( 1.2.3.9 NAME 'x' SUP top MAY nothing )"),
            "Unknown",
        ),
        (
            object_class("( 1.2.3.9 NAME 'x' SUP posixAccount STRUCTURAL )"),
            "Contradiction",
        ),
        (
            object_class("( 1.2.3.9 NAME 'x' SUP person AUXILIARY )"),
            "Contradiction",
        ),
    ] {
        let error = schema
            .extended(std::slice::from_ref(&definition))
            .unwrap_err();
        assert!(
            format!("{error:?}").starts_with(expected),
            "{definition}: {error:?}"
        );
    }
    let cycle = [
        attribute_type("( 1.2.3.9.1 NAME 'x' SUP y )"),
        attribute_type("( 1.2.3.9.2 NAME 'y' SUP x )"),
    ];
    assert!(matches!(
        schema.extended(&cycle),
        Err(SchemaError::Cycle { .. })
    ));
}

/// Rows of the definition in force, a given one of the same OID, and the one in force afterwards:
/// empty if the given one adds nothing, `!` and a difference if it contradicts.
#[test]
fn definitions_are_compared_by_what_they_mean() {
    let ia5 = "SYNTAX 1.3.6.1.4.1.1466.115.121.1.26";
    let text = "SYNTAX 1.3.6.1.4.1.1466.115.121.1.15";
    for (first, second, expected) in [
        (
            format!("NAME 'x' {text}"),
            format!("NAME 'X' DESC 'y' {text}{{64}}"),
            String::new(),
        ),
        // Aliases and OIDs name supertypes and rules.
        (
            "NAME 'x' SUP cn".into(),
            "NAME 'x' SUP commonName".into(),
            String::new(),
        ),
        (
            "NAME 'x' SUP cn".into(),
            "NAME 'x' SUP 2.5.4.3".into(),
            String::new(),
        ),
        (
            format!("NAME 'x' EQUALITY caseIgnoreMatch {text}"),
            format!("NAME 'x' EQUALITY 2.5.13.2 {text}"),
            String::new(),
        ),
        // The given definition is narrower.
        (
            format!("NAME 'x' EQUALITY caseExactMatch SUBSTR caseExactSubstringsMatch {text}"),
            format!("NAME 'x' EQUALITY caseExactIA5Match {ia5} SINGLE-VALUE"),
            String::new(),
        ),
        // The given definition is wider.
        (
            format!("NAME 'x' EQUALITY caseExactIA5Match {ia5} SINGLE-VALUE"),
            format!("NAME 'x' EQUALITY caseExactMatch SUBSTR caseExactSubstringsMatch {text}"),
            format!("NAME 'x' EQUALITY caseExactMatch SUBSTR caseExactSubstringsMatch {text}"),
        ),
        (
            format!("NAME 'x' SUBSTR caseIgnoreIA5SubstringsMatch {ia5}"),
            format!("NAME ( 'x' 'y' ) EQUALITY caseIgnoreMatch {text}"),
            format!(
                "NAME ( 'x' 'y' ) EQUALITY caseIgnoreMatch SUBSTR caseIgnoreSubstringsMatch {text}"
            ),
        ),
        (
            format!("NAME 'x' {text} SINGLE-VALUE"),
            format!("NAME 'x' {text}"),
            format!("NAME 'x' {text}"),
        ),
        // Each definition is wider in some way.
        (
            format!("NAME 'x' EQUALITY caseIgnoreMatch {text} SINGLE-VALUE"),
            format!("NAME 'x' SUBSTR caseIgnoreIA5SubstringsMatch {ia5}"),
            format!("NAME 'x' EQUALITY caseIgnoreMatch SUBSTR caseIgnoreSubstringsMatch {text}"),
        ),
    ] {
        of_types(&first, &second, &expected);
    }
}

#[test]
fn contradictions_name_the_difference() {
    let ia5 = "SYNTAX 1.3.6.1.4.1.1466.115.121.1.26";
    let text = "SYNTAX 1.3.6.1.4.1.1466.115.121.1.15";
    for (first, second, expected) in [
        (
            format!("NAME 'x' {text}"),
            "NAME 'x' SYNTAX 1.3.6.1.4.1.1466.115.121.1.27".to_string(),
            "!SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 (Directory String) is in force, got \
             1.3.6.1.4.1.1466.115.121.1.27 (INTEGER)",
        ),
        (
            format!("NAME 'x' EQUALITY caseExactMatch {text}"),
            format!("NAME 'x' EQUALITY caseIgnoreIA5Match {ia5}"),
            "!EQUALITY caseExactMatch is in force, got caseIgnoreIA5Match",
        ),
        (
            format!("NAME 'x' {text}"),
            format!("NAME 'z' {text}"),
            "!the OID is that of x",
        ),
        (
            format!("NAME 'x' {text}"),
            format!("NAME ( 'x' 'cn' ) {text}"),
            "!the name cn has another OID",
        ),
        (
            format!("NAME 'x' {text}"),
            format!("NAME 'x' {text} COLLECTIVE"),
            "!no COLLECTIVE is in force, got it",
        ),
    ] {
        of_types(&first, &second, expected);
    }
}

fn of_types(first: &str, second: &str, expected: &str) {
    let definition = |words: &str| attribute_type(&format!("( 1.2.3.9.1 {words} )"));
    let schema = Schema::standard().extended(&[definition(first)]).unwrap();
    outcome(&schema, &definition(second), expected, |it| {
        let id = it.attribute_type("x").unwrap();
        it.type_of(id).definition.to_string()
    });
}

#[test]
fn classes_are_compared_by_what_they_mean() {
    for (first, second, expected) in [
        (
            "SUP top MUST uid MAY ( cn $ sn )",
            "MUST userid MAY ( surname $ commonName )",
            "",
        ),
        ("MUST uid MAY cn", "MUST ( uid $ cn )", ""),
        ("MUST uid MAY cn", "MUST ( uid $ objectClass )", ""),
        (
            "MUST ( uid $ cn ) MAY sn",
            "MUST uid MAY mail",
            "MUST uid MAY ( sn $ cn $ mail )",
        ),
        (
            "AUXILIARY",
            "STRUCTURAL MAY cn",
            "AUXILIARY MAY cn X-STRUCTURAL-ALONE 'TRUE'",
        ),
        ("AUXILIARY X-STRUCTURAL-ALONE 'TRUE'", "STRUCTURAL", ""),
        ("AUXILIARY X-STRUCTURAL-ALONE 'TRUE'", "AUXILIARY", ""),
        (
            "STRUCTURAL",
            "AUXILIARY",
            "!STRUCTURAL is in force, got AUXILIARY",
        ),
        (
            "ABSTRACT",
            "STRUCTURAL",
            "!ABSTRACT is in force, got STRUCTURAL",
        ),
        (
            "SUP person STRUCTURAL",
            "SUP device STRUCTURAL",
            "!SUP person is in force, got device",
        ),
    ] {
        let definition = |words: &str| object_class(&format!("( 1.2.3.9.2 NAME 'x' {words} )"));
        let schema = Schema::standard().extended(&[definition(first)]).unwrap();
        let expected = match expected.strip_prefix('!') {
            Some(_) => expected.to_string(),
            None if expected.is_empty() => String::new(),
            None => format!("NAME 'x' {expected}"),
        };
        outcome(&schema, &definition(second), &expected, |it| {
            it.class_of(it.object_class("x").unwrap())
                .definition
                .to_string()
        });
    }
}

fn outcome(
    schema: &Schema,
    given: &Definition,
    expected: &str,
    in_force: impl Fn(&Schema) -> String,
) {
    match (
        schema.extended(std::slice::from_ref(given)),
        expected.strip_prefix('!'),
    ) {
        (Err(SchemaError::Conflict { difference, .. }), Some(expected)) => {
            assert_eq!(difference, expected, "{given}");
        }
        (Ok(larger), None) if expected.is_empty() => assert!(larger.is_same(schema), "{given}"),
        (Ok(larger), None) => {
            let now = in_force(&larger).replace("STRUCTURAL MUST", "MUST");
            assert!(now.ends_with(&format!(" {expected} )")), "{given}: {now}");
        }
        (result, _) => panic!("{given}: {result:?}, expected {expected:?}"),
    }
}

/// Handles are kept, and definitions that derive from a widened one or inherit from it follow it.
#[test]
fn a_wider_definition_takes_the_place_of_the_one_in_force() {
    let schema = Schema::standard();
    let wider = [
        object_class("( 2.5.6.6 NAME 'person' SUP top STRUCTURAL MAY plate )"),
        attribute_type("( 1.2.3.9.1 NAME 'plate' SUP name )"),
        attribute_type("( 2.5.4.3 NAME ( 'cn' 'appellation' ) SUP name )"),
    ];
    let extended = schema.extended(&wider).unwrap();
    let plate = extended.attribute_type("plate").unwrap();
    let handle = |schema: &Schema, name| schema.object_class(name).unwrap();
    for class in ["person", "inetOrgPerson"] {
        assert_eq!(handle(&schema, class), handle(&extended, class));
        let class = extended.class_of(handle(&extended, class));
        assert!(class.allows(plate), "{}", class.name());
        let surname = extended.attribute_type("sn").unwrap();
        assert!(class.allows(surname) && !class.all_must.contains(&surname));
    }
    assert_eq!(
        extended.attribute_type("appellation"),
        schema.attribute_type("cn")
    );
    for (id, it) in schema.attribute_types() {
        assert_eq!(extended.type_of(id).oid, it.oid);
    }
    assert!(extended.extended(&wider).unwrap().is_same(&extended));
}

#[test]
fn conflicts_can_be_settled_for_what_is_in_force() {
    let schema = Schema::standard();
    let definitions = [
        object_class("( 2.5.6.6 NAME 'person' SUP top AUXILIARY MUST plate )"),
        attribute_type("( 1.2.3.9.1 NAME 'plate' SUP name )"),
    ];
    let (extended, kept) = schema.extended_keeping(&definitions).unwrap();
    assert!(extended.attribute_type("plate").is_some());
    let person = extended.class_of(extended.object_class("person").unwrap());
    assert_eq!(person.kind, ClassKind::Structural);
    assert!(
        matches!(&kept[..], [SchemaError::Conflict { name, .. }] if name.starts_with("person"))
    );
    let half_new = attribute_type("( 1.2.3.9.3 NAME ( 'history' 'pwdHistory' ) SUP name )");
    let (extended, kept) = schema.extended_keeping(&[half_new]).unwrap();
    assert_eq!(
        extended.attribute_type("pwdHistory"),
        schema.attribute_type("pwdHistory")
    );
    let history = extended.type_of(extended.attribute_type("history").unwrap());
    assert_eq!((history.names.len(), kept.len()), (1, 1));
    let unknown = attribute_type("( 1.2.3.9.2 NAME 'x' SUP nothing )");
    assert!(schema.extended_keeping(&[unknown]).is_err());
}

#[test]
fn rules_and_syntaxes_of_others_are_published() {
    let schema = Schema::standard()
        .extended(&[
            parse_definition(
                DefinitionKind::Syntax,
                "( 9.9.1 DESC 'Words' X-SUBST '1.3.6.1.4.1.1466.115.121.1.15' )",
            )
            .unwrap(),
            parse_definition(
                DefinitionKind::MatchingRule,
                "( 9.9.2 NAME 'wordsMatch' SYNTAX 9.9.1 )",
            )
            .unwrap(),
            attribute_type("( 9.9.3 NAME 'words' EQUALITY wordsMatch SYNTAX 9.9.1 )"),
        ])
        .unwrap();
    let words = schema.type_of(schema.attribute_type("words").unwrap());
    assert_eq!(words.syntax.description, "Directory String");
    assert!(words.equality.is_none());
    let published = schema.subschema();
    let holds = |attribute: &str, text: &str| {
        let values = published.iter().find(|(name, _)| *name == attribute);
        values.is_some_and(|(_, values)| values.iter().any(|value| value.contains(text)))
    };
    assert!(holds("ldapSyntaxes", "9.9.1"));
    assert!(holds("matchingRules", "wordsMatch"));
    assert!(holds(
        "attributeTypes",
        "( 9.9.3 NAME 'words' EQUALITY wordsMatch SYNTAX 9.9.1 )"
    ));
    assert!(holds("matchingRuleUse", "APPLIES"));
}

/// The bounds are generous, so that neither a debug build nor a busy machine exceeds them: in
/// release the figures are 3 ms and 20 ns. The test finds a change by an order of magnitude.
#[test]
fn building_and_looking_up_are_fast() {
    let start = Instant::now();
    let schema = Schema::build_standard(u32::MAX);
    let build = start.elapsed();
    let names: Vec<&str> = vec![
        "uid",
        "TELEPHONENUMBER",
        "objectclass",
        "2.5.4.3",
        "unheardOf",
    ];
    let start = Instant::now();
    let mut found = 0u32;
    for round in 0..200_000 {
        found += u32::from(
            schema
                .attribute_type(std::hint::black_box(names[round % 5]))
                .is_some(),
        );
    }
    let look_up = start.elapsed() / 200_000;
    assert_eq!(found, 160_000);
    assert!(build.as_millis() < 2_000, "{build:?}");
    assert!(look_up.as_nanos() < 5_000, "{look_up:?}");
}
