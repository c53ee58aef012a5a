//! Definitions that entries need stay as they are.

mod kit;

use kit::Client;
use protocol::{ChangeOperation, ResultCode};

const OWN: &str = "cn=mine,cn=schema,cn=config";
const TYPES: [&str; 2] = [
    "( 1.2.3.4.5 NAME 'shoeSize' EQUALITY integerMatch \
     SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 )",
    "( 1.2.3.4.7 NAME 'shoeColour' SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )",
];
const CLASS: &str = "( 1.2.3.4.6 NAME 'walker' SUP top AUXILIARY MAY ( shoeSize $ shoeColour ) )";

/// A directory with definitions of its own; `used`: and a walker.
fn directory(used: bool) -> Client {
    let mut client = Client::admin();
    let done = client.add(
        OWN,
        &[
            ("objectClass", &["pandoSchema"]),
            ("attributeTypes", &TYPES),
            ("objectClasses", &[CLASS]),
        ],
    );
    assert_eq!(done.code, ResultCode::SUCCESS, "{}", done.diagnostic);
    client.add_person("ada");
    if used {
        let add = ChangeOperation::Add;
        let changes: [(ChangeOperation, &str, &[&str]); 3] = [
            (add, "objectClass", &["walker"]),
            (add, "shoeSize", &["42", "43"]),
            (add, "shoeColour", &["red"]),
        ];
        let done = client.modify("cn=ada,dc=example,dc=com", &changes);
        assert_eq!(done.code, ResultCode::SUCCESS, "{}", done.diagnostic);
    }
    client
}

/// Replaces the definitions.
fn change(client: &mut Client, types: &[&str], class: &[&str]) -> (ResultCode, String) {
    let replace = ChangeOperation::Replace;
    let changes = [
        (replace, "attributeTypes", types),
        (replace, "objectClasses", class),
    ];
    let done = client.modify(OWN, &changes);
    (done.code, done.diagnostic)
}

type Definitions = (&'static str, [&'static str; 2], &'static str);

/// The fault of each definition in a word; then types and class.
const CHANGES: [Definitions; 7] = [
    (
        "cannot become SINGLE-VALUE",
        [
            "( 1.2.3.4.5 NAME 'shoeSize' EQUALITY integerMatch \
             SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 SINGLE-VALUE )",
            TYPES[1],
        ],
        CLASS,
    ),
    (
        "syntax and rules",
        [
            "( 1.2.3.4.5 NAME 'shoeSize' EQUALITY caseIgnoreMatch \
             SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )",
            TYPES[1],
        ],
        CLASS,
    ),
    (
        "first name",
        [
            TYPES[0],
            "( 1.2.3.4.7 NAME ( 'shoeColor' 'shoeColour' ) \
             SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )",
        ],
        CLASS,
    ),
    (
        "cannot leave out shoeColour",
        TYPES,
        "( 1.2.3.4.6 NAME 'walker' SUP top AUXILIARY MAY shoeSize )",
    ),
    (
        "cannot ask for description",
        TYPES,
        "( 1.2.3.4.6 NAME 'walker' SUP top AUXILIARY MUST description \
         MAY ( shoeSize $ shoeColour ) )",
    ),
    (
        "kind",
        TYPES,
        "( 1.2.3.4.6 NAME 'walker' SUP top STRUCTURAL MAY ( shoeSize $ shoeColour ) )",
    ),
    (
        "object class walker is in use and cannot be taken away",
        TYPES,
        "( 1.2.3.4.8 NAME 'runner' SUP top AUXILIARY MAY ( shoeSize $ shoeColour ) )",
    ),
];

#[test]
fn what_entries_stand_against_is_refused_and_named() {
    let mut client = directory(true);
    for (words, types, class) in CHANGES {
        let (code, diagnostic) = change(&mut client, &types, &[class]);
        assert_eq!(
            code,
            ResultCode::CONSTRAINT_VIOLATION,
            "{words}: {diagnostic}"
        );
        assert!(diagnostic.contains(words), "{words}: {diagnostic}");
        assert!(diagnostic.contains("cn=ada"), "{words}: {diagnostic}");
    }
    let (code, diagnostic) = change(&mut client, &[], &[]);
    assert_eq!(code, ResultCode::CONSTRAINT_VIOLATION, "{diagnostic}");
}

#[test]
fn what_entries_do_not_stand_against_is_done() {
    for (words, types, class) in CHANGES {
        let mut client = directory(false);
        let (code, diagnostic) = change(&mut client, &types, &[class]);
        assert_eq!(code, ResultCode::SUCCESS, "{words}: {diagnostic}");
    }
    let mut client = directory(true);
    // More is allowed, more names, a rule where there was none.
    let types = [
        TYPES[0],
        "( 1.2.3.4.7 NAME ( 'shoeColour' 'shoeColor' ) EQUALITY caseIgnoreMatch \
         SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )",
    ];
    let class = "( 1.2.3.4.6 NAME 'walker' SUP top AUXILIARY MUST cn \
                 MAY ( shoeSize $ shoeColour $ title ) )";
    let (code, diagnostic) = change(&mut client, &types, &[class]);
    assert_eq!(code, ResultCode::SUCCESS, "{diagnostic}");
    let found = client.search(
        "dc=example,dc=com",
        protocol::Scope::WholeSubtree,
        "(shoeColor=RED)",
        &["1.1"],
    );
    assert_eq!(found.names(), ["cn=ada,dc=example,dc=com"]);
    // Without entries that use them, they go.
    let delete = ChangeOperation::Delete;
    let changes: [(ChangeOperation, &str, &[&str]); 3] = [
        (delete, "objectClass", &["walker"]),
        (delete, "shoeSize", &[]),
        (delete, "shoeColour", &[]),
    ];
    let done = client.modify("cn=ada,dc=example,dc=com", &changes);
    assert_eq!(done.code, ResultCode::SUCCESS, "{}", done.diagnostic);
    let (code, diagnostic) = change(&mut client, &[], &[]);
    assert_eq!(code, ResultCode::SUCCESS, "{diagnostic}");
}

#[test]
fn definitions_where_nothing_reads_them_are_refused() {
    let mut client = Client::admin();
    let add = ChangeOperation::Add;
    let refused = |done: protocol::LdapResult, words: &str| {
        let text = &done.diagnostic;
        assert_eq!(
            done.code,
            ResultCode::UNWILLING_TO_PERFORM,
            "{words}: {text}"
        );
        assert!(text.contains(words), "{words}: {text}");
    };
    let container = "cn=schema,cn=config";
    for (attribute, value) in [("attributeTypes", TYPES[0]), ("objectClasses", CLASS)] {
        let done = client.modify(container, &[(add, attribute, &[value])]);
        refused(done, "an entry directly below cn=schema,cn=config");
        // In one request with its class, too.
        let with_class: [(ChangeOperation, &str, &[&str]); 2] = [
            (add, "objectClass", &["extensibleObject"]),
            (add, attribute, &[value]),
        ];
        let done = client.modify(container, &with_class);
        refused(done, "an entry directly below cn=schema,cn=config");
    }
    kit::success(&client.add(OWN, &[("objectClass", &["pandoSchema"])]));
    let deeper: [(&str, &[&str]); 2] = [
        ("objectClass", &["pandoSchema"]),
        ("attributeTypes", &[TYPES[0]]),
    ];
    let done = client.add(&format!("cn=deeper,{OWN}"), &deeper);
    refused(done, "an entry directly below cn=schema,cn=config");
    let index: [(&str, &[&str]); 3] = [
        ("objectClass", &["pandoIndex"]),
        ("pandoIndexAttribute", &["title"]),
        ("pandoIndexKind", &["equality"]),
    ];
    let first = "cn=title,cn=indexes,cn=config";
    kit::success(&client.add(first, &index));
    let done = client.add(&format!("cn=deeper,{first}"), &index);
    refused(done, "an entry directly below cn=indexes,cn=config");
    // Definitions from before may be removed from such an entry: this one has none.
    let delete = ChangeOperation::Delete;
    let done = client.modify(container, &[(delete, "attributeTypes", &[])]);
    assert_eq!(done.code, ResultCode::NO_SUCH_ATTRIBUTE);
}
