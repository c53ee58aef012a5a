//! Callers that are let in, and others.

use crate::node::{Donor, Joiner, free_address};
use cluster::identity::{Etcd, Identity};
use cluster::peer::{NodeStatus, PeerClient};
use cluster::token::{Outstanding, Token};
use replica::clock::{Clock, SystemClock};
use std::time::Duration;

fn refused(joiner: &Joiner) -> String {
    let before = joiner.names();
    let said = joiner.enter().unwrap_err().to_string();
    assert_eq!(joiner.names(), before, "something was touched: {said}");
    assert!(!said.contains('\n'), "{said}");
    said
}

#[test]
fn a_token_lets_one_node_in() {
    let donor = Donor::new(1);
    let token = donor.token();
    let joiner = Joiner::new(&donor, token.clone());
    let entered = joiner.enter().unwrap();
    let (first, second) = (&donor.identity.membership, &entered.membership);
    assert_eq!(second.cluster, first.cluster);
    assert_eq!(second.generation, 1);
    assert_ne!(second.node, first.node);
    assert_eq!(Some(&second.address), joiner.options.address.as_ref());
    assert_eq!(second.peers, [first.own()]);
    match &second.etcd {
        Etcd::Managed(etcd) => {
            assert_eq!(etcd.others, [first.address.etcd_client_url()]);
            assert_eq!(etcd.client_url, second.address.etcd_client_url());
        }
        other => panic!("expected an etcd of the nodes, got {other:?}"),
    }
    let read = Identity::load(&joiner.options.dir).unwrap().unwrap();
    assert_eq!(read.membership, entered.membership);
    // The new node has the authority's key: it can take in others, and renew its certificate.
    let root = entered.authority().unwrap().root().fingerprint();
    assert_eq!(root, donor.identity.root().unwrap().fingerprint());

    let again = Joiner::new(&donor, token);
    assert!(refused(&again).contains("the token was used before; make another"));
}

#[test]
fn wrong_tokens_are_told_apart() {
    let donor = Donor::new(1);
    let unknown = Token::new(
        donor.token().fingerprint,
        Duration::from_secs(u32::MAX.into()),
    );
    let said = refused(&Joiner::new(&donor, unknown));
    assert!(said.contains("has not given out the token"), "{said}");

    let now = Duration::from_micros(SystemClock.now_us());
    let mut late = Token::new(donor.token().fingerprint, now - Duration::from_secs(3_600));
    Outstanding::of(&donor.identity).add(&late, now).unwrap();
    let said = refused(&Joiner::new(&donor, late.clone()));
    assert!(
        said.contains("older than an hour, by the clock of this machine"),
        "{said}"
    );
    // The donor does not rely on what the token says itself.
    late.expires += 7_200;
    let said = refused(&Joiner::new(&donor, late));
    assert!(
        said.contains("the token is older than an hour; make another"),
        "{said}"
    );

    let other = Donor::new(2);
    let said = refused(&Joiner::new(&donor, other.token()));
    assert!(
        said.contains("not of the cluster that the token is for"),
        "{said}"
    );
}

#[test]
fn nobody_there_and_folders_in_use_are_told() {
    let mut donor = Donor::new(1);
    let mut joiner = Joiner::new(&donor, donor.token());
    joiner.options.address = Some(donor.address());
    let said = refused(&joiner);
    assert!(
        said.contains("give the new node another one with --address"),
        "{said}"
    );

    joiner.options.address = Some(free_address());
    std::fs::create_dir(&joiner.options.dir).unwrap();
    std::fs::write(joiner.options.dir.join("letters"), "").unwrap();
    assert!(refused(&joiner).contains("exists and is not empty"));
    std::fs::remove_file(joiner.options.dir.join("letters")).unwrap();

    donor.stop();
    let said = refused(&joiner);
    assert!(
        said.starts_with(&format!("{}: ", donor.address())),
        "{said}"
    );
    assert!(
        said.contains("serve the node there with `pando serve`"),
        "{said}"
    );
    // A token that came to nothing serves later.
    donor.start();
    joiner.enter().unwrap();
}

#[test]
fn strangers_see_nothing() {
    let donor = Donor::new(1);
    let token = donor.token();
    let stranger = PeerClient::pinned(token.fingerprint, donor.address()).unwrap();
    let other = Donor::new(2);
    let foreigner = PeerClient::new(&other.identity, donor.address()).unwrap();
    let own = PeerClient::new(&donor.identity, donor.address()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut link = stranger.connect().await.unwrap();
        for path in [
            "/status",
            "/snapshot/0",
            "/snapshot/1/0",
            "/snapshot/1/sums/0",
        ] {
            let said = link.get::<NodeStatus>(path).await.unwrap_err().to_string();
            assert!(
                said.contains("expected a certificate of a node"),
                "{path}: {said}"
            );
        }
        let long = "x".repeat(20_000);
        let said = link.post::<NodeStatus>("/join", &long).await.unwrap_err();
        assert!(said.to_string().contains("413"), "{said}");
        let said = foreigner
            .connect()
            .await
            .map(|_| ())
            .unwrap_err()
            .to_string();
        assert!(said.contains("not of the cluster"), "{said}");

        let mut link = own.connect().await.unwrap();
        let status: NodeStatus = link.get("/status").await.unwrap();
        assert_eq!((status.node, status.place), (donor.node.own.node, 7));
        let said = link.get::<NodeStatus>("/elsewhere").await.unwrap_err();
        assert!(said.to_string().contains("there is nothing here"), "{said}");
    });
    assert_eq!(
        donor.node.copies.load(std::sync::atomic::Ordering::Relaxed),
        0
    );
}

#[test]
fn a_node_that_was_removed_is_let_in_no_more() {
    let donor = Donor::new(1);
    let joiner = Joiner::new(&donor, donor.token());
    let entered = joiner.enter().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let ask = |identity: &Identity| {
        let client = PeerClient::new(identity, donor.address()).unwrap();
        runtime.block_on(async { client.connect().await?.get::<NodeStatus>("/status").await })
    };
    ask(&entered).unwrap();
    donor
        .node
        .removed
        .lock()
        .unwrap()
        .push(entered.membership.node);
    let said = ask(&entered).unwrap_err().to_string();
    assert!(said.contains("was removed from the cluster"), "{said}");
    // Others, and a node itself that leaves, are.
    let second = Joiner::new(&donor, donor.token());
    ask(&second.enter().unwrap()).unwrap();
    let own = donor.identity.membership.node;
    donor.node.removed.lock().unwrap().push(own);
    ask(&donor.identity).unwrap();
}
