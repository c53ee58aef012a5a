//! Index builds that are killed.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use kit::client::{Client, Modification};
use kit::{ADMIN, PASSWORD, Pando, SUFFIX};
use protocol::ResultCode;

/// Writes without a pause until the server is gone or it is enough; counts what succeeded.
pub fn write_on(address: SocketAddr, enough: &AtomicBool, written: &AtomicU64) {
    let mut client = Client::connect(address);
    client.bind(ADMIN, PASSWORD);
    while !enough.load(Ordering::Relaxed) {
        let done = written.load(Ordering::Relaxed);
        let name = format!("uid=p{},{SUFFIX}", done % 1_000);
        let change = Modification::replace("sn", &[&format!("Other {done}")]);
        let Ok(id) = client.try_send_modify(&name, &[change], &[]) else {
            return;
        };
        match client.try_finish(id) {
            Ok(found) => assert_eq!(found.outcome.code, ResultCode::SUCCESS),
            Err(_) => return,
        }
        written.store(done + 1, Ordering::Relaxed);
    }
}

/// An index is built while writes never stop, goes on after a crash, and is right in the end.
#[test]
fn an_index_build_survives_crashes_and_writes() {
    let mut pando = Pando::init();
    let person = |n: u32| {
        format!("dn: uid=p{n},{SUFFIX}\nobjectClass: inetOrgPerson\ncn: p{n}\nsn: Family {n}\n\n")
    };
    let people: String = (0..12_000).map(person).collect();
    let file = pando.folder.write("people.ldif", people);
    let file = file.to_string_lossy().into_owned();
    pando.run_on_node(&["import"], &[&file]).expect(0);
    let state = |client: &mut Client| {
        let index = client.read("cn=sn,cn=indexes,cn=config").expect("defined");
        let values = index.texts("pandoIndexState");
        values
            .first()
            .map_or_else(String::new, |it| (*it).to_owned())
    };
    pando.serve();
    for round in 0..3 {
        let (enough, written) = (AtomicBool::new(false), AtomicU64::new(0));
        let address = pando.address();
        thread::scope(|scope| {
            scope.spawn(|| write_on(address, &enough, &written));
            kit::process::until("writes succeed", || {
                (written.load(Ordering::Relaxed) > 5).then_some(())
            });
            if round == 0 {
                let kinds = "equality,substring,ordering";
                pando
                    .run_on_node(&["index", "add"], &["sn", kinds])
                    .expect(0);
            }
            let mut admin = pando.admin();
            let begun = state(&mut admin);
            let moved = kit::process::until("the build goes on", || {
                let now = state(&mut admin);
                (now != begun || now == "ready").then_some(now)
            });
            if round < 2 {
                pando.kill();
            } else if moved != "ready" {
                kit::process::until("the index is ready", || {
                    (state(&mut admin) == "ready").then_some(())
                });
            }
            enough.store(true, Ordering::Relaxed);
        });
        if round < 2 {
            pando.serve();
        }
    }
    pando.stop();
    pando.assert_clean();
}
