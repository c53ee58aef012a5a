//! Members of several nodes: from one voter to three and back.

use std::time::{Duration, Instant};

use cluster::etcd::client::{self, ready};
use cluster::etcd::{Candidate, OwnVoter, ProcessState, Progress, Start};

use crate::world::{PATIENCE, World, eventually, is_alive, kill, pid, program};

/// The nodes of a cluster in the order of joining, with the members that they run or not.
struct Nodes {
    voters: Vec<OwnVoter>,
}

impl Nodes {
    /// One node that runs the first member, and more nodes that run none yet.
    async fn start(world: &World, names: &[&str]) -> Nodes {
        let mut voters = Vec::new();
        for name in names {
            let start = match voters.is_empty() {
                true => Start::New,
                false => Start::Existing(Vec::new()),
            };
            voters.push(OwnVoter::open(program(), world.member(name, start)).unwrap());
        }
        ready(voters[0].member(), PATIENCE).await.unwrap();
        Nodes { voters }
    }

    fn candidates(&self) -> Vec<Candidate> {
        let members = self.voters.iter().map(OwnVoter::member);
        let candidates = members.map(|it| Candidate {
            name: it.name.clone(),
            peer_url: it.peer.url.clone(),
        });
        candidates.collect()
    }

    /// URLs of all members that run.
    fn urls(&self) -> Vec<String> {
        let running = self.voters.iter().filter(|it| it.state().is_some());
        running.map(|it| it.member().client.url.clone()).collect()
    }

    /// Lets the nodes change the voters, in turns, until none sees anything to change for `wanted`.
    async fn settle(&mut self, wanted: &[Candidate]) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let mut last = Vec::new();
            for number in 0..self.voters.len() {
                let urls = self.urls();
                last.push(self.voters[number].ensure(wanted, &urls).await);
            }
            if last.iter().all(|it| matches!(it, Ok(Progress::Settled))) {
                return;
            }
            assert!(Instant::now() < deadline, "not settled: {last:?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Names of the voters, as the node `number` knows them.
    async fn voters(&self, number: usize) -> Vec<String> {
        let member = self.voters[number].member();
        let members = client::members(&member.client.url, &member.tls).await;
        let voters = members.unwrap().into_iter().filter(|it| !it.is_learner);
        let mut names: Vec<String> = voters.map(|it| it.name).collect();
        names.sort();
        names
    }

    async fn put(&self, number: usize, key: &str) {
        let member = self.voters[number].member();
        let deadline = Instant::now() + PATIENCE;
        loop {
            let client = client::connect(&member.client.url, &member.tls)
                .await
                .unwrap();
            match client.kv_client().put(key, "value", None).await {
                Ok(_) => return,
                Err(error) => assert!(Instant::now() < deadline, "{error}"),
            }
        }
    }

    async fn has(&self, number: usize, key: &str) -> bool {
        let member = self.voters[number].member();
        let client = client::connect(&member.client.url, &member.tls)
            .await
            .unwrap();
        let found = client.kv_client().get(key, None).await.unwrap();
        found.count() == 1
    }

    fn pid(&self, number: usize) -> i32 {
        pid(&self.voters[number].state().unwrap()).unwrap()
    }
}

#[tokio::test]
async fn three_members_grow_from_one_and_survive_the_kill_of_one() {
    let world = World::new();
    let mut nodes = Nodes::start(&world, &["n1", "n2", "n3"]).await;
    nodes.put(0, "before").await;
    nodes.settle(&nodes.candidates()).await;
    assert_eq!(nodes.voters(2).await, ["n1", "n2", "n3"]);
    assert!(nodes.has(2, "before").await);

    // The first one leads: the others elect another leader, and it comes back by itself.
    let killed = nodes.pid(0);
    kill(killed);
    nodes.put(1, "without").await;
    assert!(nodes.has(2, "without").await);
    ready(nodes.voters[0].member(), PATIENCE).await.unwrap();
    assert_ne!(nodes.pid(0), killed);
    assert!(nodes.has(0, "without").await);
}

#[tokio::test]
async fn two_nodes_have_one_voter() {
    let world = World::new();
    let mut nodes = Nodes::start(&world, &["n1", "n2"]).await;
    nodes.settle(&nodes.candidates()).await;
    assert_eq!(nodes.voters(0).await, ["n1"]);
    assert_eq!(nodes.voters[1].state(), None);
}

#[tokio::test]
async fn a_node_that_left_has_no_member_and_no_data() {
    let world = World::new();
    let mut nodes = Nodes::start(&world, &["n1", "n2", "n3", "n4"]).await;
    let all = nodes.candidates();
    nodes.settle(&all).await;
    assert_eq!(nodes.voters(0).await, ["n1", "n2", "n3"]);

    // The first node leads. It leaves, and the fourth takes its place.
    let left = nodes.pid(0);
    nodes.settle(&all[1..]).await;
    assert_eq!(nodes.voters(1).await, ["n2", "n3", "n4"]);
    assert_eq!(nodes.voters[0].state(), None);
    assert!(!is_alive(left));
    assert!(!nodes.voters[0].member().has_data());
    nodes.put(3, "after").await;
}

#[tokio::test]
async fn the_member_of_a_dead_node_is_replaced() {
    let world = World::new();
    let mut nodes = Nodes::start(&world, &["n1", "n2", "n3", "n4"]).await;
    let all = nodes.candidates();
    nodes.settle(&all).await;
    // The node of the second member is gone for good.
    nodes.voters.remove(1).stop();
    let without = [all[0].clone(), all[2].clone(), all[3].clone()];
    nodes.settle(&without).await;
    assert_eq!(nodes.voters(0).await, ["n1", "n3", "n4"]);
}

#[tokio::test]
async fn a_member_without_its_data_comes_back_as_another_one() {
    let world = World::new();
    let mut nodes = Nodes::start(&world, &["n1", "n2", "n3"]).await;
    let all = nodes.candidates();
    nodes.settle(&all).await;
    let member = nodes.voters[2].member().clone();
    nodes.voters.remove(2).stop();
    member.forget().unwrap();
    nodes
        .voters
        .push(OwnVoter::open(program(), member).unwrap());
    assert_eq!(nodes.voters[2].state(), None::<ProcessState>);
    nodes.settle(&all).await;
    assert_eq!(nodes.voters(2).await, ["n1", "n2", "n3"]);
}

#[tokio::test]
async fn a_learner_whose_first_start_is_interrupted_gets_its_vote() {
    let world = World::new();
    let mut nodes = Nodes::start(&world, &["n1", "n2", "n3"]).await;
    let all = nodes.candidates();
    let deadline = Instant::now() + PATIENCE;
    while nodes.voters[1].state().is_none() {
        let urls = nodes.urls();
        nodes.voters[1].ensure(&all, &urls).await.ok();
        assert!(Instant::now() < deadline, "no learner is added");
    }
    let member = nodes.voters[1].member().clone();
    let process = eventually("a process with data", || {
        let state = nodes.voters[1].state()?;
        pid(&state).filter(|_| member.has_data())
    })
    .await;
    kill(process);
    nodes.settle(&all).await;
    assert_eq!(nodes.voters(0).await, ["n1", "n2", "n3"]);
}
