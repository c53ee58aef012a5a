//! One member: its TLS, its end, its beginning again.

use std::net::TcpListener;
use std::process::{Command, Stdio};

use cluster::etcd::client::{self, ready};
use cluster::etcd::{Pace, ProcessState, Start, Supervisor};

use crate::world::{self, PATIENCE, World, certificates, eventually, is_alive, kill, pid, program};

#[tokio::test]
async fn a_member_answers_holders_of_its_certificates_alone_and_is_stopped() {
    let world = World::new();
    let mut member = world.member("one", Start::New);
    member.folder.set_file_name("a folder");
    let etcd = Supervisor::start(program(), member.clone()).unwrap();
    let standing = ready(&member, PATIENCE).await.unwrap();
    assert!(!standing.is_learner);

    let url = &member.client.url;
    let client = client::connect(url, &member.tls).await.unwrap();
    client
        .kv_client()
        .put("a", vec![7; 1_000_000], None)
        .await
        .unwrap();

    let strangers = tempfile::tempdir().unwrap();
    let mut strangers = certificates(strangers.path());
    // It trusts the member, but the member does not know it.
    strangers.authority = member.tls.authority.clone();
    client::standing(url, &strangers).await.unwrap_err();
    client::standing(&url.replace("https", "http"), &member.tls)
        .await
        .unwrap_err();

    let process = pid(&etcd.state()).unwrap();
    assert!(is_alive(process));
    etcd.stop();
    assert!(!is_alive(process));
}

#[tokio::test]
async fn a_killed_member_is_started_again_with_its_data() {
    let world = World::new();
    let member = world.member("one", Start::New);
    let etcd = Supervisor::start(program(), member.clone()).unwrap();
    ready(&member, PATIENCE).await.unwrap();
    let client = client::connect(&member.client.url, &member.tls)
        .await
        .unwrap();
    client.kv_client().put("kept", "value", None).await.unwrap();

    let first = pid(&etcd.state()).unwrap();
    kill(first);
    eventually("another process", || {
        pid(&etcd.state()).filter(|it| *it != first)
    })
    .await;
    ready(&member, PATIENCE).await.unwrap();
    let client = client::connect(&member.client.url, &member.tls)
        .await
        .unwrap();
    let found = client.kv_client().get("kept", None).await.unwrap();
    assert_eq!(found.kvs()[0].value(), b"value");
}

#[tokio::test]
async fn an_etcd_that_was_left_running_is_taken_over() {
    let world = World::new();
    let mut member = world.member("one", Start::New);
    let etcd = Supervisor::start(program(), member.clone()).unwrap();
    ready(&member, PATIENCE).await.unwrap();
    let left = pid(&etcd.state()).unwrap();
    etcd.release();
    assert!(is_alive(left));

    let etcd = Supervisor::start(program(), member.clone()).unwrap();
    let state = eventually("a running etcd", || {
        Some(etcd.state()).filter(|it| pid(it).is_some())
    })
    .await;
    let taken_over = ProcessState::Running {
        pid: left,
        adopted: true,
    };
    assert_eq!(state, taken_over);
    etcd.release();

    // With other settings it is ended and another one started.
    member.pace = Pace {
        heartbeat_ms: 50,
        election_ms: 500,
    };
    let etcd = Supervisor::start(program(), member.clone()).unwrap();
    let new = eventually("another process", || pid(&etcd.state())).await;
    assert_ne!(new, left);
    // Its first process is a child of these tests and was not waited for.
    assert!(!is_alive(left));
    ready(&member, PATIENCE).await.unwrap();
}

/// The variable by which a test starts a process that runs etcd: its member's folder and addresses.
const HOLDER: &str = "PANDO_TEST_HOLDER";

/// Does nothing as a test. As a process of the next test, it runs etcd until it is killed.
#[test]
fn holder_of_an_etcd() {
    let Some(member) = std::env::var_os(HOLDER) else {
        return;
    };
    let member = world::restored(member.to_str().unwrap());
    let etcd = Supervisor::start(program(), member).unwrap();
    std::io::stdin().read_line(&mut String::new()).unwrap();
    etcd.stop();
}

#[tokio::test]
async fn the_etcd_of_a_killed_process_is_taken_over() {
    let world = World::new();
    let member = world.member("one", Start::New);
    let mut holder = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "process::holder_of_an_etcd", "--nocapture"])
        .env(HOLDER, world::stored(&member))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    ready(&member, PATIENCE).await.unwrap();
    holder.kill().unwrap();
    holder.wait().unwrap();
    // It goes on without anybody.
    ready(&member, PATIENCE).await.unwrap();

    let etcd = Supervisor::start(program(), member.clone()).unwrap();
    let state = eventually("a running etcd", || {
        Some(etcd.state()).filter(|it| pid(it).is_some())
    })
    .await;
    assert!(matches!(state, ProcessState::Running { adopted: true, .. }));
    ready(&member, PATIENCE).await.unwrap();
    etcd.stop();
    assert!(!is_alive(pid(&state).unwrap()));
}

#[tokio::test]
async fn a_taken_over_etcd_that_is_killed_is_started_again() {
    let world = World::new();
    let member = world.member("one", Start::New);
    let etcd = Supervisor::start(program(), member.clone()).unwrap();
    let left = eventually("a running etcd", || pid(&etcd.state())).await;
    etcd.release();
    let etcd = Supervisor::start(program(), member.clone()).unwrap();
    eventually("the same process", || {
        pid(&etcd.state()).filter(|it| *it == left)
    })
    .await;
    kill(left);
    eventually("another process", || {
        pid(&etcd.state()).filter(|it| *it != left)
    })
    .await;
    ready(&member, PATIENCE).await.unwrap();
}

#[tokio::test]
async fn a_member_that_cannot_listen_says_why() {
    let world = World::new();
    let member = world.member("one", Start::New);
    let taken = TcpListener::bind(member.client.listen).unwrap();
    let etcd = Supervisor::start(program(), member.clone()).unwrap();
    let why = eventually("the reason", || match etcd.state() {
        ProcessState::Waiting { why } => Some(why),
        _ => None,
    })
    .await;
    assert!(why.contains("address already in use"), "{why}");
    drop(taken);
    ready(&member, PATIENCE).await.unwrap();
}

#[tokio::test]
async fn data_of_another_cluster_are_refused() {
    let world = World::new();
    let mut member = world.member("one", Start::New);
    let etcd = Supervisor::start(program(), member.clone()).unwrap();
    ready(&member, PATIENCE).await.unwrap();
    etcd.stop();

    member.token = "another-cluster".to_owned();
    let folder = member.folder.display().to_string();
    let refusal = |member| match Supervisor::start(program(), member) {
        Ok(_) => panic!("started on data of another cluster"),
        Err(error) => error.to_string(),
    };
    let expected = |found: &str| {
        format!(
            "{folder} holds etcd's data of cluster {found}, expected of cluster another-cluster: \
             move this folder away if that cluster is gone"
        )
    };
    assert_eq!(refusal(member.clone()), expected("cluster-of-the-tests"));
    std::fs::remove_file(member.folder.join("token")).unwrap();
    assert_eq!(refusal(member), expected("unknown"));
}

#[tokio::test]
async fn a_first_start_that_is_interrupted_is_made_good() {
    // For some 20 ms after its log has appeared, etcd leaves data with which it cannot go on.
    for _ in 0..4 {
        let world = World::new();
        let member = world.member("one", Start::New);
        let etcd = Supervisor::start(program(), member.clone()).unwrap();
        let process = eventually("a process with data", || {
            pid(&etcd.state()).filter(|_| member.has_data())
        });
        kill(process.await);
        ready(&member, PATIENCE).await.unwrap();
    }
}
