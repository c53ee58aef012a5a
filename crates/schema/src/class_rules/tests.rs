//! The class rules, a row per rule: classes, attributes, RDN, verdict.

use super::*;
use crate::definition::{Definition, DefinitionKind};
use crate::definition_parse::parse_definition;

/// Attributes are words; `cn*2` has two values. The RDN is the first attribute after `|`, if any.
fn check(schema: &Schema, classes: &str, attributes: &str) -> Result<String, Violation> {
    let (attributes, rdn) = attributes.split_once('|').unwrap_or((attributes, ""));
    let type_id = |name: &str| {
        schema
            .attribute_type(name)
            .unwrap_or_else(|| panic!("{name}"))
    };
    let attributes: Vec<(TypeId, usize)> = attributes
        .split_whitespace()
        .map(|word| match word.split_once('*') {
            Some((name, values)) => (type_id(name), values.parse().unwrap()),
            None => (type_id(word), 1),
        })
        .collect();
    let rdn: Vec<TypeId> = rdn.split_whitespace().map(type_id).collect();
    let classes: Vec<&[u8]> = classes.split_whitespace().map(str::as_bytes).collect();
    let shape = EntryShape {
        classes: &classes,
        attributes: &attributes,
        rdn: &rdn,
    };
    schema
        .check_entry(&shape)
        .map(|it| schema.class_of(it.structural).name().to_string())
}

fn with(definitions: &[(DefinitionKind, &str)]) -> Schema {
    let definitions: Vec<Definition> = definitions
        .iter()
        .map(|(kind, text)| parse_definition(*kind, text).unwrap())
        .collect();
    Schema::standard().extended(&definitions).unwrap()
}

#[test]
fn entries_that_obey() {
    let schema = Schema::standard();
    for (classes, attributes, structural) in [
        ("top person", "objectClass*2 cn sn | cn", "person"),
        ("person", "cn*2 sn telephoneNumber | cn sn", "person"),
        (
            "TOP PERSON 2.16.840.1.113730.3.2.2",
            "cn sn mail*3 uid",
            "inetOrgPerson",
        ),
        // organizationalPerson is implied, not stated.
        (
            "top person inetOrgPerson",
            "cn sn photo street l st postalAddress pager",
            "inetOrgPerson",
        ),
        (
            "inetOrgPerson posixAccount shadowAccount",
            "cn sn uid uidNumber gidNumber homeDirectory shadowMax",
            "inetOrgPerson",
        ),
        ("organizationalUnit", "ou | ou", "organizationalUnit"),
        ("organization dcObject", "o dc | dc", "organization"),
        ("groupOfNames", "cn member*1000000", "groupOfNames"),
        (
            "groupOfNames posixGroup",
            "cn member gidNumber",
            "groupOfNames",
        ),
        (
            "account extensibleObject",
            "uid cn sn pwdAttribute sambaSID",
            "account",
        ),
        // Operational attributes need no class; an attribute without values is absent.
        (
            "person",
            "cn sn entryUUID createTimestamp memberOf*5 drink*0",
            "person",
        ),
        (
            "subentry subschema",
            "cn subtreeSpecification attributeTypes*9",
            "subentry",
        ),
    ] {
        assert_eq!(
            check(&schema, classes, attributes).as_deref(),
            Ok(structural),
            "{classes}"
        );
    }
}

#[test]
fn entries_that_break_a_rule() {
    let schema = Schema::standard();
    let text = |text: &str| text.to_string();
    let missing = |class: &str, attribute: &str| Violation::Missing {
        class: text(class),
        attribute: text(attribute),
    };
    for (classes, attributes, violation) in [
        ("", "cn", Violation::NoClass),
        (
            "top nonsense",
            "cn",
            Violation::UnknownClass(text("nonsense")),
        ),
        ("top", "objectClass", Violation::NoStructuralClass(text(""))),
        (
            "posixAccount",
            "cn uid uidNumber gidNumber homeDirectory",
            Violation::NoStructuralClass(text("posixAccount")),
        ),
        (
            "person organizationalUnit",
            "cn sn ou",
            Violation::SeveralStructuralChains(text("person"), text("organizationalUnit")),
        ),
        (
            "residentialPerson inetOrgPerson",
            "cn sn l",
            Violation::SeveralStructuralChains(text("residentialPerson"), text("inetOrgPerson")),
        ),
        ("person", "cn", missing("person", "sn")),
        ("person", "cn sn*0", missing("person", "sn")),
        ("inetOrgPerson", "sn", missing("person", "cn")),
        ("groupOfNames", "cn", missing("groupOfNames", "member")),
        ("person", "cn sn mail", Violation::NotAllowed(text("mail"))),
        (
            "inetOrgPerson",
            "cn sn uidNumber",
            Violation::NotAllowed(text("uidNumber")),
        ),
        (
            "inetOrgPerson",
            "cn sn employeeNumber*2",
            Violation::SeveralValues(text("employeeNumber")),
        ),
        (
            "person",
            "cn sn entryUUID*2",
            Violation::SeveralValues(text("entryUUID")),
        ),
        (
            "person",
            "cn sn | description",
            Violation::NamingAttributeMissing(text("description")),
        ),
        ("account extensibleObject", "cn", missing("account", "uid")),
    ] {
        assert_eq!(
            check(&schema, classes, attributes),
            Err(violation),
            "{classes}: {attributes}"
        );
    }
}

#[test]
fn violations_have_the_code_clients_expect() {
    let schema = Schema::standard();
    let code = |classes, attributes| {
        check(&schema, classes, attributes)
            .unwrap_err()
            .result_code()
            .0
    };
    assert_eq!(code("person", "cn"), 65);
    assert_eq!(code("person", "cn sn entryUUID*2"), 19);
    assert_eq!(code("person", "cn sn | ou"), 64);
    assert_eq!(code("nonsense", "cn"), 21);
}

#[test]
fn content_rules_widen_and_narrow() {
    let schema = with(&[(
        DefinitionKind::ContentRule,
        "( 2.5.6.6 NAME 'personContent' AUX ( posixAccount $ pkiUser ) MUST description \
         MAY mail NOT telephoneNumber )",
    )]);
    let posix = "cn sn uid uidNumber gidNumber homeDirectory";
    for (classes, attributes, broken) in [
        ("person", "cn sn description".to_string(), None),
        ("person", "cn sn description mail".to_string(), None),
        ("person posixAccount", format!("{posix} description"), None),
        ("person", "cn sn".to_string(), Some("Missing")),
        (
            "person",
            "cn sn description telephoneNumber".to_string(),
            Some("NotAllowed"),
        ),
        (
            "person shadowAccount",
            "cn sn uid description".to_string(),
            Some("ClassNotAllowed"),
        ),
        // The rule governs person alone, not its subclasses.
        (
            "inetOrgPerson shadowAccount",
            "cn sn uid telephoneNumber".to_string(),
            None,
        ),
    ] {
        let verdict = check(&schema, classes, &attributes);
        let violation = verdict.err().map(|violation| format!("{violation:?}"));
        match broken {
            None => assert_eq!(violation, None, "{classes}: {attributes}"),
            Some(name) => assert!(
                violation.unwrap().starts_with(name),
                "{classes}: {attributes}"
            ),
        }
    }
}

#[test]
fn all_classes_of_an_entry_are_told() {
    let schema = Schema::standard();
    let type_id = |name: &str| schema.attribute_type(name).unwrap();
    let shape = EntryShape {
        classes: &[b"inetOrgPerson", b"top"],
        attributes: &[(type_id("cn"), 1), (type_id("sn"), 1)],
        rdn: &[],
    };
    let structure = schema.check_entry(&shape).unwrap();
    let mut names: Vec<&str> = structure
        .classes
        .iter()
        .map(|id| schema.class_of(*id).name())
        .collect();
    names.sort_unstable();
    assert_eq!(
        names,
        ["inetOrgPerson", "organizationalPerson", "person", "top"]
    );
}

/// Entries of RFC 2307 and of its successor, each with its structural class.
#[test]
fn a_posix_group_is_structural_when_alone() {
    let schema = Schema::standard();
    for (classes, attributes, structural) in [
        ("posixGroup", "cn gidNumber | cn", "posixGroup"),
        (
            "top posixGroup",
            "cn gidNumber memberUid*2 | cn",
            "posixGroup",
        ),
        (
            "posixGroup sambaGroupMapping",
            "cn gidNumber sambaSID sambaGroupType",
            "posixGroup",
        ),
        (
            "groupOfNames posixGroup",
            "cn gidNumber member",
            "groupOfNames",
        ),
        (
            "posixGroup groupOfMembers",
            "cn gidNumber",
            "groupOfMembers",
        ),
        ("namedObject posixGroup", "cn gidNumber", "namedObject"),
        ("automount", "cn automountInformation | cn", "automount"),
        (
            "automount",
            "automountKey automountInformation",
            "automount",
        ),
        ("automountMap", "ou | ou", "automountMap"),
        ("automountMap", "automountMapName", "automountMap"),
        (
            "radiusClient",
            "radiusClientIdentifier radiusClientSecret",
            "radiusClient",
        ),
    ] {
        assert_eq!(
            check(&schema, classes, attributes).as_deref(),
            Ok(structural),
            "{classes}"
        );
    }
}

#[test]
fn no_other_auxiliary_class_is_structural() {
    let schema = Schema::standard();
    for (classes, attributes) in [
        ("posixAccount", "cn uid uidNumber gidNumber homeDirectory"),
        ("sambaGroupMapping", "gidNumber sambaSID sambaGroupType"),
    ] {
        let refused = check(&schema, classes, attributes);
        let expected = Violation::NoStructuralClass(classes.to_owned());
        assert_eq!(refused, Err(expected), "{classes}");
    }
    let two = check(
        &schema,
        "posixGroup radiusClient",
        "cn gidNumber radiusClientSecret",
    );
    assert!(
        matches!(two, Err(Violation::SeveralStructuralChains(..))),
        "{two:?}"
    );
    let derived = with(&[(
        DefinitionKind::ObjectClass,
        "( 1.2.3.9 NAME 'roleGroup' SUP posixGroup STRUCTURAL MAY roleOccupant )",
    )]);
    let class = check(
        &derived,
        "posixGroup roleGroup",
        "cn gidNumber roleOccupant",
    );
    assert_eq!(class.as_deref(), Ok("roleGroup"));
}
