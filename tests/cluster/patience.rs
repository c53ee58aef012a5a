//! Writes without a quorum: those that were not handed over are refused in time.

use crate::nodes::{founder, joined, require_equal};
use kit::client::Modification;
use kit::{Pando, SUFFIX};
use protocol::{OwnedControl, ResultCode, Scope, oid};
use std::fs;
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
