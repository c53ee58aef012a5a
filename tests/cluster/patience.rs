//! Writes without a quorum: those that were not handed over are refused in time; the fate of the
//! others is told by nobody who does not know it.

use crate::nodes::{founder, joined, require_equal};
use kit::client::{Event, Modification};
use kit::process::until;
use kit::{Pando, SUFFIX, etcd};
use protocol::{OwnedControl, ResultCode, Scope, oid};
use rustix::process::Signal;
use std::fs;
use std::io::ErrorKind;
use std::time::{Duration, Instant};

/// Times of the nodes, in seconds.
const WRITE_S: u64 = 2;
const UNDECIDED_S: u64 = 4;
/// Time that a loaded machine adds.
const SLACK: Duration = Duration::from_secs(8);

/// Two nodes, of which the first runs the only voter; the second has short times.
fn nodes() -> (Pando, Pando) {
    let first = founder();
    let mut second = joined(&first);
    second.stop();
    let settings =
        format!("[cluster]\nwrite_timeout_s = {WRITE_S}\nundecided_timeout_s = {UNDECIDED_S}\n");
    fs::write(second.node().join("pando.toml"), settings).expect("our own folder");
    second.serve();
    (first, second)
}

fn change(text: &str) -> [Modification; 1] {
    [Modification::replace("description", &[text])]
}

#[test]
fn a_write_of_unknown_fate_is_held_and_ends_with_a_notice() {
    let (first, second) = nodes();
    let mut client = second.admin();
    client.modify(SUFFIX, &change("before")).expect_success();
    // The only voter stands still with a write in its hands.
    etcd::signal(&first.seen(), Signal::STOP);
    let begun = Instant::now();
    let id = client.try_send_modify(SUFFIX, &change("unknown"), &[]);
    let id = id.expect("sent");
    // No result of any kind: a notice of disconnection, with message id 0, and the end.
    let (of, event) = client.try_receive().expect("a notice");
    let held = begun.elapsed();
    let Event::Done(notice) = event else {
        panic!("{event:?}");
    };
    assert_eq!(
        (of, notice.code),
        (0, ResultCode::UNAVAILABLE),
        "{notice:?}"
    );
    assert_eq!(notice.name.as_deref(), Some(oid::NOTICE_OF_DISCONNECTION));
    let text =
        format!("it is unknown whether the write with message id {id} was or will be executed: ");
    assert!(notice.diagnostic.starts_with(&text), "{notice:?}");
    let end = client.try_receive().expect_err("the connection has ended");
    assert_eq!(end.kind(), ErrorKind::UnexpectedEof);
    assert!(
        held >= Duration::from_secs(UNDECIDED_S),
        "held for {held:?}"
    );
    assert!(
        held < Duration::from_secs(UNDECIDED_S) + SLACK,
        "held for {held:?}"
    );

    // It was told neither success nor failure, and comes to be done or not, on all nodes alike.
    etcd::signal(&first.seen(), Signal::CONT);
    until("a later write", || {
        let later = second
            .admin()
            .modify(SUFFIX, &[Modification::add("l", &["later"])]);
        let is_there = [ResultCode::SUCCESS, ResultCode::ATTRIBUTE_OR_VALUE_EXISTS];
        is_there.contains(&later.code).then_some(())
    });
    let text = second.admin().read(SUFFIX).expect("it").text("description");
    assert!(["before", "unknown"].contains(&text.as_str()), "{text}");
    require_equal(&[first, second]);
}

#[test]
fn a_write_that_was_not_handed_over_is_refused_in_time() {
    let (mut first, second) = nodes();
    let mut client = second.admin();
    client.modify(SUFFIX, &change("before")).expect_success();
    first.stop();
    // The first of them finds that etcd is gone, and may have been sent to it.
    let _ = second
        .admin()
        .try_send_modify(SUFFIX, &change("unknown"), &[]);
    for round in 0..3 {
        let begun = Instant::now();
        let mut client = second.admin();
        let id = client.try_send_modify(SUFFIX, &change(&format!("round {round}")), &[]);
        let answer = client.try_finish(id.expect("sent"));
        let took = begun.elapsed();
        if round == 0 && answer.is_err() {
            // It was sent as well.
            continue;
        }
        let outcome = answer.expect("an answer").outcome;
        assert_eq!(outcome.code, ResultCode::UNAVAILABLE, "{outcome:?}");
        assert!(outcome.diagnostic.starts_with("nothing was changed: "));
        let longest = Duration::from_secs(WRITE_S) + SLACK;
        assert!(took < longest, "round {round}: {took:?}");
    }
    // Reads go on, and a wish for fresh ones does not delay them.
    let wish = [OwnedControl::new(oid::DONT_USE_COPY, false)];
    for _ in 0..20 {
        let found = client.search_with(
            SUFFIX,
            Scope::BaseObject,
            "(objectClass=*)",
            &["1.1"],
            &wish,
            |_| {},
        );
        found.outcome.expect_success();
    }
    first.serve();
    require_equal(&[first, second]);
}
