//! Fuzz bodies: no bytes cause a panic, and a parsed text prints to a text that parses to an equal
//! value. Each fuzz target is one call.

use crate::definition::{Definition, DefinitionKind};
use crate::definition_parse::parse_definition;
use crate::matching::{MATCHING_RULES, MatchingRule, Position, certificate_parts};
use crate::schema::Schema;
use crate::schema_file::read_schema_file;
use crate::syntax::SYNTAXES;

/// Parses definitions of every kind (RFC 4512 §4.1), as clients add them to the subschema.
pub fn definition(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    for kind in DefinitionKind::ALL {
        if let Ok(definition) = parse_definition(kind, text) {
            assert_eq!(definition.kind(), kind);
            check(&[definition]);
        }
    }
}

/// Parses schema files of other servers.
pub fn schema_file(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    if let Ok(definitions) = read_schema_file(text) {
        check(&definitions);
    }
}

/// Checks that each definition prints to a text that parses to it. A schema takes all of them or
/// refuses; definitions that it took it takes again.
fn check(definitions: &[Definition]) {
    for definition in definitions {
        let printed = definition.to_string();
        let again = parse_definition(definition.kind(), &printed);
        assert_eq!(again.as_ref(), Ok(definition), "printed as {printed:?}");
    }
    if let Ok(schema) = Schema::standard().extended(definitions) {
        assert!(schema.extended(definitions).is_ok(), "{definitions:?}");
    }
    let _ = Schema::standard().extended_keeping(definitions);
}

/// Checks values under every syntax and every rule, attribute descriptions and subtree
/// specifications.
pub fn value(bytes: &[u8]) {
    let schema = Schema::standard();
    for syntax in SYNTAXES {
        let _ = syntax.check(bytes);
    }
    for rule in MATCHING_RULES {
        forms(&schema, rule, bytes);
    }
    crate::phonetic::phonetic_key(bytes);
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let _ = schema.subtree_specification(text);
    if let Ok(description) = schema.describe(text) {
        let spelled = schema.spelled(&description);
        assert_eq!(schema.describe(&spelled), Ok(description), "{spelled:?}");
    }
}

/// Checks the normal forms of a value; a refused value must leave the buffer empty.
fn forms(schema: &Schema, rule: &MatchingRule, bytes: &[u8]) {
    let mut out = Vec::new();
    let check = |made: Result<(), crate::error::InvalidValue>, out: &mut Vec<u8>| {
        assert!(made.is_ok() || out.is_empty(), "{}: refused", rule.name);
        out.clear();
    };
    check(rule.normalise(schema, bytes, &mut out), &mut out);
    check(rule.normalise_assertion(schema, bytes, &mut out), &mut out);
    check(rule.normalise_for_pieces(bytes, &mut out), &mut out);
    for position in [Position::Initial, Position::Any, Position::Final] {
        check(rule.normalise_piece(bytes, position, &mut out), &mut out);
    }
}

/// The rules that read values and assertions differently (RFC 4523 §3).
const RULES: [&str; 5] = [
    "2.5.13.34",
    "2.5.13.35",
    "2.5.13.38",
    "2.5.13.39",
    "2.5.13.40",
];

/// Checks certificates and revocation lists, stored and asserted.
pub fn certificate(bytes: &[u8]) {
    let _ = crate::CertificateNames::read(bytes);
    let _ = crate::CertificateStatus::read_all(bytes);
    let schema = Schema::standard();
    for oid in RULES {
        let rule = MatchingRule::by_name(oid).expect("the rule is built in");
        let (mut stored, mut asserted) = (Vec::new(), Vec::new());
        let read = rule.normalise(&schema, bytes, &mut stored);
        assert!(
            read.is_ok(),
            "a value that cannot be read is compared whole, or has no parts"
        );
        if rule
            .normalise_assertion(&schema, bytes, &mut asserted)
            .is_ok()
        {
            assert!(
                !asserted.is_empty(),
                "an assertion of nothing is true of everything"
            );
            certificate_parts::holds(&stored, &asserted);
        } else {
            assert!(asserted.is_empty(), "what is refused leaves nothing");
        }
    }
}

#[cfg(test)]
#[path = "../../../fuzz/damaged.rs"]
mod damaged;

#[cfg(test)]
mod tests {
    use super::damaged::run;

    #[test]
    fn certificates() {
        run("certificate", super::certificate);
    }

    #[test]
    fn definitions() {
        run("definition", super::definition);
    }

    #[test]
    fn schema_files() {
        run("schema_file", super::schema_file);
    }

    #[test]
    fn values() {
        run("value", super::value);
    }
}
