//! Index builds that are killed.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use kit::client::{Client, Modification};
use kit::process::until;
use kit::{ADMIN, EnoughAtEnd, Entry, PASSWORD, Pando, Random, SUFFIX};
use protocol::{ResultCode, Scope};

/// Writes without a pause until the server or the test ends; counts successful writes.
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

const ROUNDS: u64 = 6;
const INDEX: &str = "cn=sn,cn=indexes,cn=config";

/// Returns the progress of the index; `None` when there is no index.
fn state(client: &mut Client) -> String {
    let index = client.read(INDEX);
    let values = index.map_or_else(Vec::new, |it| it.texts("pandoIndexState"));
    values.into_iter().next().unwrap_or_default()
}

fn add(pando: &Pando) {
    let kinds = "equality,substring,ordering";
    pando
        .run_on_node(&["index", "add"], &["sn", kinds])
        .expect(0);
}

/// An index is built while writes never stop, continues after crashes at any moment, and is
/// complete in the end. Searches find the same entries all the time.
#[test]
fn an_index_build_survives_crashes_and_writes() {
    let mut random = Random::announced("an_index_build_survives_crashes_and_writes");
    let mut pando = Pando::init();
    let person = |n: u32| {
        format!("dn: uid=p{n},{SUFFIX}\nobjectClass: inetOrgPerson\ncn: p{n}\nsn: Family {n}\n\n")
    };
    let people: String = (0..12_000).map(person).collect();
    let file = pando.folder.write("people.ldif", people);
    let file = file.to_string_lossy().into_owned();
    pando.run_on_node(&["import"], &[&file]).expect(0);
    let (mut unfinished, mut ready) = (0, 0);
    for _ in 0..ROUNDS {
        pando.serve();
        let (enough, written) = (AtomicBool::new(false), AtomicU64::new(0));
        let address = pando.address();
        thread::scope(|scope| {
            let _ends = EnoughAtEnd(&enough);
            scope.spawn(|| write_on(address, &enough, &written));
            until("writes succeed", || {
                (written.load(Ordering::Relaxed) > 5).then_some(())
            });
            let mut admin = pando.admin();
            if state(&mut admin) == "ready" {
                pando.run_on_node(&["index", "drop"], &["sn"]).expect(0);
            }
            if state(&mut admin).is_empty() {
                add(&pando);
            }
            // The clock is the server's processor time; early moments are more likely.
            let before = pando.process().processor_ticks();
            let ticks = random.below(9) * random.below(9);
            until("the build is somewhere, or has ended", || {
                let used = pando.process().processor_ticks() - before;
                let enough = used >= ticks || state(&mut admin) == "ready";
                enough.then_some(())
            });
            match state(&mut admin).as_str() {
                "ready" => ready += 1,
                _ => unfinished += 1,
            }
            pando.kill();
        });
        pando.assert_clean();
        pando.serve();
        let mut client = pando.client();
        for filter in ["(sn=Family 11000)", "(sn=*mily 11000)", "(cn=p11000)"] {
            let found = client.search(SUFFIX, Scope::WholeSubtree, filter, &["1.1"]);
            assert_eq!(found.names(), [format!("uid=p11000,{SUFFIX}")], "{filter}");
        }
        pando.kill();
    }
    eprintln!("{ROUNDS} crashes, {unfinished} while it was built, {ready} afterwards");
    pando.serve();
    let mut admin = pando.admin();
    until("the index is ready", || {
        (state(&mut admin) == "ready").then_some(())
    });
    pando.stop();
    pando.assert_clean();
}

/// A rule waits for its index, however often the build is killed; values written under the rule are
/// there after a crash, and stay unique.
#[test]
fn a_rule_waits_for_an_index_that_is_killed() {
    let mut pando = Pando::init();
    let person = |n: u32| {
        format!(
            "dn: uid=p{n},{SUFFIX}\nobjectClass: inetOrgPerson\ncn: p{n}\nsn: x\n\
             employeeNumber: {n}\n\n"
        )
    };
    let people: String = (0..12_000).map(person).collect();
    let file = pando.folder.write("people.ldif", people);
    let file = file.to_string_lossy().into_owned();
    pando.run_on_node(&["import"], &[&file]).expect(0);
    pando.serve();
    pando
        .run_on_node(&["index", "add"], &["employeeNumber", "equality"])
        .expect(0);
    pando.kill();
    pando.serve();
    let rule = Entry::of(
        "cn=number,cn=rules,cn=config",
        &[
            ("objectClass", &["pandoUnique"]),
            ("pandoUniqueAttribute", &["employeeNumber"]),
        ],
    );
    let mut admin = pando.admin();
    until("the rule is taken", || {
        let added = admin.add(&rule);
        if added.code == ResultCode::SUCCESS {
            return Some(());
        }
        let added = added.expect(ResultCode::BUSY);
        assert!(added.diagnostic.contains("is being built"), "{added:?}");
        None
    });
    let number = |of: u32, is: &str| {
        let change = [Modification::replace("employeeNumber", &[is])];
        (format!("uid=p{of},{SUFFIX}"), change)
    };
    let (name, change) = number(1, "new");
    admin.modify(&name, &change).expect_success();
    pando.kill();

    pando.serve();
    let mut admin = pando.admin();
    let found = admin.read(&name).expect("it was imported");
    assert_eq!(found.texts("employeeNumber"), ["new"]);
    for held in ["new", "11999"] {
        let (name, change) = number(2, held);
        let refused = admin.modify(&name, &change);
        let refused = refused.expect(ResultCode::CONSTRAINT_VIOLATION);
        assert!(refused.diagnostic.contains("is held by"), "{refused:?}");
    }
    let (name, change) = number(2, "1");
    admin.modify(&name, &change).expect_success();
    pando.stop();
    pando.assert_clean();
}
