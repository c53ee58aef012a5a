//! Clients that write to every node of a cluster while a test does something else.

use kit::client::Modification;
use kit::process::until;
use kit::{ADMIN, Client, PASSWORD, Pando, SUFFIX, people};
use protocol::ResultCode;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// Writes at each node before the work, and after it.
const WRITES: usize = 50;

/// Does some work while a client at each node adds people and changes the suffix. All of that is
/// done at least so many times before the work and after it; a node may say that it is busy.
pub fn while_written<T>(nodes: &[Pando], work: impl FnOnce() -> T) -> T {
    static SERIAL: AtomicUsize = AtomicUsize::new(0);
    let ends = AtomicBool::new(false);
    let warm = AtomicUsize::new(0);
    thread::scope(|scope| {
        let writers: Vec<_> = nodes
            .iter()
            .map(Pando::address)
            .map(|address| {
                let (ends, warm) = (&ends, &warm);
                scope.spawn(move || {
                    let mut left = WRITES;
                    let mut written = 0;
                    while left > 0 {
                        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
                        write(address, serial);
                        written += 1;
                        if written == WRITES {
                            warm.fetch_add(1, Ordering::Release);
                        }
                        left -= usize::from(ends.load(Ordering::Acquire));
                    }
                })
            })
            .collect();
        until("the first writes", || {
            let all = warm.load(Ordering::Acquire) == nodes.len();
            (all || writers.iter().any(|it| it.is_finished())).then_some(())
        });
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        ends.store(true, Ordering::Release);
        for writer in writers {
            writer.join().expect("writes are taken");
        }
        done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// A write that is tried until it is done.
fn write(address: SocketAddr, serial: usize) {
    let name = format!("uid=w{serial},{SUFFIX}");
    let mut person = people::person(&format!("w{serial}"));
    person.name.clone_from(&name);
    let change = Modification::replace("description", &[&name]);
    until("a write", || {
        let mut client = Client::connect(address);
        client.bind(ADMIN, PASSWORD).expect_success();
        let done = match serial.is_multiple_of(2) {
            true => client.add(&person),
            false => client.modify(SUFFIX, std::slice::from_ref(&change)),
        };
        let expected = [
            ResultCode::SUCCESS,
            // An attempt before it may have been executed.
            ResultCode::ENTRY_ALREADY_EXISTS,
            ResultCode::BUSY,
            ResultCode::UNAVAILABLE,
        ];
        assert!(expected.contains(&done.code), "{done}");
        expected[..2].contains(&done.code).then_some(())
    });
}
