//! Whoever reads the memory of the server finds no password of a client.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;

use kit::client::Modification;
use kit::{Pando, SUFFIX, people};
use protocol::ResultCode;

/// Length of a page of memory in bytes, as on all machines that the tests run on.
const PAGE: u64 = 4_096;
/// Bits of a page in `/proc/PID/pagemap` that say that it is in memory, or in swap space.
const PRESENT: u64 = 0b11 << 62;

/// The texts of `wanted` that the writable memory of a process contains, with how often.
fn found(pid: u32, wanted: &[String]) -> Vec<(String, usize)> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).expect("the maps of our own child");
    let open = |name: &str| File::open(format!("/proc/{pid}/{name}")).expect("of our own child");
    let (memory, pages) = (open("mem"), open("pagemap"));
    let mut counts = vec![0; wanted.len()];
    for line in maps.lines() {
        let mut words = line.split_whitespace();
        let (range, rights) = (
            words.next().expect("a range"),
            words.next().expect("rights"),
        );
        if !rights.starts_with("rw") {
            continue;
        }
        let (start, end) = range.split_once('-').expect("two addresses");
        let page = |it: &str| u64::from_str_radix(it, 16).expect("an address") / PAGE;
        let mut run = Vec::new();
        for at in page(start)..=page(end) {
            if at < page(end) && is_present(&pages, at) {
                let length = run.len();
                run.resize(length + PAGE as usize, 0);
                // Pages that were given back to the system meanwhile stay zeros.
                memory.read_exact_at(&mut run[length..], at * PAGE).ok();
                continue;
            }
            for (count, text) in counts.iter_mut().zip(wanted) {
                *count += occurrences(&run, text.as_bytes());
            }
            run.clear();
        }
    }
    let all = wanted.iter().cloned().zip(counts);
    all.filter(|(_, count)| *count > 0).collect()
}

fn is_present(pages: &File, page: u64) -> bool {
    let mut entry = [0; 8];
    let read = pages.read_exact_at(&mut entry, page * 8);
    read.is_ok() && u64::from_ne_bytes(entry) & PRESENT != 0
}

fn occurrences(bytes: &[u8], text: &[u8]) -> usize {
    bytes.windows(text.len()).filter(|it| *it == text).count()
}

#[test]
fn passwords_of_clients_do_not_stay_in_memory() {
    let mut pando = Pando::init();
    // Without core dumps, no process of the same user may read the memory.
    let settings = "listen = [\"ldap://127.0.0.1:0\"]\ncore_dumps = true\n";
    fs::write(pando.node().join("pando.toml"), settings).expect("our own folder");
    pando.serve_as_configured();
    let mut admin = pando.admin();
    admin.add(&people::unit("People")).expect_success();
    let secret = |use_of: &str| format!("{use_of}-is-not-for-the-dump-of-{}", std::process::id());
    let [first, second, wrong, nobody] = ["first", "second", "wrong", "nobody"].map(secret);
    let mut ada = people::person("ada");
    ada.push("userPassword", first.clone().into_bytes());
    admin.add(&ada).expect_success();
    for _ in 0..3 {
        let mut client = pando.client();
        client.bind(&ada.name, &first).expect_success();
        client
            .bind(&ada.name, &wrong)
            .expect(ResultCode::INVALID_CREDENTIALS);
        let unknown = client.bind(&format!("uid=nobody,{SUFFIX}"), &nobody);
        unknown.expect(ResultCode::INVALID_CREDENTIALS);
    }
    let mut client = pando.client();
    client.bind(&ada.name, &first).expect_success();
    let changed = [
        Modification::delete("userPassword", &[&first]),
        Modification::replace("userPassword", &[&second]),
    ];
    client.modify(&ada.name, &changed[1..]).expect_success();
    client.bind(&ada.name, &second).expect_success();
    // A hint that the search finds what is there: the entry itself.
    let mark = format!("a-mark-of-{}", std::process::id());
    admin
        .modify(&ada.name, &[Modification::replace("title", &[&mark])])
        .expect_success();
    // The stacks of the threads that serve are used again, as they are all the time: this
    // connection's thread by itself, the others by new connections.
    let another = secret("another");
    for _ in 0..8 {
        client.bind(&ada.name, &another);
        pando.client().bind(&ada.name, &another);
    }
    let pid = pando.process().pid();
    let left = found(pid, &[first, second, wrong, nobody]);
    assert_eq!(left, [], "passwords in the memory of the server");
    assert!(!found(pid, &[mark]).is_empty(), "memory was read");
}
