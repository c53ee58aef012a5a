//! Founding a cluster on an etcd that an operator runs: a real one, with the operator's own
//! certificates.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use cluster::authority::Authority;
use cluster::external::OperatorsEtcd;
use cluster::identity::{ClusterId, Etcd, Identity};
use cluster::init::{InitOptions, found};
use replica::clock::{Clock, SystemClock};
use replica::commit_log::NodeId;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A process that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The program: `PANDO_ETCD`, what `make etcd` made, or the one of `PATH`.
fn program() -> PathBuf {
    if let Some(path) = std::env::var_os("PANDO_ETCD") {
        return path.into();
    }
    let made = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/etcd/etcd");
    match made.is_file() {
        true => made,
        false => "etcd".into(),
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// Writes certificates of a new authority into a folder.
fn certificates(folder: &Path, urls: Vec<String>) -> OperatorsEtcd {
    let now = Duration::from_micros(SystemClock.now_us());
    let authority = Authority::found(ClusterId([1; 16]), now).unwrap();
    let address = "127.0.0.1:1".parse().unwrap();
    let issued = authority
        .issue(NodeId([1; 16]), &address, None, now)
        .unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        fs::write(&path, text).unwrap();
        path
    };
    OperatorsEtcd {
        urls,
        ca: write("ca", authority.pem()),
        certificate: write("certificate", &issued.certificate),
        key: write("key", &issued.key),
    }
}

fn start(folder: &Path, etcd: &OperatorsEtcd) -> Running {
    let peer = format!("http://127.0.0.1:{}", free_port());
    let url = &etcd.urls[0];
    let mut command = Command::new(program());
    command.args(["--name", "one", "--client-cert-auth", "--logger=zap"]);
    command.args(["--listen-client-urls", url, "--advertise-client-urls", url]);
    command.args([
        "--listen-peer-urls",
        &peer,
        "--initial-advertise-peer-urls",
        &peer,
    ]);
    command.args(["--initial-cluster", &format!("one={peer}")]);
    command.arg("--data-dir").arg(folder.join("etcd"));
    command.arg("--trusted-ca-file").arg(&etcd.ca);
    command.arg("--cert-file").arg(&etcd.certificate);
    command.arg("--key-file").arg(&etcd.key);
    let command = command.stdout(Stdio::null()).stderr(Stdio::null());
    let started = command.spawn();
    Running(started.expect("etcd is built by `make etcd`, or named by PANDO_ETCD"))
}

fn init(dir: &Path, etcd: &OperatorsEtcd) -> Result<Identity, String> {
    let options = InitOptions {
        dir: dir.to_path_buf(),
        address: "127.0.0.1:8390".parse().unwrap(),
        etcd: Some(etcd.clone()),
    };
    found(&options, |_, _| Ok(())).map_err(|trouble| trouble.to_string())
}

#[test]
fn an_operators_etcd_is_taken_with_its_certificates_only() {
    let (folder, node) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let url = format!("https://127.0.0.1:{}", free_port());
    let etcd = certificates(folder.path(), vec![url.clone()]);
    let unreachable = init(node.path(), &etcd).unwrap_err();
    assert!(
        unreachable.starts_with(&format!("{url}: ")),
        "{unreachable}"
    );
    assert!(unreachable.contains("refused"), "{unreachable}");

    let _running = start(folder.path(), &etcd);
    let begun = Instant::now();
    let identity = loop {
        // It listens before it answers.
        match init(node.path(), &etcd) {
            Ok(identity) => break identity,
            Err(why) => assert!(begun.elapsed() < Duration::from_secs(60), "{why}"),
        }
        std::thread::park_timeout(Duration::from_millis(50));
    };
    let files = identity.etcd_files();
    let read = |path: &Path| fs::read_to_string(path).unwrap();
    assert_eq!(read(&files.authority), read(&etcd.ca));
    assert_eq!(read(&files.certificate), read(&etcd.certificate));
    assert_eq!(read(&files.key), read(&etcd.key));
    match &identity.membership.etcd {
        Etcd::External(external) => assert_eq!(external.urls, etcd.urls),
        other => panic!("expected the operator's etcd, got {other:?}"),
    }

    let (strange, second) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let others = certificates(strange.path(), vec![url.clone()]);
    let said = init(second.path(), &others).unwrap_err();
    assert!(said.starts_with(&format!("{url}: ")), "{said}");
    let clear = url.replace("https", "http");
    let open = certificates(strange.path(), vec![clear]);
    let said = init(second.path(), &open).unwrap_err();
    assert!(said.contains("expected https://HOST:PORT"), "{said}");
    assert_eq!(second.path().read_dir().unwrap().count(), 0);
}
