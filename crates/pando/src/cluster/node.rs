//! A served node's part in its cluster: its etcd, its commit log, and its service for other nodes.

use super::ending::{Ending, Endings};
use super::facts::Part;
use super::generation;
use super::join;
use super::served::ServedNode;
use super::witnessing::OtherNodes;
use crate::report::Problem;
use ::cluster::Trouble;
use ::cluster::etcd::{
    Address as EtcdAddress, EtcdProgram, Member as EtcdMember, OwnVoter, Pace, Start, TlsFiles,
    client,
};
use ::cluster::identity::{Etcd, Identity, ManagedEtcd};
use ::cluster::log::{EtcdLog, EtcdLogSettings, LogTls, NodeAbout, found};
use ::cluster::peer::Service;
use ::cluster::rejoin;
use ::cluster::volatile::{self, InMemory};
use ::cluster::voting::Voting;
use directory::{Clock, Connect, Directory, Failure, SystemClock};
use replica::commit_log::{CommitLog, LogFailure};
use replica::level;
use replica::membership::ClusterMark;
use server::Config;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Time for the first start of a cluster's etcd.
const FOUNDING: Duration = Duration::from_secs(60);

/// Looks whether a node that cannot append has to end, one a second, until it asks the other nodes
/// whether an import has begun another generation.
const LOOKS_FOR_SUCCESSOR: u64 = 3;

/// A node that belongs to a cluster and is not served yet.
pub struct Joined {
    identity: Arc<Identity>,
    /// This node's member of etcd, which may not exist; `None` if an operator runs etcd.
    etcd: Option<OwnVoter>,
    log: Arc<OnceLock<Arc<EtcdLog>>>,
    /// The folder of data in memory; `None` if they are on a disk.
    memory: Option<InMemory>,
}

/// A served node's part in its cluster. Dropping it ends the service for other nodes, then etcd.
pub struct Serving {
    _service: Service,
    _voting: Arc<Voting>,
    endings: Arc<Endings>,
    identity: Arc<Identity>,
    log: Arc<EtcdLog>,
    /// No other process uses the data as long as this lives.
    _memory: Option<InMemory>,
}

impl Serving {
    /// Tells when the server is to end.
    pub fn endings(&self) -> Arc<Endings> {
        Arc::clone(&self.endings)
    }

    /// A look whether the server has to end: the node needs a copy of another node's state, which
    /// is noted for the next start or found out there, a new registration, or a newer program.
    pub fn look(&self) -> impl FnMut() -> Option<Ending> + Send + 'static {
        let (identity, log) = (Arc::clone(&self.identity), Arc::clone(&self.log));
        let mut looks = 0_u64;
        move || {
            match log.failure() {
                Some(LogFailure::Level(unknown)) => return Some(Ending::Outdated(unknown)),
                Some(failure) if rejoin::note(&identity, &failure) => {
                    return Some(Ending::NeedsCopy);
                }
                _ => {}
            }
            if log.is_reopened() {
                tracing::info!("the import was given up: this node is served anew, and writes");
                return Some(Ending::Reopened);
            }
            // No other generation can have begun while this one takes writes.
            log.health().trouble?;
            looks += 1;
            let is_due = looks.is_multiple_of(LOOKS_FOR_SUCCESSOR);
            (is_due && generation::has_successor(&identity)).then_some(Ending::NeedsCopy)
        }
    }

    /// The log of the node's cluster.
    pub(super) fn log(&self) -> &EtcdLog {
        &self.log
    }
}

impl Joined {
    /// Reads the identity of the node in `dir`, and starts its etcd if it has a member; `None` if
    /// the node belongs to no cluster.
    pub fn load(dir: &Path, config: &Config) -> Result<Option<Joined>, Problem> {
        let Some(mut identity) = Identity::load(dir).map_err(Problem::failed)? else {
            return Ok(None);
        };
        if identity.membership.left {
            let dir = dir.display();
            return Err(Problem::failed(format_args!(
                "{dir} has left its cluster and is not served any more: write its entries with \
                 `pando export {dir}` if you want them, then delete the folder; a new folder can \
                 join with `pando cluster join`"
            )));
        }
        identity = generation::settle(dir, identity, config)?;
        identity = generation::take_latest(dir, identity, config)?;
        let now = Duration::from_micros(SystemClock.now_us());
        identity.renew(now).map_err(Problem::failed)?;
        let returns = rejoin::note_return_to_disk(dir, &identity, config.volatile_folder());
        if returns.map_err(Problem::failed)?
            && let Some(noted) = Identity::load(dir).map_err(Problem::failed)?
        {
            identity = noted;
        }
        let memory = config.volatile_folder();
        let memory = memory.map(|it| volatile::begin(dir, &identity, &it));
        let memory = memory.transpose().map_err(Problem::failed)?;
        let program = config.etcd_program();
        let etcd = match &identity.membership.etcd {
            Etcd::Managed(etcd) => Some(own_etcd(dir, &identity, etcd, program.as_deref())?),
            Etcd::External(_) => None,
        };
        if let Some(memory) = &memory {
            fill_memory(dir, &identity, memory)?;
        } else if let Some(copying) = rejoin::begin(dir, &identity).map_err(Problem::failed)? {
            join::refill(dir, &copying.from, &copying.wanted())?;
            copying.end().map_err(Problem::failed)?;
        }
        Ok(Some(Joined {
            identity: Arc::new(identity),
            etcd,
            log: Arc::default(),
            memory,
        }))
    }

    /// The way to the cluster's log over so many lanes, for the directory.
    pub fn connect(&self, lanes: u8) -> Connect {
        let (identity, opened) = (Arc::clone(&self.identity), Arc::clone(&self.log));
        let own = self.etcd.as_ref().map(|it| it.member().clone());
        let is_volatile = self.memory.is_some();
        Arc::new(move |reached| {
            require_mark(&identity, reached.mark)?;
            let mut settings = settings(&identity, reached.place, own.as_ref())?;
            settings.lanes = lanes;
            settings.processes = begin_process(&identity).map_err(failure)?;
            settings.about.volatile = is_volatile;
            if identity.membership.begins {
                if let Some(member) = &own {
                    client::wait_until_ready(member, FOUNDING).map_err(failure)?;
                }
                found(&settings, reached.level).map_err(failure)?;
                let begun = identity.note(|it| it.begins = false);
                begun.map_err(failure)?;
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
        let voting = Voting::start(Arc::clone(&self.identity), Arc::clone(log), self.etcd);
        let voting = Arc::new(voting.map_err(Problem::failed)?);
        let part = Part {
            identity: Arc::clone(&self.identity),
            log: Arc::downgrade(log),
            voting: Arc::downgrade(&voting),
        };
        directory.set_shown(Box::new(move || part.entries()));
        let others = OtherNodes::start(&self.identity, Arc::downgrade(log));
        directory.set_witnesses(Arc::new(others.map_err(Problem::failed)?));
        let endings = Arc::default();
        let node = Arc::new(ServedNode {
            identity: Arc::clone(&self.identity),
            directory: directory.clone(),
            log: Arc::clone(log),
            voting: Arc::clone(&voting),
            endings: Arc::clone(&endings),
            is_volatile: self.memory.is_some(),
        });
        let service = Service::start(&self.identity, node).map_err(Problem::failed)?;
        Ok(Serving {
            _service: service,
            _voting: voting,
            endings,
            identity: self.identity,
            log: Arc::clone(log),
            _memory: self.memory,
        })
    }
}

/// Refuses a database of another cluster or generation than the folder `cluster` beside it: a
/// backup that was put there.
fn require_mark(identity: &Identity, found: Option<ClusterMark>) -> Result<(), Failure> {
    let membership = &identity.membership;
    let (cluster, generation) = (membership.cluster.0, membership.generation);
    let found = match found {
        Some(it) if it.cluster == cluster && it.generation == generation => return Ok(()),
        Some(it) if it.cluster == cluster => format!("one of generation {}", it.generation),
        Some(_) => "one of another cluster".to_owned(),
        None => "one of no cluster".to_owned(),
    };
    Err(Failure::Configuration(format!(
        "expected a database of generation {generation} of the cluster beside {}, got {found}: \
         join with a new folder (pando cluster join), or give a restored backup to `pando cluster \
         init` in a folder of its own",
        identity.folder.display()
    )))
}

/// Notes a name for this process; returns all names by which the log may know this folder.
fn begin_process(identity: &Identity) -> Result<Vec<String>, Trouble> {
    let name = format!("{:032x}", u128::from_be_bytes(SystemClock.uuid()));
    let mut names = Vec::new();
    identity.note(|membership| {
        membership.processes.begin(name);
        names.clone_from(&membership.processes.names);
    })?;
    Ok(names)
}

/// Fetches the data of a node into memory.
fn fill_memory(dir: &Path, identity: &Identity, memory: &InMemory) -> Result<(), Problem> {
    let peer = identity.membership.peers.first().ok_or_else(|| {
        Problem::failed("cluster.volatile: expected another node to copy from, got none")
    })?;
    join::fill(dir, &peer.address, &memory.wanted())?;
    memory.take_place().map_err(Problem::failed)
}

/// This node's member of etcd: started if it exists, or if the node is to begin the cluster.
pub(super) fn own_etcd(
    dir: &Path,
    identity: &Identity,
    etcd: &ManagedEtcd,
    program: Option<&Path>,
) -> Result<OwnVoter, Problem> {
    let files = identity.etcd_files();
    let absolute = |path: &Path| std::path::absolute(path).map_err(|it| Problem::file(path, it));
    let member = EtcdMember {
        name: etcd.name.clone(),
        folder: absolute(&dir.join("etcd"))?,
        client: etcd_address(&etcd.client_url)?,
        peer: etcd_address(&etcd.peer_url)?,
        token: identity.membership.etcd_token(),
        start: match identity.membership.begins {
            true => Start::New,
            // The voters are asked for when the member is added.
            false => Start::Existing(Vec::new()),
        },
        tls: TlsFiles {
            authority: absolute(&files.authority)?,
            certificate: absolute(&files.certificate)?,
            key: absolute(&files.key)?,
        },
        pace: Pace::default(),
    };
    let program = EtcdProgram::find(program).map_err(Problem::failed)?;
    OwnVoter::open(program, member).map_err(Problem::failed)
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

/// The settings of the log of a node that has executed it up to `place`, with its member of etcd.
pub(super) fn settings(
    identity: &Identity,
    place: u64,
    own: Option<&EtcdMember>,
) -> Result<EtcdLogSettings, Failure> {
    let membership = &identity.membership;
    let urls = match &membership.etcd {
        Etcd::Managed(etcd) => {
            let mut urls = etcd.others.clone();
            if urls.is_empty() || own.is_some_and(EtcdMember::has_data) {
                urls.insert(0, etcd.client_url.clone());
            }
            urls
        }
        Etcd::External(etcd) => etcd.urls.clone(),
    };
    let url = |of: fn(&EtcdMember) -> &str| own.map(of).unwrap_or_default().to_owned();
    let files = identity.etcd_files();
    let read = |path: &Path| {
        let text = std::fs::read_to_string(path);
        text.map_err(|error| Failure::file(path.display().to_string(), error))
    };
    let mut settings = EtcdLogSettings::new(urls, membership.log(), membership.node);
    settings.tls = Some(LogTls {
        authority: read(&files.authority)?,
        certificate: read(&files.certificate)?,
        key: read(&files.key)?,
    });
    settings.about = NodeAbout {
        address: membership.address.to_string(),
        etcd_url: url(|it| &it.client.url),
        etcd_peer_url: url(|it| &it.peer.url),
        format_min: level::LOWEST,
        format_max: level::highest(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        volatile: false,
    };
    settings.from = place;
    Ok(settings)
}

fn failure(error: impl std::fmt::Display) -> Failure {
    Failure::Configuration(error.to_string())
}
