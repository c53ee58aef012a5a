//! Replacement of all members of a group by more than one request can hold: in several steps, which
//! other clients see as one.

use kit::client::{Entry, Modification};
use kit::{Client, Pando, SUFFIX};
use protocol::{DeleteRequest, ModifyDnRequest, OwnedControl, Request};

use super::transactions::{end, part_of, start};

fn group(name: &str, member: &str) -> Entry {
    Entry::of(
        &format!("cn={name},{SUFFIX}"),
        &[("objectClass", &["groupOfNames"]), ("member", &[member])],
    )
}

fn members(client: &mut Client, name: &str) -> Option<Vec<String>> {
    let entry = client.read(&format!("cn={name},{SUFFIX}"))?;
    Some(entry.texts("member"))
}

fn rename(client: &mut Client, from: &str, to: &str, controls: &[OwnedControl]) {
    let (entry, new_rdn) = (format!("cn={from},{SUFFIX}"), format!("cn={to}"));
    let request = Request::ModifyDn(ModifyDnRequest {
        entry: &entry,
        new_rdn: &new_rdn,
        delete_old_rdn: true,
        new_superior: None,
    });
    client.call(&request, controls).outcome.expect_success();
}

#[test]
fn members_are_exchanged_as_a_whole_or_not_at_all() {
    let pando = Pando::start();
    let (mut admin, mut other) = (pando.admin(), pando.admin());
    admin.add(&group("staff", "cn=old")).expect_success();
    let old = Some(vec!["cn=old".to_owned()]);
    for given_up in [true, false] {
        // New members are added in slices, under another name.
        admin.add(&group("next", "cn=0")).expect_success();
        for slice in 0..5 {
            let names: Vec<String> = (1..500).map(|it| format!("cn={slice} {it}")).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let change = [Modification::add("member", &names)];
            let next = format!("cn=next,{SUFFIX}");
            admin.modify(&next, &change).expect_success();
            assert_eq!(members(&mut other, "staff"), old);
        }
        if given_up {
            admin.delete(&format!("cn=next,{SUFFIX}")).expect_success();
            assert_eq!(members(&mut other, "staff"), old);
            continue;
        }
        let transaction = start(&mut admin);
        let control = [part_of(&transaction)];
        rename(&mut admin, "staff", "before", &control);
        rename(&mut admin, "next", "staff", &control);
        let before = format!("cn=before,{SUFFIX}");
        let delete = Request::Delete(DeleteRequest { entry: &before });
        admin.call(&delete, &control).outcome.expect_success();
        assert_eq!(members(&mut other, "staff"), old);
        end(&mut admin, &transaction, true).expect_success();
    }
    let new = members(&mut other, "staff").expect("it is there under its name");
    assert_eq!(new.len(), 5 * 499 + 1);
    assert!(members(&mut other, "next").is_none() && members(&mut other, "before").is_none());
}
