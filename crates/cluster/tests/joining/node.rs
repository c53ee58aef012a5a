//! A node that holds a file instead of a database, and its service.

use cluster::Trouble;
use cluster::address::Address;
use cluster::identity::{Identity, Member};
use cluster::init::{self, InitOptions};
use cluster::join::{self, JoinOptions, WantedCopy};
use cluster::peer::{
    LeaveAnswer, LeaveRequest, LogStatus, NodeStatus, PeerNode, Reached, RemoveRequest, Service,
    ServiceOptions, UpgradeAnswer, UpgradeRequest, listen,
};
use cluster::snapshot::Watch;
use cluster::token::Token;
use replica::commit_log::NodeId;
use std::io::{PipeWriter, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Bytes of the file: more than one time all pieces that are fetched at once.
pub const BYTES: usize = (64 << 20) + 12_345;
/// How long a test waits for anything.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// The node that the service speaks for.
pub struct FileNode {
    pub own: Member,
    pub content: Arc<Vec<u8>>,
    /// Number of copies made so far.
    pub copies: AtomicU64,
    /// Bytes that a copy may have written; the rest waits.
    pub gate: Mutex<u64>,
    pub moved: Condvar,
    /// Whether a copy that waits fails instead.
    pub ends: AtomicBool,
    pub bytes_max: u64,
    /// Which of the cluster's logs the node follows.
    pub generation: AtomicU64,
    /// Nodes that were removed from the cluster.
    pub removed: Mutex<Vec<NodeId>>,
}

impl FileNode {
    pub fn open_gate(&self, bytes: u64) {
        *self.gate.lock().unwrap() = bytes;
        self.moved.notify_all();
    }
}

impl PeerNode for FileNode {
    fn status(&self) -> NodeStatus {
        NodeStatus {
            node: self.own.node,
            address: self.own.address.clone(),
            version: "0.0.0".to_owned(),
            generation: self.generation.load(Ordering::Relaxed),
            replaces: false,
            etcd_urls: Vec::new(),
            head: 9,
            place: 7,
            synced_place: 5,
            position: 6,
            digest_position: 0,
            digest: "00".to_owned(),
            record_time_us: 1,
            clock_us: 2,
            volatile: false,
            trouble: None,
            members: vec![self.own.clone()],
            log: LogStatus::default(),
        }
    }

    fn when_reached(&self, _: u64, _: Instant, then: Reached) {
        then(0);
    }

    fn members(&self) -> Vec<Member> {
        vec![self.own.clone()]
    }

    fn removed(&self) -> Vec<NodeId> {
        self.removed.lock().unwrap().clone()
    }

    fn etcd_urls(&self) -> Vec<String> {
        vec![self.own.address.etcd_client_url()]
    }

    fn remove(&self, _: &RemoveRequest) -> Result<(), String> {
        Err("it holds a file".to_owned())
    }

    fn leave(&self, _: &LeaveRequest) -> Result<LeaveAnswer, String> {
        Err("it holds a file".to_owned())
    }

    fn upgrade(&self, _: &UpgradeRequest) -> Result<UpgradeAnswer, String> {
        Err("a test raises nothing".to_owned())
    }

    fn copy_bytes_max(&self) -> Result<u64, String> {
        Ok(self.bytes_max)
    }

    fn write_copy(&self, mut output: PipeWriter) -> Result<(), String> {
        self.copies.fetch_add(1, Ordering::Relaxed);
        for (number, bytes) in self.content.chunks(1 << 20).enumerate() {
            let end = (number as u64) << 20;
            let mut gate = self.gate.lock().unwrap();
            while *gate < end {
                if self.ends.load(Ordering::Relaxed) {
                    return Err("the node ends".to_owned());
                }
                let waited = self.moved.wait_timeout(gate, Duration::from_millis(10));
                gate = waited.unwrap().0;
            }
            drop(gate);
            output.write_all(bytes).map_err(|error| error.to_string())?;
        }
        Ok(())
    }
}

/// The first node of a cluster, with a service or stopped.
pub struct Donor {
    pub dir: TempDir,
    pub identity: Identity,
    pub node: Arc<FileNode>,
    pub kept: Duration,
    pub service: Option<Service>,
}

impl Donor {
    /// Founds a cluster and serves its node.
    pub fn new(seed: u64) -> Donor {
        let mut donor = Donor::stopped(seed);
        donor.start();
        donor
    }

    /// Founds a cluster.
    pub fn stopped(seed: u64) -> Donor {
        let dir = TempDir::new().unwrap();
        std::fs::create_dir(dir.path().join("data")).unwrap();
        let options = InitOptions {
            dir: dir.path().to_path_buf(),
            address: free_address(),
            etcd: None,
        };
        let identity = init::found(&options, |_, _| Ok(())).unwrap();
        let node = FileNode {
            own: identity.membership.own(),
            content: Arc::new(content(seed)),
            copies: AtomicU64::new(0),
            gate: Mutex::new(u64::MAX),
            moved: Condvar::new(),
            ends: AtomicBool::new(false),
            bytes_max: BYTES as u64 + (1 << 20),
            generation: AtomicU64::new(1),
            removed: Mutex::default(),
        };
        Donor {
            dir,
            identity,
            node: Arc::new(node),
            kept: Duration::from_secs(600),
            service: None,
        }
    }

    /// Serves the node at its address.
    pub fn start(&mut self) {
        let options = ServiceOptions {
            snapshots: self.snapshots(),
            kept: self.kept,
        };
        let node = Arc::clone(&self.node) as Arc<dyn PeerNode>;
        let listener = listen(&self.identity).unwrap();
        let service = Service::start_on(listener, &self.identity, node, &options);
        self.service = Some(service.unwrap());
    }

    /// Ends the service, as a node does that is stopped.
    pub fn stop(&mut self) {
        self.node.ends.store(true, Ordering::Relaxed);
        self.service = None;
        self.node.ends.store(false, Ordering::Relaxed);
    }

    pub fn snapshots(&self) -> PathBuf {
        self.dir.path().join("data/snapshot")
    }

    pub fn address(&self) -> Address {
        self.identity.membership.address.clone()
    }

    pub fn token(&self) -> Token {
        init::token(&self.identity).unwrap()
    }
}

/// A folder that joins.
pub struct Joiner {
    pub above: TempDir,
    pub options: JoinOptions,
}

impl Joiner {
    pub fn new(donor: &Donor, token: Token) -> Joiner {
        let above = TempDir::new().unwrap();
        Joiner {
            options: JoinOptions {
                dir: above.path().join("node"),
                from: donor.address(),
                token,
                address: Some(free_address()),
                without_etcd: None,
            },
            above,
        }
    }

    pub fn enter(&self) -> Result<Identity, Trouble> {
        join::enter(&self.options)
    }

    pub fn fill(&self, watch: &Watch) -> Result<(), Trouble> {
        let dir = &self.options.dir;
        join::fill(dir, &self.options.from, &WantedCopy::first(dir), watch).map(|_| ())
    }

    pub fn database(&self) -> Vec<u8> {
        std::fs::read(self.options.dir.join("data/pando.mdb")).unwrap()
    }

    /// Names in the folder above the node's and, after a slash, in the node's.
    pub fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        for entry in self.above.path().read_dir().unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            names.push(name);
        }
        if let Ok(entries) = self.options.dir.read_dir() {
            let entries = entries.map(|it| it.unwrap().file_name().into_string().unwrap());
            names.extend(entries.map(|it| format!("/{it}")));
        }
        names.sort();
        names
    }
}

/// An address on loopback whose port was free a moment ago.
pub fn free_address() -> Address {
    loop {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        if let Ok(address) = format!("127.0.0.1:{port}").parse() {
            return address;
        }
    }
}

/// Bytes that differ from piece to piece and from seed to seed.
pub fn content(seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut bytes = vec![0; BYTES];
    for eight in bytes.chunks_mut(8) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        eight.copy_from_slice(&state.to_le_bytes()[..eight.len()]);
    }
    bytes
}

/// Waits until something is so.
pub fn wait_until(what: &str, mut is: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is() {
        assert!(begun.elapsed() < PATIENCE, "not within a minute: {what}");
        std::thread::park_timeout(Duration::from_millis(5));
    }
}
