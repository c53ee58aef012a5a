//! Writes that wait to be executed take no more memory than they may: the server reads no more of
//! them before others are done, and none is lost.

use kit::client::Event;
use kit::process::until;
use kit::{Entry, Pando, SUFFIX};

use crate::requests::kept;

const MIB: u64 = 1 << 20;
/// Writes, and bytes of each: more than there is memory for.
const WRITES: (usize, usize) = (14, 900_000);
/// Writes before these, and passwords of each, which are hashed while the others wait.
const SLOW: (usize, usize) = (3, 8);

#[test]
fn writes_that_wait_take_no_more_memory_than_they_may() {
    let mut pando = Pando::init();
    let settings = "listen = [\"ldap://127.0.0.1:0\"]\n[connections]\nmemory_mib_max = 4\n";
    std::fs::write(pando.node().join("pando.toml"), settings).expect("our own folder");
    pando.serve_as_configured();
    let mut admin = pando.admin();
    let passwords: Vec<String> = (0..SLOW.1).map(|it| format!("secret {it}")).collect();
    let passwords: Vec<&str> = passwords.iter().map(String::as_str).collect();
    let person = |name: &str, attribute: &str, values: &[&str]| {
        let attributes: &[(&str, &[&str])] = &[
            ("objectClass", &["person"]),
            ("sn", &["p"]),
            (attribute, values),
        ];
        Entry::of(&format!("cn={name},{SUFFIX}"), attributes)
    };
    let slow: Vec<_> = (0..SLOW.0)
        .map(|at| {
            let entry = person(&format!("s{at}"), "userPassword", &passwords);
            admin.try_send_add(&entry, &[]).expect("sent")
        })
        .collect();
    let long = "x".repeat(WRITES.1);
    let sent: Vec<_> = (0..WRITES.0)
        .map(|at| {
            let entry = person(&format!("p{at}"), "description", &[&long]);
            admin.try_send_add(&entry, &[]).expect("sent")
        })
        .collect();
    let kept_most = kept(&pando);
    for _ in 0..WRITES.0 + SLOW.0 {
        match admin.receive() {
            (id, Event::Done(outcome)) => {
                outcome.expect_success();
                assert!(sent.contains(&id) || slow.contains(&id));
            }
            other => panic!("{other:?}"),
        }
    }
    assert!((1..=4 * MIB).contains(&kept_most), "{kept_most}");
    until("all is given back", || (kept(&pando) == 0).then_some(()));
}
