//! A joiner's copy of a real database.

use crate::node::{Donor, Joiner};
use cluster::identity::Member;
use cluster::peer::{
    LeaveAnswer, LeaveRequest, NodeStatus, PeerNode, Reached, RemoveRequest, Service,
    UpgradeAnswer, UpgradeRequest,
};
use cluster::snapshot::Watch;
use replica::commit_log::NodeId;
use replica::membership::{self, ClusterMark};
use std::io::PipeWriter;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use store::Store;

/// A node that copies its database, and is otherwise like another.
struct StoreNode {
    like: Arc<dyn PeerNode>,
    store: Store,
}

impl PeerNode for StoreNode {
    fn status(&self) -> NodeStatus {
        self.like.status()
    }

    fn when_reached(&self, _: u64, _: Instant, then: Reached) {
        then(0);
    }

    fn members(&self) -> Vec<Member> {
        self.like.members()
    }

    fn removed(&self) -> Vec<NodeId> {
        self.like.removed()
    }

    fn etcd_urls(&self) -> Vec<String> {
        self.like.etcd_urls()
    }

    fn remove(&self, request: &RemoveRequest) -> Result<(), String> {
        self.like.remove(request)
    }

    fn leave(&self, request: &LeaveRequest) -> Result<LeaveAnswer, String> {
        self.like.leave(request)
    }

    fn upgrade(&self, _: &UpgradeRequest) -> Result<UpgradeAnswer, String> {
        Err("a test raises nothing".to_owned())
    }

    fn copy_bytes_max(&self) -> Result<u64, String> {
        let sizes = self.store.sizes().map_err(|error| error.to_string())?;
        Ok(sizes.0)
    }

    fn write_copy(&self, output: PipeWriter) -> Result<(), String> {
        let copied = self.store.copy_to(output.as_fd());
        copied.map_err(|error| error.to_string())
    }
}

/// The stopped first node of a cluster, with a database of a generation, which the service offers.
fn donor_of(generation: u64) -> (Donor, Arc<StoreNode>) {
    let donor = Donor::stopped(1);
    let data = donor.dir.path().join("data");
    let options = replica::InitOptions::new("dc=example,dc=com", "{PLAIN}secret".to_owned());
    replica::create(&data, &options).unwrap();
    let mark = ClusterMark {
        cluster: donor.identity.membership.cluster.0,
        generation,
    };
    membership::mark(&data, &mark).unwrap();
    let node = Arc::new(StoreNode {
        like: Arc::clone(&donor.node) as Arc<dyn PeerNode>,
        store: Store::open(&data).unwrap(),
    });
    (donor, node)
}

#[test]
fn the_copy_of_a_database_is_a_database() {
    let (donor, node) = donor_of(1);
    let data = donor.dir.path().join("data");
    let other = Arc::clone(&node) as Arc<dyn PeerNode>;
    let service = Service::start(&donor.identity, other).unwrap();
    let joiner = Joiner::new(&donor, donor.token());
    joiner.enter().unwrap();
    joiner.fill(&Watch::default()).unwrap();
    drop(service);
    drop(node);
    let copied = joiner.options.dir.join("data");
    assert_eq!(standing(&copied), standing(&data));
    let length = |data: &Path| data.join("pando.mdb").metadata().unwrap().len();
    assert!(length(&copied) <= length(&data));
}

#[test]
fn a_copy_of_another_generation_is_not_taken() {
    let (donor, node) = donor_of(2);
    let service = Service::start(&donor.identity, node).unwrap();
    let joiner = Joiner::new(&donor, donor.token());
    joiner.enter().unwrap();
    let said = joiner.fill(&Watch::default()).unwrap_err().to_string();
    assert!(
        said.contains("generation 1 of the cluster, got one of generation 2"),
        "{said}"
    );
    assert!(!joiner.options.dir.join("data").exists());
    drop(service);
}

/// Position and digest of the newest state of a database that nothing has open.
fn standing(data: &Path) -> (u64, u128) {
    let (store, _) = replica::recover::open_store(data).unwrap();
    let mut reader = store.reader().unwrap();
    let snapshot = reader.snapshot().unwrap();
    (snapshot.position().unwrap(), snapshot.digest().unwrap())
}
