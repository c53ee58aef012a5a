//! Following searches and their connection: other requests go on, memory stays bounded, and the
//! searches end when they should.

use crate::{ALL, Asked, Said, next, short, sync, until};
use kit::client::{Event, Modification};
use kit::process::until as wait;
use kit::{ADMIN, PASSWORD, Pando, SUFFIX, people};
use protocol::control::{SyncMode, SyncState};
use protocol::{
    DerefAliases, OwnedControl, Request, ResultCode, Scope, ber, control::PagedResults, oid,
};
use std::borrow::Cow;

fn start() -> Pando {
    let pando = Pando::start();
    let mut admin = pando.admin();
    admin.add(&people::unit("People")).expect_success();
    pando
}

#[test]
fn other_operations_go_on_beside_it() {
    let pando = start();
    let mut client = pando.admin();
    let (id, _) = ALL.follow(&mut client, None);
    for uid in ["ada", "grace"] {
        // The change is made on the same connection: its answer and the notification may come in
        // either order.
        let (mut answered, mut told) = (false, false);
        let add = client
            .try_send_add(&people::person(uid), &[])
            .expect("sent");
        while !(answered && told) {
            match client.receive() {
                (of, Event::Done(outcome)) if of == add => {
                    outcome.expect_success();
                    answered = true;
                }
                (of, Event::Entry(entry, _)) if of == id => {
                    assert!(entry.name.starts_with(&format!("uid={uid},")));
                    told = true;
                }
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(client.who_am_i(), format!("dn:{ADMIN}"));
    }
}

#[test]
fn it_ends_with_cancel_abandon_and_bind() {
    let pando = start();
    let mut admin = pando.admin();
    let mut client = pando.admin();
    let tell = |admin: &mut kit::Client, value: &str| {
        let change = Modification::replace("description", &[value]);
        let name = format!("ou=People,{SUFFIX}");
        admin.modify(&name, &[change]).expect_success();
    };
    let (first, _) = ALL.follow(&mut client, None);
    let (second, _) = ALL.follow(&mut client, None);
    let (third, _) = ALL.follow(&mut client, None);
    let mut value = Vec::new();
    ber::put_nested(&mut value, ber::SEQUENCE, |out| {
        ber::put_integer(out, ber::INTEGER, i64::from(first));
    });
    let cancel = protocol::ExtendedRequest {
        name: oid::CANCEL,
        value: Some(&value),
    };
    let cancel = client.send(&Request::Extended(cancel), &[]);
    match next(&mut client, first) {
        Said::Done(outcome, _, Some(_)) => {
            outcome.expect(ResultCode::CANCELED);
        }
        other => panic!("{other:?}"),
    }
    let answer = client.try_finish(cancel).expect("the server answers");
    answer.outcome.expect_success();
    client.send(&Request::Abandon(second), &[]);
    tell(&mut admin, "one");
    assert_eq!(short(&[next(&mut client, third)]), ["modify ou=people"]);
    // A bind ends searches begun under another identity (RFC 4511 §4.2.1).
    client.bind(ADMIN, PASSWORD).expect_success();
    tell(&mut admin, "two");
    assert_eq!(client.who_am_i(), format!("dn:{ADMIN}"));
}

#[test]
fn an_idle_follower_is_not_disconnected() {
    let mut pando = Pando::init();
    let settings = pando.node().join("pando.toml");
    std::fs::write(&settings, "[connections]\nidle_timeout_s = 1\n").expect("our own file");
    pando.serve();
    let mut client = pando.client();
    let (id, _) = ALL.follow(&mut client, None);
    let mut idle = pando.client();
    idle.who_am_i();
    assert!(idle.is_closed_by_server());
    let mut admin = pando.admin();
    admin.add(&people::unit("People")).expect_success();
    assert_eq!(short(&[next(&mut client, id)]), ["add ou=people"]);
    // A stopping server sends followers a Notice of Disconnection, too.
    assert!(pando.stop().success());
    assert!(client.is_closed_by_server());
}

#[test]
fn a_subject_has_a_limit() {
    let mut pando = Pando::init();
    let settings = pando.node().join("pando.toml");
    std::fs::write(&settings, "[limits]\nfollowers_max = 2\n").expect("our own file");
    pando.serve();
    let (mut one, mut two) = (pando.client(), pando.client());
    ALL.follow(&mut one, None);
    let (second, _) = ALL.follow(&mut two, None);
    let control = sync(SyncMode::RefreshAndPersist, None, false);
    let id = ALL.send(&mut one, &control);
    match next(&mut one, id) {
        Said::Done(outcome, ..) => {
            let outcome = outcome.expect(ResultCode::ADMIN_LIMIT_EXCEEDED);
            assert!(outcome.diagnostic.contains("followers_max"), "{outcome:?}");
        }
        other => panic!("{other:?}"),
    }
    // A poll does not count as following, and the administrator has a limit of its own.
    ALL.poll(&mut one, None);
    ALL.follow(&mut pando.admin(), None);
    let may_follow = |client: &mut kit::Client| {
        let id = ALL.send(client, &control);
        let said = until(client, id, |it| {
            matches!(it, Said::Done(..) | Said::Refreshed(..))
        });
        matches!(said.last(), Some(Said::Refreshed(..))).then_some(())
    };
    two.send(&Request::Abandon(second), &[]);
    wait("the place is free again", || may_follow(&mut one));
    // A closed connection frees its places.
    drop(one);
    wait("two places are free again", || may_follow(&mut two));
    may_follow(&mut two).expect("the second place");
}

#[test]
fn a_client_that_does_not_read_costs_nothing() {
    let mut pando = start();
    let mut admin = pando.admin();
    let name = format!("ou=People,{SUFFIX}");
    let mut client = pando.admin();
    let (id, _) = ALL.follow(&mut client, None);
    let before = pando.process().anonymous_memory_kib();
    let large = "x".repeat(200_000);
    for round in 0..300 {
        let value = format!("{round} {large}");
        let change = Modification::replace("description", &[&value]);
        admin.modify(&name, &[change]).expect_success();
    }
    let after = pando.process().anonymous_memory_kib();
    assert!(
        after < before + 20_000,
        "60 MB of changes: {before} to {after} KiB"
    );
    // The follower gets the last state, in fewer messages than there were changes or in as many.
    let last = |it: &Said| match it {
        Said::Entry(SyncState::Modify, _, entry, Some(_)) => {
            entry.text("description").starts_with("299 ")
        }
        other => panic!("{other:?}"),
    };
    until(&mut client, id, last);
}

#[test]
fn what_cannot_be_followed_is_refused() {
    let pando = start();
    let mut client = pando.client();
    let control = sync(SyncMode::RefreshAndPersist, None, false);
    let mut check = |asked: Asked<'_>, controls: &[OwnedControl], deref, code: ResultCode| {
        let found = client.search_with(
            asked.base,
            asked.scope,
            asked.filter,
            asked.select,
            controls,
            |it| it.deref_aliases = deref,
        );
        assert_eq!(found.outcome.code, code, "{:?}", found.outcome);
        assert!(found.entries.is_empty());
    };
    let one = std::slice::from_ref(&control);
    let root = Asked {
        base: "",
        scope: Scope::BaseObject,
        ..ALL
    };
    let never = DerefAliases::Never;
    check(root, one, never, ResultCode::UNWILLING_TO_PERFORM);
    let nowhere = Asked {
        base: "ou=nowhere,dc=example,dc=com",
        ..ALL
    };
    check(nowhere, one, never, ResultCode::NO_SUCH_OBJECT);
    check(ALL, one, DerefAliases::Always, ResultCode::PROTOCOL_ERROR);
    let mut value = Vec::new();
    PagedResults {
        size: 5,
        cookie: &[],
    }
    .encode(&mut value);
    let pages = OwnedControl {
        oid: Cow::Borrowed(oid::PAGED_RESULTS),
        critical: true,
        value: Some(value),
    };
    let both = [control.clone(), pages];
    check(ALL, &both, never, ResultCode::UNWILLING_TO_PERFORM);
    let twice = [control.clone(), control.clone()];
    check(ALL, &twice, never, ResultCode::PROTOCOL_ERROR);
    for junk in [None, Some(vec![]), Some(vec![0x30, 0x03, 0x0A, 0x01, 0x02])] {
        for oid in [oid::SYNC_REQUEST, oid::PERSISTENT_SEARCH] {
            let junk = OwnedControl {
                oid: Cow::Borrowed(oid),
                critical: false,
                value: junk.clone(),
            };
            check(ALL, &[junk], never, ResultCode::PROTOCOL_ERROR);
        }
    }
    // On other operations the control is unknown.
    let mut admin = pando.admin();
    let refused = admin.add_with(&people::person("ada"), &[control]);
    refused.expect(ResultCode::UNAVAILABLE_CRITICAL_EXTENSION);
}

/// The database is replaced during the search, which reports later changes like earlier ones.
#[test]
fn it_goes_on_through_a_compaction() {
    let pando = start();
    let (mut admin, mut client) = (pando.admin(), pando.admin());
    let (id, said) = ALL.follow(&mut client, None);
    let Some(Said::Refreshed(_, cookie)) = said.last() else {
        panic!("{said:?}");
    };
    for uid in ["ada", "grace"] {
        pando.run_on_node(&["compact"], &[]).expect(0);
        admin.add(&people::person(uid)).expect_success();
        let said = until(&mut client, id, |it| matches!(it, Said::Entry(..)));
        let Some(Said::Entry(SyncState::Add, _, entry, _)) = said.last() else {
            panic!("{said:?}");
        };
        assert!(entry.name.starts_with(&format!("uid={uid},")), "{entry:?}");
    }
    // A client that returns with an earlier cookie continues from there.
    let said = ALL.poll(&mut pando.admin(), Some(cookie));
    let told = said.iter().filter(|it| matches!(it, Said::Entry(..)));
    assert_eq!(told.count(), 2, "{said:?}");
}
