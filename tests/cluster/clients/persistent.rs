//! Persistent search (draft-ietf-ldapext-psearch-03) at several nodes, and anew after one died.

use super::served;
use kit::client::{Client, Event, Modification};
use kit::{Pando, SUFFIX};
use protocol::control::{EntryChangeNotification, PersistentSearch};
use protocol::{MessageId, OwnedControl, Scope, oid};

/// All four kinds of changes.
const ALL_CHANGES: u8 = 15;

/// Begins to follow changes. The answer to the next request shows that it has begun.
fn follow(client: &mut Client) -> MessageId {
    let asked = PersistentSearch {
        change_types: ALL_CHANGES,
        changes_only: true,
        return_entry_changes: true,
    };
    let control = OwnedControl::with_value(oid::PERSISTENT_SEARCH, true, |out| asked.encode(out));
    let scope = Scope::WholeSubtree;
    let id = client.send_search(SUFFIX, scope, "(uid=*)", &["cn"], &[control], |_| {});
    client.who_am_i();
    id
}

/// The next notification: kind of change, DN, number of the change and former DN.
fn told(client: &mut Client, id: MessageId) -> String {
    let (of, event) = client.receive();
    assert_eq!(of, id, "{event:?}");
    let Event::Entry(entry, controls) = event else {
        panic!("{event:?}");
    };
    let mut controls = controls.iter();
    let notice = controls.find(|it| it.0 == oid::ENTRY_CHANGE_NOTIFICATION);
    let value = notice.and_then(|it| it.1.as_deref()).expect("a notice");
    let notice = EntryChangeNotification::decode(value).expect("it decodes");
    let EntryChangeNotification {
        change_type,
        previous_dn,
        change_number,
    } = notice;
    format!(
        "{change_type:?} {} {change_number:?} {previous_dn:?}",
        entry.name
    )
}

/// Kinds of changes, in the order in which they are made.
const KINDS: [&str; 4] = ["Add", "Modify", "ModifyDn", "Delete"];

/// Makes a change of one kind.
fn change(client: &mut Client, kind: &str, uid: &str) {
    let person = kit::people::person(uid);
    let renamed = format!("uid={uid}2");
    let done = match kind {
        "Add" => client.add(&person),
        "Modify" => {
            let text = [Modification::replace("description", &["changed"])];
            client.modify(&person.name, &text)
        }
        "ModifyDn" => client.rename(&person.name, &renamed, true, None),
        _ => client.delete(&format!("{renamed},ou=People,{SUFFIX}")),
    };
    done.expect_success();
}

#[test]
fn changes_of_any_node_are_told_at_any_node() {
    let mut nodes = served(0);
    let mut followers: Vec<Client> = nodes.iter().map(Pando::admin).collect();
    let mut ids: Vec<MessageId> = followers.iter_mut().map(follow).collect();
    for (number, node) in nodes.iter().enumerate() {
        let mut writer = node.admin();
        for kind in KINDS {
            change(&mut writer, kind, &format!("p{number}"));
            let of_all = followers.iter_mut().zip(&ids);
            let said: Vec<String> = of_all.map(|(it, id)| told(it, *id)).collect();
            assert!(said[0].starts_with(kind), "{said:#?}");
            // With the same number on all nodes.
            assert!(said.iter().all(|it| *it == said[0]), "{said:#?}");
        }
    }
    // The node of the first follower dies. It goes on with what happens from then on.
    nodes[0].kill_with_etcd();
    followers[0] = nodes[1].admin();
    ids[0] = follow(&mut followers[0]);
    let mut writer = nodes[2].admin();
    for kind in KINDS {
        change(&mut writer, kind, "later");
        let said = [0, 2].map(|it| told(&mut followers[it], ids[it]));
        assert!(said[0].starts_with(kind), "{said:#?}");
        assert_eq!(said[0], said[1]);
    }
}
