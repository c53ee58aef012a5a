//! Joining a cluster: a new node gets its identity from a node of the cluster, then a copy of the
//! database.
//!
//! Invariants:
//! - a folder is either untouched, or has a whole identity: from then on joining can be interrupted
//!   and goes on with the next call, without a token;
//! - a node has a folder `data` only when its copy is complete.

use crate::address::{Address, PORT};
use crate::authority::Authority;
use crate::command::{now, runtime};
use crate::external::{ETCD_CA_FILE, ETCD_FILE, ETCD_KEY_FILE, in_folder};
use crate::identity::{FOLDER, Founding, Identity, Member, Membership};
use crate::peer::{JoinAnswer, JoinEtcd, JoinRequest, Offer, PeerClient};
use crate::snapshot::{self, Source, Watch};
use crate::token::Token;
use crate::trouble::Trouble;
use replica::clock::{Clock, SystemClock};
use replica::commit_log::NodeId;
use replica::level;
use replica::membership::ClusterMark;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Name of a node's data folder in its folder.
const DATA: &str = "data";
/// Names that may be in the folder of a new node: what an interrupted call leaves before there is
/// an identity, and the node's settings.
const ALLOWED: &[&str] = &["cluster.partial", "pando.toml"];

/// Joining of a node, as an operator asks for it.
#[derive(Debug, Clone)]
pub struct JoinOptions {
    /// The new node's folder: missing, empty but for `pando.toml`, or with a joining that was
    /// interrupted.
    pub dir: PathBuf,
    /// A node of the cluster.
    pub from: Address,
    /// A token that this node has given out. Not used again if joining was interrupted.
    pub token: Token,
    /// Where other nodes will reach the new one; `None` for the address of this machine from which
    /// it reaches `from`, with the usual port.
    pub address: Option<Address>,
    /// Reason why this machine has no etcd that the node could run; `None` if it has one.
    pub without_etcd: Option<String>,
}

/// Gets an identity for a new node, or returns that of a joining that was interrupted.
///
/// # Errors
/// The folder is occupied, the node does not answer or refuses, or a file cannot be written. The
/// folder is untouched.
pub fn enter(options: &JoinOptions) -> Result<Identity, Trouble> {
    if let Some(identity) = interrupted(options)? {
        return Ok(identity);
    }
    let now = now();
    if options.token.is_expired(now) {
        return Err(Trouble::Refused(
            "the token is older than an hour, by the clock of this machine; make another with \
             `pando cluster token DIR`"
                .to_owned(),
        ));
    }
    let existed = options.dir.exists();
    // Before the token is used up, it must be sure that the folder can be written.
    store::private::create_folders(&options.dir).map_err(Trouble::file(&options.dir))?;
    let entered = runtime()?
        .block_on(ask(options))
        .and_then(|asked| found(options, asked, now));
    if entered.is_err() && !existed {
        // It holds nothing.
        let _ = fs::remove_dir(&options.dir);
    }
    entered
}

/// A copy of the database that a node wants.
#[derive(Debug, Clone)]
pub struct WantedCopy {
    /// The folder for it.
    pub data: PathBuf,
    /// Place of the log up to which the copy must have all records; 0 for any copy.
    pub place: u64,
}

impl WantedCopy {
    /// Any copy, for the folder of the data of the node in `dir`.
    pub fn first(dir: &Path) -> WantedCopy {
        WantedCopy {
            data: dir.join(DATA),
            place: 0,
        }
    }
}

/// Fetches the copy of the database for the node in `dir`, which has its identity. `from` is asked
/// first, then the other nodes that the identity knows.
///
/// # Errors
/// No node has a copy, there is too little room, or a file cannot be written. What was fetched
/// stays for the next call.
pub fn fill(
    dir: &Path,
    from: &Address,
    wanted: &WantedCopy,
    watch: &Watch,
) -> Result<Offer, Trouble> {
    let identity = Identity::load(dir)?.ok_or_else(|| {
        Trouble::Refused(format!(
            "{}: expected a node that has joined",
            dir.display()
        ))
    })?;
    let mut addresses = vec![from.clone()];
    for peer in &identity.membership.peers {
        if !addresses.contains(&peer.address) {
            addresses.push(peer.address.clone());
        }
    }
    let clients = addresses
        .into_iter()
        .map(|it| PeerClient::new(&identity, it));
    let clients: Vec<PeerClient> = clients.collect::<Result<_, _>>()?;
    let source = Source {
        peers: &clients,
        place: wanted.place,
        mark: ClusterMark {
            cluster: identity.membership.cluster.0,
            generation: identity.membership.generation,
        },
    };
    runtime()?.block_on(snapshot::fetch(source, &wanted.data, watch))
}

/// The identity of a joining that was interrupted; `None` if the folder is free for a new one.
fn interrupted(options: &JoinOptions) -> Result<Option<Identity>, Trouble> {
    let dir = &options.dir;
    let names = match fs::read_dir(dir) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        entries => entries.map_err(Trouble::file(dir))?,
    };
    let names: Result<Vec<_>, _> = names.map(|it| it.map(|it| it.file_name())).collect();
    let names = names.map_err(Trouble::file(dir))?;
    let has = |name: &str| names.iter().any(|it| it == name);
    if has(FOLDER) && !has(DATA) {
        let identity = Identity::load(dir)?;
        if let Some(identity) = &identity
            && identity.root()?.fingerprint() != options.token.fingerprint
        {
            return Err(Trouble::Refused(format!(
                "{} has begun to join another cluster than that of the token; choose a new folder",
                dir.display()
            )));
        }
        return Ok(identity);
    }
    match names
        .iter()
        .all(|name| ALLOWED.iter().any(|it| name == *it))
    {
        true => Ok(None),
        false => Err(Trouble::Refused(format!(
            "{} exists and is not empty; choose a new or an empty folder",
            dir.display()
        ))),
    }
}

/// A node's answer, and what it was asked for.
struct Asked {
    node: NodeId,
    address: Address,
    answer: JoinAnswer,
}

async fn ask(options: &JoinOptions) -> Result<Asked, Trouble> {
    let token = &options.token;
    let client = PeerClient::pinned(token.fingerprint, options.from.clone())?;
    let mut link = client.connect().await?;
    let address = options.address.clone().unwrap_or_else(|| Address {
        host: link.local().to_string(),
        port: PORT,
    });
    let node = NodeId(SystemClock.uuid());
    let request = JoinRequest {
        secret: token.secret.reveal(),
        node,
        address: address.clone(),
        format_max: level::highest(),
        without_etcd: options.without_etcd.clone(),
    };
    let answer = link.post("/join", &request).await?;
    Ok(Asked {
        node,
        address,
        answer,
    })
}

/// Makes the folder `cluster` from an answer.
fn found(options: &JoinOptions, asked: Asked, now: Duration) -> Result<Identity, Trouble> {
    let Asked {
        node,
        address,
        answer,
    } = asked;
    let authority = Authority::load(answer.cluster, &answer.ca, &answer.ca_key)?;
    let mut files = Vec::new();
    let etcd = match answer.etcd {
        JoinEtcd::Managed { urls } if urls.is_empty() => {
            return Err(Trouble::Refused(format!(
                "{}: the node names no etcd; is it served by this version of pando?",
                options.from
            )));
        }
        JoinEtcd::Managed { urls } => Membership::managed_etcd(node, &address, urls),
        JoinEtcd::External {
            urls,
            ca,
            certificate,
            key,
        } => {
            files.push((ETCD_CA_FILE, ca));
            files.push((ETCD_FILE, certificate));
            files.push((ETCD_KEY_FILE, key));
            in_folder(urls)
        }
    };
    let mut peers = answer.members;
    peers.retain(|it: &Member| it.node != node);
    let founding = Founding {
        membership: Membership {
            generation: answer.generation,
            peers,
            replaces: answer.replaces,
            ..Membership::new(answer.cluster, node, address, etcd)
        },
        authority: &authority,
        files,
        now,
    };
    Identity::create(&options.dir, founding, || Ok(()))
}
