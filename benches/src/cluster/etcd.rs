//! Three members of etcd, run with the flags that `pando serve` gives to its own.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use ::cluster::authority::Authority;
use ::cluster::etcd::flags::flags;
use ::cluster::etcd::{Address, Member, Pace, Start, TlsFiles};
use ::cluster::identity::ClusterId;
use replica::commit_log::NodeId;

use super::process::{Process, Role};

/// Number of members.
const MEMBERS: u16 = 3;
/// Ports that the members need.
pub const PORTS: u16 = 2 * MEMBERS;
/// Time that the members have to choose a leader.
const ELECTION_TIME_MAX: Duration = Duration::from_secs(60);

/// The members of etcd: where they are and how to speak to them.
pub struct Etcd {
    program: PathBuf,
    /// URLs for clients, in the order of the processes.
    pub urls: Vec<String>,
    /// Certificates of members, and of their clients.
    pub tls: TlsFiles,
}

impl Etcd {
    /// Prepares three members below `folder`, at [`PORTS`] ports from `port` on.
    pub fn prepare(folder: &Path, program: &Path, port: u16) -> io::Result<(Etcd, Vec<Process>)> {
        let tls = certificates(folder)?;
        let url = |port: u16| format!("https://127.0.0.1:{port}");
        let ports = (0..MEMBERS).map(|it| port + 2 * it);
        let cluster: Vec<String> = (0..MEMBERS)
            .map(|it| format!("member{it}={}", url(port + 2 * it + 1)))
            .collect();
        let mut processes = Vec::new();
        for (number, port) in ports.clone().enumerate() {
            let member = Member {
                name: format!("member{number}"),
                folder: folder.join(format!("etcd{number}")),
                client: address(port),
                peer: address(port + 1),
                token: "benchmark".to_owned(),
                start: Start::New,
                tls: tls.clone(),
                pace: Pace::default(),
            };
            fs::create_dir_all(&member.folder)?;
            let mut command = Command::new(program);
            // The members begin together, instead of one after the other.
            let lasting = flags(&member);
            command.args(
                lasting
                    .iter()
                    .filter(|it| !it.starts_with("--initial-cluster=")),
            );
            command.arg(format!("--initial-cluster={}", cluster.join(",")));
            let log = member.folder.join("stderr");
            processes.push(Process::new(Role::Log, &url(port), command, log));
        }
        let etcd = Etcd {
            program: program.to_owned(),
            urls: ports.map(url).collect(),
            tls,
        };
        Ok((etcd, processes))
    }

    /// Waits until the members have a leader; returns its position.
    pub fn leader(&self) -> io::Result<usize> {
        let begin = Instant::now();
        loop {
            if let Some(position) = self.present_leader()? {
                return Ok(position);
            }
            if begin.elapsed() > ELECTION_TIME_MAX {
                return Err(io::Error::other("etcd has no leader"));
            }
            thread::park_timeout(Duration::from_millis(100));
        }
    }

    fn present_leader(&self) -> io::Result<Option<usize>> {
        let mut command = Command::new(self.program.with_file_name("etcdctl"));
        command.arg(format!("--endpoints={}", self.urls.join(",")));
        command.arg(format!("--cacert={}", self.tls.authority.display()));
        command.arg(format!("--cert={}", self.tls.certificate.display()));
        command.arg(format!("--key={}", self.tls.key.display()));
        let output = command
            .args(["endpoint", "status", "--write-out=json"])
            .output()?;
        // A member that does not answer yet is left out.
        let status: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let members = status.as_array().cloned().unwrap_or_default();
        let leads = |it: &&serde_json::Value| {
            let status = &it["Status"];
            status["leader"].is_u64() && status["leader"] == status["header"]["member_id"]
        };
        let leader = members.iter().find(leads);
        let url = leader.and_then(|it| it["Endpoint"].as_str());
        Ok(url.and_then(|url| self.urls.iter().position(|it| it == url)))
    }
}

fn address(port: u16) -> Address {
    Address {
        listen: ([127, 0, 0, 1], port).into(),
        url: format!("https://127.0.0.1:{port}"),
    }
}

/// Writes the certificate of a new authority, and one of a member, into a folder.
fn certificates(folder: &Path) -> io::Result<TlsFiles> {
    let now = SystemTime::UNIX_EPOCH.elapsed().map_err(io::Error::other)?;
    let authority = Authority::found(ClusterId([1; 16]), now).map_err(io::Error::other)?;
    let address = "127.0.0.1:1".parse().map_err(io::Error::other)?;
    let issued = authority.issue(NodeId([1; 16]), &address, None, now);
    let issued = issued.map_err(io::Error::other)?;
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        fs::write(&path, text).map(|()| path)
    };
    Ok(TlsFiles {
        authority: write("authority.pem", authority.pem())?,
        certificate: write("certificate.pem", &issued.certificate)?,
        key: write("key.pem", &issued.key)?,
    })
}

/// The program: `PANDO_ETCD`, else what `make etcd` has made, else the one of `PATH`.
pub fn program() -> PathBuf {
    if let Some(path) = std::env::var_os("PANDO_ETCD") {
        return path.into();
    }
    let made = Path::new("target/etcd/etcd");
    match made.is_file() {
        true => std::path::absolute(made).unwrap_or_else(|_| made.to_owned()),
        false => "etcd".into(),
    }
}
