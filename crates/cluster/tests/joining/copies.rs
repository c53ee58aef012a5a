//! Copies of the database on their way to joiners.

use crate::node::{BYTES, Donor, Joiner, wait_until};
use cluster::identity::Identity;
use cluster::peer::PeerClient;
use cluster::snapshot::{Source, Watch, fetch};
use replica::membership::ClusterMark;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

fn names(folder: &std::path::Path) -> Vec<String> {
    let Ok(entries) = folder.read_dir() else {
        return Vec::new();
    };
    let entries = entries.map(|it| it.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = entries.collect();
    names.sort();
    names
}

#[test]
fn joiners_share_one_copy() {
    let donor = Donor::new(3);
    std::thread::scope(|scope| {
        let joiners = (0..3).map(|_| Joiner::new(&donor, donor.token()));
        let threads: Vec<_> = joiners
            .map(|joiner| {
                scope.spawn(move || {
                    joiner.enter().unwrap();
                    let watch = Watch::default();
                    joiner.fill(&watch).unwrap();
                    assert_eq!(watch.done.load(Relaxed), BYTES as u64);
                    assert_eq!(watch.total.load(Relaxed), BYTES as u64);
                    (joiner.database(), joiner.names())
                })
            })
            .collect();
        for thread in threads {
            let (database, names) = thread.join().unwrap();
            assert!(database == *donor.node.content);
            assert_eq!(names, ["/cluster", "/data", "node"]);
        }
    });
    assert_eq!(donor.node.copies.load(Relaxed), 1);
}

#[test]
fn an_interrupted_joiner_goes_on_where_it_was() {
    let donor = Donor::new(4);
    let joiner = Joiner::new(&donor, donor.token());
    let entered = joiner.enter().unwrap();
    donor.node.open_gate(40 << 20);
    let data = joiner.options.dir.join("data");
    let watch = Watch::default();
    {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let peers = [PeerClient::new(&entered, donor.address()).unwrap()];
        runtime.block_on(async {
            let enough = async {
                while watch.done.load(Relaxed) < 32 << 20 {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            };
            let source = Source {
                peers: &peers,
                place: 0,
                mark: ClusterMark {
                    cluster: entered.membership.cluster.0,
                    generation: 1,
                },
            };
            tokio::select! {
                _ = fetch(source, &data, &watch) => panic!("the copy has no end yet"),
                () = enough => {}
            }
        });
    }
    assert!(!data.exists());
    assert_eq!(joiner.names(), ["/cluster", "/data.partial", "node"]);
    donor.node.open_gate(u64::MAX);
    // The same command again: the token is not asked for again, the identity stays.
    let again = joiner.enter().unwrap();
    assert_eq!(again.membership, entered.membership);
    let watch = Watch::default();
    joiner.fill(&watch).unwrap();
    assert!(watch.found.load(Relaxed) >= 32 << 20, "{watch:?}");
    assert!(joiner.database() == *donor.node.content);
    assert_eq!(joiner.names(), ["/cluster", "/data", "node"]);
    let said = joiner.enter().unwrap_err().to_string();
    assert!(said.contains("exists and is not empty"), "{said}");
}

#[test]
fn a_donor_that_dies_is_waited_for() {
    let mut donor = Donor::new(5);
    let joiner = Joiner::new(&donor, donor.token());
    joiner.enter().unwrap();
    donor.node.open_gate(40 << 20);
    let watch = Arc::new(Watch::default());
    let joining = {
        let watch = Arc::clone(&watch);
        std::thread::spawn(move || {
            joiner.fill(&watch).unwrap();
            joiner.database()
        })
    };
    wait_until("a half was fetched", || {
        watch.done.load(Relaxed) >= 32 << 20
    });
    donor.stop();
    assert!(names(&donor.snapshots()).is_empty());
    donor.node.open_gate(u64::MAX);
    donor.start();
    assert!(joining.join().unwrap() == *donor.node.content);
    // The first copy was not complete: the rest comes from another one.
    assert_eq!(donor.node.copies.load(Relaxed), 2);
    assert!(watch.found.load(Relaxed) >= 24 << 20, "{watch:?}");
}

#[test]
fn a_complete_copy_is_served_after_a_restart_and_goes_when_unused() {
    let mut donor = Donor::new(6);
    let joiner = Joiner::new(&donor, donor.token());
    joiner.enter().unwrap();
    joiner.fill(&Watch::default()).unwrap();
    // The end waits until the copy is on the disk.
    donor.stop();
    assert_eq!(names(&donor.snapshots()), ["copy.json", "copy.zst"]);
    std::fs::write(donor.snapshots().join("remains"), "").unwrap();
    donor.start();
    assert_eq!(names(&donor.snapshots()), ["copy.json", "copy.zst"]);
    let second = Joiner::new(&donor, donor.token());
    second.enter().unwrap();
    second.fill(&Watch::default()).unwrap();
    assert!(second.database() == *donor.node.content);
    assert_eq!(donor.node.copies.load(Relaxed), 1);
    donor.stop();
    donor.kept = Duration::from_millis(50);
    donor.start();
    wait_until("the copy is gone", || names(&donor.snapshots()).is_empty());
}

#[test]
fn a_copy_of_another_generation_is_refused_before_it_is_fetched() {
    let mut donor = Donor::new(9);
    let joiner = Joiner::new(&donor, donor.token());
    joiner.enter().unwrap();
    donor.node.generation.store(2, Relaxed);
    let watch = Watch::default();
    let said = joiner.fill(&watch).unwrap_err().to_string();
    assert!(
        said.contains("expected a copy of generation 1 of the cluster, got one of generation 2"),
        "{said}"
    );
    assert_eq!(watch.done.load(Relaxed), 0);
    let partial = joiner.options.dir.join("data.partial/pando.mdb");
    assert_eq!(partial.metadata().unwrap().len(), 0);

    // A donor that went on to another generation makes another copy.
    donor.node.generation.store(1, Relaxed);
    joiner.fill(&Watch::default()).unwrap();
    assert!(joiner.database() == *donor.node.content);
    assert_eq!(donor.node.copies.load(Relaxed), 2);
    donor.stop();
    assert_eq!(names(&donor.snapshots()), ["copy.json", "copy.zst"]);
    donor.start();
    donor.node.generation.store(3, Relaxed);
    let joiner = Joiner::new(&donor, donor.token());
    joiner.enter().unwrap();
    joiner.fill(&Watch::default()).unwrap_err();
    wait_until("another copy is made", || {
        donor.node.copies.load(Relaxed) == 3
    });
}

#[test]
fn another_nodes_copy_replaces_what_differs() {
    let donor = Donor::new(7);
    let joiner = Joiner::new(&donor, donor.token());
    joiner.enter().unwrap();
    // What another node had sent: two pieces are the same, one is not, and it was longer.
    let mut other = (*donor.node.content).clone();
    other[10 << 20] ^= 1;
    other.extend(vec![7; 9 << 20]);
    let partial = joiner.options.dir.join("data.partial");
    std::fs::create_dir(&partial).unwrap();
    std::fs::write(partial.join("pando.mdb"), other).unwrap();
    let watch = Watch::default();
    joiner.fill(&watch).unwrap();
    assert!(joiner.database() == *donor.node.content);
    // The damaged one of 8 MiB was fetched, and possibly the last one, whose end was not known.
    let fetched = BYTES as u64 - watch.found.load(Relaxed);
    assert!((8 << 20..17 << 20).contains(&fetched), "{fetched}");
}

#[test]
fn no_room_is_told_beforehand() {
    let mut donor = Donor::stopped(8);
    Arc::get_mut(&mut donor.node).unwrap().bytes_max = 1 << 60;
    donor.start();
    let joiner = Joiner::new(&donor, donor.token());
    joiner.enter().unwrap();
    let said = joiner.fill(&Watch::default()).unwrap_err().to_string();
    assert!(said.contains("not enough space in"), "{said}");
    assert!(said.contains("or join from another node"), "{said}");
    assert_eq!(donor.node.copies.load(Relaxed), 0);
    assert!(Identity::load(&joiner.options.dir).unwrap().is_some());
}
