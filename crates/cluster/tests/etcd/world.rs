//! Certificates, addresses and folders for members on loopback.

use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cluster::etcd::{Address, EtcdProgram, Member, Pace, ProcessState, Start, TlsFiles};
use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};

/// Time after which a test gives up waiting. Generous: a loaded machine is slow.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Token of the cluster.
pub const TOKEN: &str = "cluster-of-the-tests";

/// Returns the etcd of the tests.
pub fn program() -> EtcdProgram {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/etcd/etcd");
    let named = std::env::var_os("PANDO_ETCD").map(PathBuf::from);
    let setting = named.or_else(|| built.exists().then_some(built));
    EtcdProgram::find(setting.as_deref()).unwrap_or_else(|error| panic!("{error}"))
}

/// A folder with the authority of one cluster.
pub struct World {
    pub folder: tempfile::TempDir,
    tls: TlsFiles,
}

impl World {
    pub fn new() -> World {
        let folder = tempfile::tempdir().unwrap();
        let tls = certificates(folder.path());
        World { folder, tls }
    }

    /// A member on free ports, whose folder is `name`.
    pub fn member(&self, name: &str, start: Start) -> Member {
        let [client, peer] = free_addresses();
        Member {
            name: name.to_owned(),
            folder: self.folder.path().join(name),
            client: at(client),
            peer: at(peer),
            token: TOKEN.to_owned(),
            start,
            tls: self.tls.clone(),
            pace: Pace::default(),
        }
    }
}

/// Puts a new cluster's member into words, for another process.
pub fn stored(member: &Member) -> String {
    let Member { client, peer, .. } = member;
    let folder = member.folder.to_str().unwrap();
    format!("{} {} {folder}", client.listen, peer.listen)
}

/// Returns the member that was put into these words.
pub fn restored(words: &str) -> Member {
    let mut words = words.splitn(3, ' ');
    let mut next = || words.next().unwrap();
    let [client, peer] = [next(), next()].map(|it| at(it.parse().unwrap()));
    let folder = PathBuf::from(next());
    Member {
        name: "one".to_owned(),
        client,
        peer,
        token: TOKEN.to_owned(),
        start: Start::New,
        tls: tls_files(folder.parent().unwrap()),
        folder,
        pace: Pace::default(),
    }
}

fn at(listen: SocketAddr) -> Address {
    Address {
        listen,
        url: format!("https://{listen}"),
    }
}

fn tls_files(folder: &Path) -> TlsFiles {
    TlsFiles {
        authority: folder.join("authority.pem"),
        certificate: folder.join("node.pem"),
        key: folder.join("node.key"),
    }
}

/// Makes an authority and a certificate of it, in files.
pub fn certificates(folder: &Path) -> TlsFiles {
    let authority_key = KeyPair::generate().unwrap();
    let mut authority = CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority_certificate = authority.self_signed(&authority_key).unwrap();
    let issuer = Issuer::new(authority, authority_key);
    let key = KeyPair::generate().unwrap();
    let names = ["127.0.0.1".to_owned()];
    let mut params = CertificateParams::new(names).unwrap();
    params.extended_key_usages = vec![
        ExtendedKeyUsagePurpose::ServerAuth,
        ExtendedKeyUsagePurpose::ClientAuth,
    ];
    let certificate = params.signed_by(&key, &issuer).unwrap();
    let files = tls_files(folder);
    std::fs::write(&files.authority, authority_certificate.pem()).unwrap();
    std::fs::write(&files.certificate, certificate.pem()).unwrap();
    std::fs::write(&files.key, key.serialize_pem()).unwrap();
    files
}

/// Addresses that are free now. All are taken together, so that they differ.
pub fn free_addresses<const N: usize>() -> [SocketAddr; N] {
    let taken = [(); N].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    taken.map(|it| it.local_addr().unwrap())
}

/// Waits until `found` finds something.
pub async fn eventually<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(Instant::now() < deadline, "not in time: {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Number of the process, if it runs.
pub fn pid(state: &ProcessState) -> Option<i32> {
    match state {
        ProcessState::Running { pid, .. } => Some(*pid),
        _ => None,
    }
}

/// Kills the process at once.
pub fn kill(pid: i32) {
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

/// Whether there is a process of this number that has not ended.
pub fn is_alive(pid: i32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The state stands behind the name in parentheses; Z has ended and waits for its parent.
    let state = status.rsplit_once(") ").map(|(_, rest)| &rest[..1]);
    state.is_some_and(|state| state != "Z")
}
