//! Transactions (RFC 5805) are one unit on all nodes, with what their read controls saw.

use super::served;
use kit::SUFFIX;
use kit::client::{Client, Modification};
use protocol::control::{ReadEntryRequest, ReadEntryResponse};
use protocol::extended::{EndTransactionRequest, EndTransactionResponse};
use protocol::{OwnedControl, Scope, oid};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

/// Transactions of each writer.
const TRANSACTIONS: usize = 60;
/// Entries that each transaction changes, both to the same text.
const BOTH: [usize; 2] = [0, 1];

fn name(number: usize) -> String {
    format!("uid=person{number:03},ou=People,{SUFFIX}")
}

fn read_control(oid: &'static str) -> OwnedControl {
    let attributes = vec!["description"];
    OwnedControl::with_value(oid, true, |out| {
        ReadEntryRequest { attributes }.encode(out);
    })
}

/// The text before and behind one update of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Step {
    before: String,
    after: String,
}

/// Gives both entries a text in one transaction; returns what the read controls of each saw.
fn put(client: &mut Client, text: &str) -> Vec<Step> {
    let begun = client
        .extended(oid::START_TRANSACTION, None)
        .expect_success();
    let identifier = begun.value.expect("an identifier");
    let part = OwnedControl::with_value(oid::TRANSACTION_SPECIFICATION, true, |out| {
        out.extend(&identifier);
    });
    let controls = [
        part,
        read_control(oid::PRE_READ),
        read_control(oid::POST_READ),
    ];
    for number in BOTH {
        let change = [Modification::replace("description", &[text])];
        let updated = client.modify_with(&name(number), &change, &controls);
        assert!(
            updated.expect_success().controls.is_empty(),
            "they come with the end"
        );
    }
    let mut value = Vec::new();
    let (commit, identifier) = (true, identifier.as_slice());
    EndTransactionRequest { commit, identifier }.encode(&mut value);
    let ended = client
        .extended(oid::END_TRANSACTION, Some(&value))
        .expect_success();
    let ended = ended.value.expect("the controls of the updates");
    let ended = EndTransactionResponse::decode(&ended).expect("it decodes");
    let updates = ended.updates_controls.iter();
    updates
        .map(|update| {
            let text = |oid| {
                let mut controls = update.controls.iter();
                let control = controls.find(|it| it.oid == oid).expect("a read control");
                let entry = ReadEntryResponse::decode(control.value.expect("an entry"));
                let entry = entry.expect("it decodes");
                let values = entry.attributes.iter().flat_map(|it| it.values);
                let value: Vec<u8> = values.flatten().copied().collect();
                String::from_utf8_lossy(&value).into_owned()
            };
            Step {
                before: text(oid::PRE_READ),
                after: text(oid::POST_READ),
            }
        })
        .collect()
}

/// Looks at both entries in one search until the writers are done; returns the number of looks.
fn watch(mut client: Client, is_done: &AtomicBool) -> usize {
    let mut looks = 0;
    while !is_done.load(Ordering::Acquire) {
        let filter = "(|(uid=person000)(uid=person001))";
        let found = client.search(SUFFIX, Scope::WholeSubtree, filter, &["description"]);
        let texts: Vec<_> = found
            .entries
            .iter()
            .map(|it| it.texts("description"))
            .collect();
        assert_eq!(texts.len(), 2);
        assert_eq!(texts[0], texts[1], "half of a transaction");
        looks += 1;
    }
    looks
}

#[test]
fn a_transaction_is_one_unit_on_all_nodes() {
    let nodes = served(2);
    let is_done = AtomicBool::new(false);
    let steps: Vec<Vec<Step>> = std::thread::scope(|scope| {
        let watchers: Vec<_> = nodes
            .iter()
            .map(|node| {
                let client = node.admin();
                scope.spawn(|| watch(client, &is_done))
            })
            .collect();
        let writers: Vec<_> = nodes
            .iter()
            .enumerate()
            .map(|(number, node)| {
                let mut client = node.admin();
                scope.spawn(move || {
                    let texts = (0..TRANSACTIONS).map(|it| format!("node {number}, {it}"));
                    texts.map(|it| put(&mut client, &it)).collect::<Vec<_>>()
                })
            })
            .collect();
        let writers = writers.into_iter().map(|it| it.join());
        let written: Result<Vec<_>, _> = writers.collect();
        is_done.store(true, Ordering::Release);
        for watcher in watchers {
            assert!(watcher.join().expect("never half") > 0);
        }
        written.expect("written").concat()
    });
    // Each transaction saw the whole of the one before it: the steps are one chain.
    let mut next = BTreeMap::new();
    for step in &steps {
        assert_eq!(step.len(), 2, "{step:?}");
        assert_eq!(step[0], step[1], "both entries have the same text");
        let known = next.insert(&step[0].before, &step[0].after);
        assert_eq!(known, None, "two transactions behind {:?}", step[0].before);
    }
    let (mut text, mut count) = (&String::new(), 0);
    while let Some(after) = next.get(text) {
        (text, count) = (*after, count + 1);
    }
    assert_eq!(count, nodes.len() * TRANSACTIONS);
    for node in &nodes {
        let mut client = node.admin();
        let wish = [OwnedControl::new(oid::DONT_USE_COPY, true)];
        let scope = Scope::BaseObject;
        let select = ["description"];
        for number in BOTH {
            let name = name(number);
            let found = client.search_with(&name, scope, "(uid=*)", &select, &wish, |_| {});
            assert_eq!(found.only().text("description"), *text);
        }
    }
}
