//! Handles resolved before a change of the schema mean the same after it: writes in the queue,
//! writes whose password is being hashed, open transactions, searches between two slices.

mod kit;

use directory::{Clock, Options};
use kit::gate::Gate;
use kit::{ADMIN, Answer, Client, PASSWORD, options, success};
use policy::PasswordSettings;
use policy::password::Scheme;
use protocol::ChangeOperation::{Add, Replace};
use protocol::{ChangeOperation, ResultCode, Scope};
use std::sync::Arc;

const BASE: &str = "dc=example,dc=com";
const ADA: &str = "cn=ada,dc=example,dc=com";
const EARLIER: &str = "cn=earlier,cn=schema,cn=config";
const LATER: &str = "cn=later,cn=schema,cn=config";
const COLOUR: &str = "( 1.2.3.1.1 NAME 'colour' EQUALITY caseIgnoreMatch \
                      SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )";
const SHADE: &str = "( 1.2.3.1.2 NAME 'shade' EQUALITY caseIgnoreMatch \
                     SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )";
const SIZE: &str = "( 1.2.3.2.1 NAME 'size' EQUALITY caseIgnoreMatch \
                    SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )";
const SIZE_AS_NUMBER: &str = "( 1.2.3.2.1 NAME 'size' EQUALITY integerMatch \
                              SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 )";
const LENGTH: &str = "( 1.2.3.2.2 NAME 'length' EQUALITY caseIgnoreMatch \
                      SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )";
const PAINTED: &str = "( 1.2.3.1.9 NAME 'painted' SUP top AUXILIARY MAY colour )";
const PAINTED_MORE: &str = "( 1.2.3.1.9 NAME 'painted' SUP top AUXILIARY MAY ( colour $ shade ) )";
const MEASURED: &str = "( 1.2.3.2.9 NAME 'measured' SUP top AUXILIARY MAY ( size $ length ) )";

type Changes<'c> = &'c [(ChangeOperation, &'c str, &'c [&'c str])];

/// The later definitions move behind a new one of the earlier entry.
const EXTENSION: Changes<'static> = &[
    (Add, "attributeTypes", &[SHADE]),
    (Replace, "objectClasses", &[PAINTED_MORE]),
];
/// Values of `size` are numbers from now on.
const REDEFINITION: Changes<'static> = &[(Replace, "attributeTypes", &[SIZE_AS_NUMBER, LENGTH])];
/// Removes the types `size` and `length`.
const REMOVAL: Changes<'static> = &[
    (Replace, "attributeTypes", &[]),
    (Replace, "objectClasses", &[]),
];
/// The write that waits meanwhile.
const SIZES: Changes<'static> = &[(Add, "size", &["large"]), (Add, "length", &["long"])];

/// A directory with two entries of definitions and a person who may have all of their types.
fn filled(options: &Options) -> Client {
    let mut client = Client::admin().reopen_with(options);
    success(&client.bind(ADMIN, PASSWORD));
    for (entry, types, class) in [
        (EARLIER, &[COLOUR][..], PAINTED),
        (LATER, &[SIZE, LENGTH][..], MEASURED),
    ] {
        let attributes = [
            ("objectClass", &["pandoSchema"][..]),
            ("attributeTypes", types),
            ("objectClasses", &[class]),
        ];
        success(&client.add(entry, &attributes));
    }
    let classes = ["inetOrgPerson", "extensibleObject"];
    success(&client.add(ADA, &[("objectClass", &classes), ("sn", &["Lovelace"])]));
    client
}

fn shown(client: &mut Client) -> Vec<(String, Vec<String>)> {
    let asked = ["colour", "shade", "size", "length"];
    let found = client.search(ADA, Scope::BaseObject, "(objectClass=*)", &asked);
    found.entries[0].1.clone()
}

fn sizes() -> Vec<(String, Vec<String>)> {
    let one = |name: &str, value: &str| (name.to_owned(), vec![value.to_owned()]);
    vec![one("size", "large"), one("length", "long")]
}

/// Where a write waits while the schema is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Waiting {
    InTheQueue,
    BeingHashed,
    InATransaction,
}

const PLACES: [Waiting; 3] = [
    Waiting::InTheQueue,
    Waiting::BeingHashed,
    Waiting::InATransaction,
];

/// Result of a write that waited while `change` was made to `entry`.
fn changed_meanwhile(place: Waiting, entry: &str, change: Changes<'_>) -> (Client, Answer) {
    let gate = Arc::new(Gate::default());
    let slow = Options {
        clock: Arc::clone(&gate) as Arc<dyn Clock>,
        passwords: PasswordSettings {
            scheme: Scheme::Argon2id,
            ..PasswordSettings::default()
        },
        ..options()
    };
    let mut client = filled(&slow);
    let mut other = client.another();
    success(&other.bind(ADMIN, PASSWORD));
    let answer = match place {
        Waiting::InTheQueue => {
            gate.set(true);
            let schema = other.begin_modify(entry, change, &[]);
            let write = client.begin_modify(ADA, SIZES, &[]);
            gate.set(false);
            success(&other.finish(schema).result);
            client.finish(write)
        }
        Waiting::BeingHashed => {
            let with_password = [SIZES, &[(Replace, "userPassword", &["new"])]].concat();
            let write = client.begin_modify(ADA, &with_password, &[]);
            success(&other.modify(entry, change));
            client.finish(write)
        }
        Waiting::InATransaction => {
            let within = client.begin_transaction();
            success(
                &client
                    .modify_with(ADA, SIZES, std::slice::from_ref(&within))
                    .result,
            );
            success(&other.modify(entry, change));
            client.commit(&within)
        }
    };
    (client, answer)
}

/// After a restart and in the kept log it is the same.
fn same_after_a_restart(mut client: Client, expected: &[(String, Vec<String>)]) {
    assert_eq!(shown(&mut client), expected);
    let mut client = client.reopen();
    success(&client.bind(ADMIN, PASSWORD));
    assert_eq!(shown(&mut client), expected);
    client.check();
}

#[test]
fn later_types_do_not_move_under_waiting_writes() {
    for place in PLACES {
        let (client, answer) = changed_meanwhile(place, EARLIER, EXTENSION);
        assert_eq!(answer.result.code, ResultCode::SUCCESS, "{place:?}");
        same_after_a_restart(client, &sizes());
    }
}

#[test]
fn values_of_another_meaning_are_refused() {
    for place in PLACES {
        let (client, answer) = changed_meanwhile(place, LATER, REDEFINITION);
        let text = &answer.result.diagnostic;
        assert_eq!(answer.result.code, ResultCode::BUSY, "{place:?}: {text}");
        assert!(text.contains("size"), "{place:?}: {text}");
        same_after_a_restart(client, &[]);
    }
}

#[test]
fn values_of_removed_types_are_refused() {
    for place in PLACES {
        let (client, answer) = changed_meanwhile(place, LATER, REMOVAL);
        let text = &answer.result.diagnostic;
        assert_eq!(answer.result.code, ResultCode::BUSY, "{place:?}: {text}");
        same_after_a_restart(client, &[]);
    }
}

#[test]
fn a_search_between_two_slices_goes_on_with_its_types() {
    let mut client = filled(&options());
    for number in 0..2_100 {
        let name = format!("cn=n{number:04},{BASE}");
        let classes = ["person", "painted", "measured"];
        let attributes: [(&str, &[&str]); 4] = [
            ("objectClass", &classes),
            ("sn", &["x"]),
            ("colour", &["red"]),
            ("size", &["large"]),
        ];
        success(&client.add(&name, &attributes));
    }
    let mut other = client.another();
    success(&other.bind(ADMIN, PASSWORD));
    let mut changed = false;
    client.between = Some(Box::new(move || {
        if !std::mem::replace(&mut changed, true) {
            success(&other.modify(EARLIER, EXTENSION));
        }
    }));
    let asked = ["size"];
    let found = client.search(BASE, Scope::WholeSubtree, "(size=LARGE)", &asked);
    assert!(client.slices > 0, "the schema was changed meanwhile");
    assert_eq!(found.entries.len(), 2_100);
    let all_shown = |(_, attributes): &kit::Found| attributes[0].0 == "size";
    assert!(found.entries.iter().all(all_shown));
}
