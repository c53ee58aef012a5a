//! Persistent search and entry change notification (draft-ietf-ldapext-psearch-03).

use crate::{ALL, Asked};
use kit::client::{Client, Event, Modification};
use kit::{Entry, Pando, SUFFIX, people};
use protocol::control::{ChangeType, EntryChangeNotification, PersistentSearch};
use protocol::{DerefAliases, MessageId, OwnedControl, Scope, SearchRequest, oid};
use std::borrow::Cow;

fn control(change_types: u8, changes_only: bool) -> OwnedControl {
    let mut value = Vec::new();
    let asked = PersistentSearch {
        change_types,
        changes_only,
        return_entry_changes: true,
    };
    asked.encode(&mut value);
    OwnedControl {
        oid: Cow::Borrowed(oid::PERSISTENT_SEARCH),
        critical: true,
        value: Some(value),
    }
}

/// Receives the next entry: its RDN, the kind of change, the previous name, and the change number.
#[track_caller]
fn told(client: &mut Client, id: MessageId) -> (String, Option<i64>) {
    let (of, event) = client.receive();
    assert_eq!(of, id, "{event:?}");
    let Event::Entry(entry, controls) = event else {
        panic!("{event:?}");
    };
    let rdn = entry.name.split(',').next().unwrap_or_default().to_owned();
    let notice = controls
        .iter()
        .find(|(it, _)| it == oid::ENTRY_CHANGE_NOTIFICATION);
    let Some((_, Some(value))) = notice else {
        return (rdn, None);
    };
    let notice = EntryChangeNotification::decode(value).expect("it decodes");
    let before = notice.previous_dn.map_or_else(String::new, |name| {
        format!(" was {}", name.split(',').next().unwrap_or_default())
    });
    let text = format!("{:?} {rdn}{before}", notice.change_type);
    (text, notice.change_number)
}

/// JNDI's listeners send `derefAlways` by default.
#[test]
fn aliases_are_told_as_entries() {
    let pando = Pando::start();
    let mut client = pando.client();
    let controls = [control(15, true)];
    let scope = Scope::WholeSubtree;
    let always = |it: &mut SearchRequest<'_>| it.deref_aliases = DerefAliases::Always;
    let filter = "(objectClass=*)";
    let id = client.send_search(SUFFIX, scope, filter, &["1.1"], &controls, always);
    let mut admin = pando.admin();
    let mut alias = Entry::of(
        &format!("cn=other,{SUFFIX}"),
        &[
            ("objectClass", &["alias", "extensibleObject"]),
            ("cn", &["other"]),
        ],
    );
    alias.push("aliasedObjectName", SUFFIX.into());
    admin.add(&alias).expect_success();
    assert_eq!(told(&mut client, id).0, "Add cn=other");
}

#[test]
fn each_change_is_told_with_its_kind() {
    let pando = Pando::start();
    let mut admin = pando.admin();
    for entry in people::sample() {
        admin.add(&entry).expect_success();
    }
    let asked = Asked {
        filter: "(uid=*)",
        ..ALL
    };
    let mut client = pando.client();
    let id = asked.send(&mut client, &control(15, false));
    for uid in ["ada", "grace", "edsger"] {
        assert_eq!(told(&mut client, id), (format!("uid={uid}"), None));
    }
    // A second search wants deletions and renames only.
    let mut picky = pando.client();
    let wanted = ChangeType::Delete as u8 + ChangeType::ModifyDn as u8;
    let some = asked.send(&mut picky, &control(wanted, true));
    // This answer comes behind the search, which reports all later changes.
    picky.who_am_i();

    let name = |uid: &str| format!("uid={uid},ou=People,{SUFFIX}");
    let mut last = 0;
    // Each change is received before the next is made: a change reported late shows the entry as it
    // is by then, or is left out once the entry is deleted.
    let mut tells = |expected: &str| {
        let (text, number) = told(&mut client, id);
        assert_eq!(text, expected);
        let number = number.expect("changes are numbered");
        assert!(number > last, "{number} after {last}");
        last = number;
    };
    admin.add(&people::person("alan")).expect_success();
    tells("Add uid=alan");
    admin.add(&people::unit("Nobody")).expect_success();
    let change = Modification::replace("sn", &["Turing"]);
    admin.modify(&name("alan"), &[change]).expect_success();
    tells("Modify uid=alan");
    let renamed = "ModifyDn uid=amt was uid=alan";
    admin
        .rename(&name("alan"), "uid=amt", true, None)
        .expect_success();
    tells(renamed);
    assert_eq!(told(&mut picky, some).0, renamed);
    admin.delete(&name("amt")).expect_success();
    tells("Delete uid=amt");
    assert_eq!(told(&mut picky, some).0, "Delete uid=amt");
    // The entry leaves the filter: no notification (§8.2 of the draft), nor one of the later
    // deletion.
    admin
        .rename(&name("ada"), "cn=ada", true, None)
        .expect_success();
    admin
        .rename(&name("grace"), "uid=hopper", true, None)
        .expect_success();
    let renamed = "ModifyDn uid=hopper was uid=grace";
    assert_eq!(told(&mut client, id).0, renamed);
    assert_eq!(told(&mut picky, some).0, renamed);
    admin
        .delete(&format!("cn=ada,ou=People,{SUFFIX}"))
        .expect_success();
    admin.delete(&name("hopper")).expect_success();
    assert_eq!(told(&mut client, id).0, "Delete uid=hopper");
    assert_eq!(told(&mut picky, some).0, "Delete uid=hopper");
}
