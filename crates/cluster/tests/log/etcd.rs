//! A real etcd on loopback, in a folder of its own.

use super::certificates::Certificates;
use rustix::process::{Pid, Signal, kill_process};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Time for anything that a test waits for.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A running member of etcd.
pub(crate) struct Etcd {
    folder: tempfile::TempDir,
    child: Option<Child>,
    name: String,
    scheme: &'static str,
    client_port: u16,
    peer_port: u16,
    /// All members with their URLs for each other.
    members: String,
    flags: Vec<String>,
}

impl Etcd {
    /// Starts one that is alone, with more flags than the usual.
    pub(crate) fn start(flags: &[&str]) -> Etcd {
        let mut etcd = Etcd::new("m");
        etcd.members = etcd.member();
        etcd.flags = flags.iter().map(|it| (*it).to_owned()).collect();
        etcd.run();
        etcd
    }

    /// Starts three members of one cluster.
    pub(crate) fn three() -> [Etcd; 3] {
        let mut all = ["a", "b", "c"].map(Etcd::new);
        let members = all.each_ref().map(Etcd::member).join(",");
        for etcd in &mut all {
            etcd.members.clone_from(&members);
            let times = ["--heartbeat-interval", "100", "--election-timeout", "1000"];
            etcd.flags = times.map(str::to_owned).into();
            etcd.run();
        }
        all
    }

    /// Starts one that is alone and wants certificates of its clients.
    pub(crate) fn secure(certificates: &Certificates) -> Etcd {
        let mut etcd = Etcd::new("m");
        etcd.members = etcd.member();
        etcd.scheme = "https";
        let files = [
            ("--trusted-ca-file", "ca.pem", &certificates.authority),
            ("--cert-file", "cert.pem", &certificates.server.certificate),
            ("--key-file", "key.pem", &certificates.server.key),
        ];
        for (flag, name, text) in files {
            let path = etcd.folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            etcd.flags.push(flag.to_owned());
            etcd.flags.push(path.display().to_string());
        }
        etcd.flags.push("--client-cert-auth".to_owned());
        etcd.run();
        etcd
    }

    /// One that does not run yet.
    fn new(name: &str) -> Etcd {
        Etcd {
            folder: tempfile::tempdir().unwrap(),
            child: None,
            name: name.to_owned(),
            scheme: "http",
            client_port: free_port(),
            peer_port: free_port(),
            members: String::new(),
            flags: Vec::new(),
        }
    }

    /// Its name and its URL for other members.
    fn member(&self) -> String {
        format!("{}=http://127.0.0.1:{}", self.name, self.peer_port)
    }

    /// URL for clients.
    pub(crate) fn url(&self) -> String {
        format!("{}://127.0.0.1:{}", self.scheme, self.client_port)
    }

    /// Port for clients.
    pub(crate) fn port(&self) -> u16 {
        self.client_port
    }

    /// Stops its process from running, or lets it go on.
    pub(crate) fn pause(&self, paused: bool) {
        let child = self.child.as_ref().expect("etcd runs");
        let signal = if paused { Signal::STOP } else { Signal::CONT };
        kill_process(Pid::from_child(child), signal).unwrap();
    }

    /// Whether it leads the members.
    pub(crate) fn is_leader(&self) -> bool {
        self.with(async |client| {
            let status = client.maintenance_client().status().await;
            let member = |it: &etcd_client::StatusResponse| Some(it.header()?.member_id());
            status.is_ok_and(|it| member(&it) == Some(it.leader()))
        })
    }

    /// Starts it, or starts it again in the same folder.
    pub(crate) fn run(&mut self) {
        assert!(self.child.is_none(), "etcd runs already");
        let peer = format!("http://127.0.0.1:{}", self.peer_port);
        let child = Command::new(program())
            .args(["--name", &self.name, "--log-level", "error"])
            .args(["--auto-compaction-retention", "0"])
            .arg("--data-dir")
            .arg(self.folder.path().join("data"))
            .args(["--listen-client-urls", &self.url()])
            .args(["--advertise-client-urls", &self.url()])
            .args(["--listen-peer-urls", &peer])
            .args(["--initial-advertise-peer-urls", &peer])
            .args(["--initial-cluster", &self.members])
            .args(["--max-request-bytes", "2097152"])
            .args(&self.flags)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("etcd could not be started: {error}"));
        self.child = Some(child);
    }

    /// Ends it at once, like a power failure of its process.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    /// Removes all it has stored; it must not run.
    pub(crate) fn empty(&mut self) {
        assert!(self.child.is_none(), "etcd runs");
        std::fs::remove_dir_all(self.folder.path().join("data")).unwrap();
    }

    /// Does something with a client of this etcd.
    pub(crate) fn with<T>(&self, act: impl AsyncFnOnce(etcd_client::Client) -> T) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let client = etcd_client::Client::connect([self.url()], None).await;
            act(client.unwrap()).await
        })
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Calls `look` until it returns something, for as long as a test waits.
pub(crate) fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < until, "waited in vain for {what}");
        std::thread::park_timeout(Duration::from_millis(10));
    }
}

/// A port that nothing listens on.
pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has free ports");
    listener.local_addr().unwrap().port()
}

/// The program: `PANDO_ETCD`, else that of `make etcd`, else that in `PATH`.
fn program() -> PathBuf {
    if let Some(named) = std::env::var_os("PANDO_ETCD") {
        return named.into();
    }
    let made = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/etcd/etcd");
    if made.exists() { made } else { "etcd".into() }
}
