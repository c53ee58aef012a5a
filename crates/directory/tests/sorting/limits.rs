//! Limits on sorted searches and on searches in general, and whose they are.

use super::{
    BASE, EVERYBODY, control, index, offset, order, page, pages, people, search, sort, sort_with,
    sorted, view, viewed,
};
use crate::kit::{self, Client};
use directory::Options;
use policy::{LimitSettings, LimitSubject, Limits};
use protocol::control::PagedResults;
use protocol::{ChangeOperation, ResultCode, oid};
use std::sync::Arc;

/// A directory with a few limits, in the place of another's.
fn limited(client: Client, limits: impl FnOnce(&mut Limits)) -> Client {
    let mut settings = LimitSettings::default();
    limits(&mut settings.anonymous);
    let options = Options {
        limits: settings,
        ..kit::options()
    };
    client.reopen_with(&options)
}

#[test]
fn limits_on_sorting_are_clear() {
    let mut client = limited(people(), |limits| limits.sort_entries_max = 3);
    let refused = search(&mut client, EVERYBODY, &[sort("title")]);
    assert_eq!(
        refused.result.code,
        ResultCode::UNAVAILABLE_CRITICAL_EXTENSION
    );
    let text = &refused.result.diagnostic;
    for part in ["limit of 3 entries", "anonymous clients", "title", "pr="] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let code = ResultCode::ADMIN_LIMIT_EXCEEDED;
    assert_eq!(sorted(&refused).unwrap().code, code);
    let unsorted = search(&mut client, EVERYBODY, &[sort_with("title", false)]);
    assert_eq!(
        (unsorted.result.code, unsorted.entries.len()),
        (ResultCode::SUCCESS, 5)
    );
    assert_eq!(sorted(&unsorted).unwrap().code, code);
    // A page needs room for itself only.
    let whole = ["Ada", "Alan", "Grace", "Barbara", "Edsger"];
    assert_eq!(pages(&mut client, "title", 2), whole);
    let no_view = search(
        &mut client,
        EVERYBODY,
        &[sort("title/cn"), view(0, 0, offset(1, 0))],
    );
    assert_eq!(viewed(&no_view).code, code);
    // An index needs none.
    client.bind(kit::ADMIN, kit::PASSWORD);
    index(&mut client, "uidNumber");
    client.bind("", "");
    let walked = search(&mut client, EVERYBODY, &[sort("uidNumber")]);
    assert_eq!(
        order(&walked),
        ["Grace", "Ada", "Alan", "Edsger", "Barbara"]
    );
    let seen = search(
        &mut client,
        EVERYBODY,
        &[sort("-uidNumber"), view(0, 1, offset(1, 0))],
    );
    assert_eq!(order(&seen), ["Barbara", "Edsger"]);
}

#[test]
fn size_limits_cut_what_is_sorted() {
    let mut client = limited(people(), |limits| {
        limits.size_entries_max = 2;
        limits.paged_entries_max = 4;
        limits.page_entries_max = 3;
    });
    let cut = search(&mut client, EVERYBODY, &[sort("sn")]);
    assert_eq!(order(&cut), ["Edsger", "Grace"]);
    assert_eq!(cut.result.code, ResultCode::SIZE_LIMIT_EXCEEDED);
    assert_eq!(cut.controls, []);
    for controls in [vec![sort("sn")], vec![]] {
        let with = |cookie: &[u8]| {
            let mut all = controls.clone();
            all.push(page(100, cookie));
            all
        };
        let first = search(&mut client, EVERYBODY, &with(b""));
        assert_eq!(
            (first.result.code, first.entries.len()),
            (ResultCode::SUCCESS, 3)
        );
        let value = control(&first, oid::PAGED_RESULTS).unwrap();
        let cookie = PagedResults::decode(value).unwrap().cookie;
        let second = search(&mut client, EVERYBODY, &with(cookie));
        assert_eq!(second.result.code, ResultCode::SIZE_LIMIT_EXCEEDED);
        assert_eq!(second.entries.len(), 1);
        assert!(second.result.diagnostic.contains("4 entries in all pages"));
    }
}

#[test]
fn some_subjects_have_limits_of_their_own() {
    let mut client = people();
    let ada = "cn=Ada,dc=example,dc=com";
    for name in ["Ada", "Grace", "Alan"] {
        let dn = format!("cn={name},{BASE}");
        let password = (ChangeOperation::Add, "userPassword", &["secret"][..]);
        assert_eq!(client.modify(&dn, &[password]).code, ResultCode::SUCCESS);
    }
    let group = "cn=readers,dc=example,dc=com";
    let members: &[(&str, &[&str])] = &[("objectClass", &["groupOfNames"]), ("member", &[ada])];
    assert_eq!(client.add(group, members).code, ResultCode::SUCCESS);
    let mut settings = LimitSettings::default();
    settings.anonymous.size_entries_max = 1;
    let of = |size_entries_max| Limits {
        size_entries_max,
        ..settings.everybody
    };
    let grace = "CN=grace, dc=example,dc=com".to_owned();
    let limit_rules = vec![
        (LimitSubject::Group(group.to_owned()), of(2)),
        (LimitSubject::Entry(grace), of(3)),
        (LimitSubject::Subtree(BASE.to_owned()), of(4)),
    ];
    let options = Options {
        limits: settings,
        limit_rules,
        ..kit::options()
    };
    let mut client = client.reopen_with(&options);
    let mut found = |name: &str| {
        let (dn, password) = match name {
            "" => (String::new(), ""),
            name => (format!("cn={name},{BASE}"), "secret"),
        };
        assert_eq!(client.bind(&dn, password).code, ResultCode::SUCCESS);
        let answer = search(&mut client, EVERYBODY, &[]);
        assert_eq!(answer.result.code, ResultCode::SIZE_LIMIT_EXCEEDED);
        (answer.entries.len(), answer.result.diagnostic)
    };
    for (name, size, whose) in [
        ("", 1, "anonymous clients"),
        ("Ada", 2, "members of cn=readers,dc=example,dc=com"),
        ("Grace", 3, "CN=grace, dc=example,dc=com"),
        ("Alan", 4, "clients below dc=example,dc=com"),
    ] {
        let (entries, text) = found(name);
        assert_eq!(entries, size, "{name}");
        let said = format!("size limit of {size} entries for {whose};");
        let pages = format!("-E pr={size}/noprompt");
        assert!(text.contains(&said) && text.contains(&pages), "{text}");
    }
    let wrong = Options {
        limit_rules: vec![(
            LimitSubject::Group("nonsense".to_owned()),
            Limits {
                ..LimitSettings::default().everybody
            },
        )],
        ..kit::options()
    };
    client.directory.shutdown();
    let folder = Arc::clone(&client.folder);
    drop(client);
    let error = directory::Directory::open(folder.path(), &wrong).map(|_| ());
    let text = error.unwrap_err().to_string();
    assert!(text.contains("subject_limits: \"nonsense\""), "{text}");
}
