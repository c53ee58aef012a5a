//! Views and pages are parts of lists that are kept.

use super::*;
use protocol::control::Subentries;

const PEOPLE: usize = 3_000;

/// The administrator of a directory with `PEOPLE` persons.
fn many() -> Client {
    let mut ldif = String::from("dn: dc=example,dc=com\nobjectClass: domain\ndc: example\n\n");
    for number in 0..PEOPLE {
        ldif.push_str(&format!(
            "dn: cn=p{number:05},{BASE}\nobjectClass: person\nsn: s{number:05}\n\n"
        ));
    }
    imported(&ldif)
}

/// A window of three entries around a place, with the context id of the window before.
fn see(client: &mut Client, place: u32, context: Option<&[u8]>) -> (Vec<String>, u32, Vec<u8>) {
    let view = view_in(1, 1, offset(place, 0), context);
    let answer = search(client, EVERYBODY, &[sort("sn"), view]);
    let said = viewed(&answer);
    assert_eq!(said.code, ResultCode::SUCCESS);
    let (count, context) = (said.content_count, said.context_id.unwrap().to_vec());
    (order(&answer), count, context)
}

fn delete(client: &mut Client, name: &str) {
    let dn = format!("cn={name},{BASE}");
    let deleted = client.delete_with(&dn, &[]);
    assert_eq!(deleted.result.code, ResultCode::SUCCESS);
}

#[test]
fn further_windows_look_at_no_other_entries() {
    let mut client = many();
    let (_, count, context) = see(&mut client, 1, None);
    assert_eq!(count as usize, PEOPLE);
    assert!(client.slices > 0, "the list is made in slices");
    for context in [Some(context.as_slice()), None] {
        let (seen, _, _) = see(&mut client, 1500, context);
        assert_eq!(seen, ["p01498", "p01499", "p01500"]);
        assert_eq!(client.slices, 0, "a window is shown at once");
    }
    let by_value = view_in(
        0,
        0,
        ViewTarget::GreaterThanOrEqual(b"s02999"),
        Some(&context),
    );
    let answer = search(&mut client, EVERYBODY, &[sort("sn"), by_value]);
    assert_eq!(
        (order(&answer), client.slices),
        (vec!["p02999".to_owned()], 0)
    );
}

#[test]
fn a_list_stays_as_it_was_made() {
    let mut client = many();
    let (_, _, context) = see(&mut client, 1, None);
    delete(&mut client, "p00001");
    let (seen, count, _) = see(&mut client, 2, Some(&context));
    assert_eq!(
        (seen, count as usize),
        (vec!["p00000".into(), "p00002".into()], PEOPLE)
    );
    // Without the context id, the list is one of now.
    let (seen, count, fresh) = see(&mut client, 2, None);
    assert_eq!(seen, ["p00000", "p00002", "p00003"]);
    assert_eq!(count as usize, PEOPLE - 1);
    assert_ne!(fresh, context);
    // The context id of a list that is gone leads to a new list.
    let mut client = client.reopen();
    client.bind(kit::ADMIN, kit::PASSWORD);
    let (seen, count, _) = see(&mut client, 2, Some(&context));
    assert_eq!((seen.len(), count as usize), (3, PEOPLE - 1));
}

#[test]
fn further_pages_look_at_no_other_entries() {
    let mut client = many();
    let first = search(&mut client, EVERYBODY, &[sort("sn"), page(10, b"")]);
    assert!(client.slices > 0, "the list is made in slices");
    let cookie = control(&first, oid::PAGED_RESULTS).unwrap();
    let cookie = PagedResults::decode(cookie).unwrap().cookie;
    delete(&mut client, "p00012");
    let second = search(&mut client, EVERYBODY, &[sort("sn"), page(3, cookie)]);
    assert_eq!(order(&second), ["p00010", "p00011", "p00013"]);
    assert_eq!(client.slices, 0, "a page is shown at once");
}

#[test]
fn a_list_of_subentries_is_another_list() {
    let mut client = imported("dn: dc=example,dc=com\nobjectClass: domain\ndc: example\n\n");
    let subentry: [(&str, &[&str]); 3] = [
        ("objectClass", &["top", "subentry"]),
        ("cn", &["area"]),
        ("subtreeSpecification", &["{ }"]),
    ];
    let added = client.add(&format!("cn=area,{BASE}"), &subentry);
    assert_eq!(added.code, ResultCode::SUCCESS, "{}", added.diagnostic);
    let visible = Subentries { visible: true };
    let only = OwnedControl::with_value(oid::SUBENTRIES, true, |out| visible.encode(out));
    let beside = OwnedControl::new(oid::SUBENTRIES_LDUP, true);
    let window = [sort("cn"), view(0, 9, offset(1, 0))];
    let mut count = |more: &[OwnedControl]| {
        let answer = search(
            &mut client,
            "(objectClass=*)",
            &[&window[..], more].concat(),
        );
        (answer.entries.len(), viewed(&answer).content_count)
    };
    assert_eq!(count(&[]), (1, 1));
    assert_eq!(count(&[only]), (1, 1));
    assert_eq!(count(&[beside]), (2, 2));
    assert_eq!(count(&[]), (1, 1));
}
