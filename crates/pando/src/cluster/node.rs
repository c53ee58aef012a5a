//! A served node's part in its cluster: its etcd, its commit log, and its service for other nodes.

use crate::report::Problem;
use ::cluster::etcd::{
    Address as EtcdAddress, EtcdProgram, Member as EtcdMember, OwnVoter, Pace, Start, TlsFiles,
    client,
};
use ::cluster::identity::{Etcd, Identity, ManagedEtcd, Member, Membership};
use ::cluster::log::{EtcdLog, EtcdLogSettings, LogTls, NodeAbout, found};
use ::cluster::peer::{NodeStatus, PeerNode, Service, listen};
use directory::{Clock, Connect, Directory, Failure, SystemClock};
use replica::commit_log::CommitLog;
use std::io::PipeWriter;
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Format level of the records that this program writes and executes.
const FORMAT_LEVEL: u32 = 1;
/// Time for the first start of a cluster's etcd.
const FOUNDING: Duration = Duration::from_secs(60);
/// Time for which records are kept for a node that copies the database.
const HELD: Duration = Duration::from_secs(3_600);

/// A node that belongs to a cluster and is not served yet.
pub struct Joined {
    identity: Arc<Identity>,
    /// The etcd that this node runs; `None` if others run it.
    etcd: Option<OwnVoter>,
    log: Arc<OnceLock<Arc<EtcdLog>>>,
}

/// A served node's part in its cluster. Dropping it ends the service for other nodes, then etcd.
pub struct Serving {
    _service: Service,
    _etcd: Option<OwnVoter>,
}

impl Joined {
    /// Reads the identity of the node in `dir`, and starts its etcd; `None` if the node belongs to
    /// no cluster.
    pub fn load(dir: &Path) -> Result<Option<Joined>, Problem> {
        let Some(identity) = Identity::load(dir).map_err(Problem::failed)? else {
            return Ok(None);
        };
        let now = Duration::from_micros(SystemClock.now_us());
        identity.renew(now).map_err(Problem::failed)?;
        let etcd = match &identity.membership.etcd {
            Etcd::Managed(etcd) => own_etcd(dir, &identity, etcd)?,
            Etcd::External(_) => None,
        };
        Ok(Some(Joined {
            identity: Arc::new(identity),
            etcd,
            log: Arc::default(),
        }))
    }

    /// The way to the cluster's log, for the directory.
    pub fn connect(&self) -> Connect {
        let (identity, opened) = (Arc::clone(&self.identity), Arc::clone(&self.log));
        let own = self.etcd.as_ref().map(|it| it.member().clone());
        Arc::new(move |place| {
            let settings = settings(&identity, place)?;
            let Membership {
                generation, peers, ..
            } = &identity.membership;
            // Only the node of `init` begins the log: a node that joined finds it or fails.
            if place == 0 && *generation == 1 && peers.is_empty() {
                if let Some(member) = &own {
                    client::wait_until_ready(member, FOUNDING).map_err(failure)?;
                }
                found(&settings, FORMAT_LEVEL).map_err(failure)?;
            }
            let log = Arc::new(EtcdLog::open(settings).map_err(failure)?);
            // The directory connects once.
            let _ = opened.set(Arc::clone(&log));
            Ok(log as Arc<dyn CommitLog>)
        })
    }

    /// Starts the service for other nodes.
    pub fn serve(self, directory: &Directory) -> Result<Serving, Problem> {
        let log = self.log.get().expect("the directory has connected");
        let node = Arc::new(ServedNode {
            identity: Arc::clone(&self.identity),
            directory: directory.clone(),
            log: Arc::clone(log),
        });
        listen(&self.identity).map_err(Problem::failed)?;
        let service = Service::start(&self.identity, node).map_err(Problem::failed)?;
        Ok(Serving {
            _service: service,
            _etcd: self.etcd,
        })
    }
}

/// The member of etcd that this node runs: that of the node which began the cluster.
fn own_etcd(
    dir: &Path,
    identity: &Identity,
    etcd: &ManagedEtcd,
) -> Result<Option<OwnVoter>, Problem> {
    if !runs_etcd(identity, etcd) {
        return Ok(None);
    }
    let files = identity.etcd_files();
    let absolute = |path: &Path| std::path::absolute(path).map_err(|it| Problem::file(path, it));
    let member = EtcdMember {
        name: etcd.name.clone(),
        folder: absolute(&dir.join("etcd"))?,
        client: etcd_address(&etcd.client_url)?,
        peer: etcd_address(&etcd.peer_url)?,
        token: identity.membership.cluster.to_string(),
        start: Start::New,
        tls: TlsFiles {
            authority: absolute(&files.authority)?,
            certificate: absolute(&files.certificate)?,
            key: absolute(&files.key)?,
        },
        pace: Pace::default(),
    };
    let program = EtcdProgram::find(None).map_err(Problem::failed)?;
    let voter = OwnVoter::open(program, member).map_err(Problem::failed)?;
    Ok(Some(voter))
}

/// Whether this node runs the cluster's etcd: the node that began the cluster does.
fn runs_etcd(identity: &Identity, etcd: &ManagedEtcd) -> bool {
    etcd.others.is_empty() && identity.membership.peers.is_empty()
}

/// Where a URL's host and port are on this machine.
fn etcd_address(url: &str) -> Result<EtcdAddress, Problem> {
    let place = url.trim_start_matches("https://");
    let resolved = place.to_socket_addrs().map(|mut it| it.next());
    let listen: Option<SocketAddr> = resolved.map_err(|error| {
        Problem::failed(format_args!("{url}: the host has no address: {error}"))
    })?;
    Ok(EtcdAddress {
        listen: listen.ok_or_else(|| {
            Problem::failed(format_args!(
                "{url}: expected a host with an address, got none"
            ))
        })?,
        url: url.to_owned(),
    })
}

/// The settings of the log of a node that has executed it up to `place`.
fn settings(identity: &Identity, place: u64) -> Result<EtcdLogSettings, Failure> {
    let membership = &identity.membership;
    let (urls, own_url) = match &membership.etcd {
        Etcd::Managed(etcd) if runs_etcd(identity, etcd) => {
            (vec![etcd.client_url.clone()], etcd.client_url.clone())
        }
        Etcd::Managed(etcd) => (etcd.others.clone(), String::new()),
        Etcd::External(etcd) => (etcd.urls.clone(), String::new()),
    };
    let files = identity.etcd_files();
    let read = |path: &Path| {
        let text = std::fs::read_to_string(path);
        text.map_err(|error| Failure::file(path.display().to_string(), error))
    };
    let mut settings = EtcdLogSettings::new(urls, membership.cluster.0, membership.node);
    settings.tls = Some(LogTls {
        authority: read(&files.authority)?,
        certificate: read(&files.certificate)?,
        key: read(&files.key)?,
    });
    settings.about = NodeAbout {
        address: membership.address.to_string(),
        etcd_url: own_url,
        format_min: FORMAT_LEVEL,
        format_max: FORMAT_LEVEL,
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    settings.from = place;
    Ok(settings)
}

fn failure(error: impl std::fmt::Display) -> Failure {
    Failure::Configuration(error.to_string())
}

/// The served node, as its service for other nodes sees it.
struct ServedNode {
    identity: Arc<Identity>,
    directory: Directory,
    log: Arc<EtcdLog>,
}

impl PeerNode for ServedNode {
    fn status(&self) -> NodeStatus {
        let membership = &self.identity.membership;
        let view = self.log.members();
        let own = view.members.iter().find(|it| it.id == membership.node);
        let standing = own.and_then(|it| it.standing).unwrap_or_default();
        let status = self.directory.status().ok();
        let differing = self.log.differences();
        let trouble = self.log.health().trouble.or_else(|| {
            let first = differing.first()?;
            Some(format!("nodes differ at position {}", first.position))
        });
        NodeStatus {
            node: membership.node,
            address: membership.address.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            generation: membership.generation,
            head: view.head,
            place: standing.place,
            synced_place: standing.synced_place,
            position: status.map_or(0, |it| it.position),
            digest_position: standing.digest.0,
            digest: format!("{:032x}", standing.digest.1),
            record_time_us: standing.time_us,
            clock_us: SystemClock.now_us(),
            trouble,
            members: self.members(),
        }
    }

    fn members(&self) -> Vec<Member> {
        let view = self.log.members();
        let known = view.members.iter().filter(|it| !it.is_removed);
        let member = |it: &::cluster::log::Member| {
            Some(Member {
                node: it.id,
                address: it.about.address.parse().ok()?,
            })
        };
        let mut members: Vec<Member> = known.filter_map(member).collect();
        // The log may not have told yet what it was told at the start.
        let own = self.identity.membership.own();
        if members.iter().all(|it| it.node != own.node) {
            members.push(own);
        }
        members
    }

    fn etcd_urls(&self) -> Vec<String> {
        match &self.identity.membership.etcd {
            Etcd::Managed(etcd) if runs_etcd(&self.identity, etcd) => {
                vec![etcd.client_url.clone()]
            }
            Etcd::Managed(etcd) => etcd.others.clone(),
            Etcd::External(_) => Vec::new(),
        }
    }

    fn copy_bytes_max(&self) -> Result<u64, String> {
        self.directory.bytes().map_err(|it| it.to_string())
    }

    fn write_copy(&self, output: PipeWriter) -> Result<(), String> {
        // What this node has executed is in the copy: the records behind it are kept until the new
        // node has them.
        let own = self.identity.membership.node;
        let place = self.status().synced_place;
        let held = self.log.hold(own, place, HELD);
        held.map_err(|it| it.to_string())?;
        let copied = self.directory.copy_to(output.as_fd());
        copied.map_err(|it| it.to_string())
    }
}
