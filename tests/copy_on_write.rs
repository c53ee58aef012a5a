//! File systems on which overwriting a block needs room: btrfs, and xfs after a copy by reflinks.

use kit::disk::CopyOnWrite;
use kit::process::until;
use kit::{Client, Disk, Entry, Pando, SUFFIX, people, tools};
use protocol::{ResultCode, Scope};

/// Returns a person with 8 KB of text.
fn large(number: usize) -> Entry {
    let mut person = people::person(&format!("large{number}"));
    person.name = format!("uid=large{number},{SUFFIX}");
    person.push("description", vec![b'x'; 8000]);
    person
}

fn count(client: &mut Client) -> usize {
    let found = client.search(SUFFIX, Scope::SingleLevel, "(objectClass=person)", &["1.1"]);
    found.outcome.clone().expect_success();
    found.names().len()
}

/// A served node on a file system that is filled in several ways.
struct Node {
    pando: Pando,
    disk: Disk,
    /// Number of acknowledged people: all smaller numbers exist.
    people: usize,
}

impl Node {
    fn on(kind: CopyOnWrite) -> Option<Node> {
        let disk = Disk::copy_on_write(kind)?;
        let mut pando = Pando::init_on(&disk);
        pando.serve();
        let mut node = Node {
            pando,
            disk,
            people: 0,
        };
        for _ in 0..200 {
            assert!(node.add());
        }
        Some(node)
    }

    fn add(&mut self) -> bool {
        self.add_by(&mut self.pando.admin())
    }

    fn add_by(&mut self, client: &mut Client) -> bool {
        let outcome = client.add(&large(self.people));
        match outcome.code {
            ResultCode::SUCCESS => self.people += 1,
            ResultCode::UNAVAILABLE => {
                assert!(outcome.diagnostic.contains("no space"), "{outcome:?}");
            }
            _ => panic!("{outcome:?}"),
        }
        outcome.code == ResultCode::SUCCESS
    }

    /// Writes until there is no room: the server lives, new connections read everything, and writes
    /// work again when the disk has room.
    fn live_through(&mut self, filler: &str) {
        let mut client = self.pando.admin();
        let mut attempts = 0;
        while self.add_by(&mut client) {
            attempts += 1;
            assert!(attempts < 20_000, "the disk never fills");
        }
        for _ in 0..5 {
            self.read();
            self.add();
        }
        self.disk.remove(filler);
        let mut client = self.pando.admin();
        until("writes come back", || {
            self.add_by(&mut client).then_some(())
        });
        self.read();
    }

    /// Writes on several connections at a time: each takes a slot in the table of readers.
    fn read(&mut self) {
        let mut clients: Vec<Client> = (0..4).map(|_| self.pando.client()).collect();
        for client in &mut clients {
            assert_eq!(count(client), self.people);
        }
        assert!(self.pando.process().is_alive());
    }

    /// Makes a copy beside the node that shares all blocks of its files, so that overwriting any of
    /// them takes room.
    fn share_all_blocks(&self, kind: CopyOnWrite) {
        let (disk, copy) = (self.disk.path(), self.disk.path().join("copy"));
        let (node, disk) = (
            self.pando.node().display().to_string(),
            disk.display().to_string(),
        );
        let copy = copy.to_string_lossy();
        let share: &[&str] = match kind {
            CopyOnWrite::Btrfs => &["btrfs", "subvolume", "snapshot", &disk, &copy],
            CopyOnWrite::Xfs => &["cp", "--archive", "--reflink=always", &node, &copy],
        };
        let prefix = self.disk.prefix();
        let words: Vec<&str> = prefix.iter().map(String::as_str).collect();
        let words = [&words, share].concat();
        // btrfs frees removed blocks with a delay.
        until("the copy is made", || {
            let made = tools::run(words[0], &words[1..], "");
            (made.status == 0).then_some(())
        });
    }

    fn restart(&mut self, crashed: bool) {
        match crashed {
            true => self.pando.kill(),
            false => assert!(self.pando.stop().success()),
        }
        self.pando.serve();
    }
}

fn a_node_lives_through_a_full_disk(kind: CopyOnWrite) {
    let Some(mut node) = Node::on(kind) else {
        return;
    };
    // Another program takes the room, at once and to the last byte.
    node.disk.fill("others");
    node.read();
    node.live_through("others");
    // The server restarts, in an orderly way or not, on a disk that is full already.
    for crashed in [false, true] {
        node.disk.fill("others");
        node.restart(crashed);
        node.live_through("others");
    }
    node.share_all_blocks(kind);
    node.disk.fill("others");
    node.read();
    node.live_through("others");
    node.restart(true);
    node.read();
    let mut client = node.pando.admin();
    until("writes are taken", || {
        node.add_by(&mut client).then_some(())
    });
    node.pando.stop();
    node.pando.assert_clean();
}

#[test]
fn a_node_lives_through_a_full_btrfs() {
    a_node_lives_through_a_full_disk(CopyOnWrite::Btrfs);
}

#[test]
fn a_node_lives_through_a_full_xfs() {
    a_node_lives_through_a_full_disk(CopyOnWrite::Xfs);
}
