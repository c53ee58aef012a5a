//! Founding a cluster: a node becomes the first of a new one.

use crate::address::Address;
use crate::authority::Authority;
use crate::command::now;
use crate::external::{self, ETCD_CA_FILE, ETCD_FILE, ETCD_KEY_FILE, OperatorsEtcd, in_folder};
use crate::identity::{ClusterId, Founding, Identity, Membership};
use crate::token::{Outstanding, Token};
use crate::trouble::Trouble;
use replica::clock::{Clock, SystemClock};
use replica::commit_log::NodeId;
use std::fs;
use std::path::PathBuf;

/// A new cluster, as an operator asks for it.
#[derive(Debug, Clone)]
pub struct InitOptions {
    /// The node's folder.
    pub dir: PathBuf,
    /// Where other nodes will reach it.
    pub address: Address,
    /// The etcd to use; `None` if the nodes run one themselves.
    pub etcd: Option<OperatorsEtcd>,
}

/// Makes the identity of the first node of a new cluster. `mark` is called with the cluster and its
/// generation before the identity is in place, to note in the database that it belongs to them.
///
/// # Errors
/// The node belongs to a cluster already, etcd does not answer or is older than 3.6, or a file
/// cannot be read or written; the error of `mark`. There is no identity then.
pub fn found(
    options: &InitOptions,
    mark: impl FnOnce(ClusterId, u64) -> Result<(), Trouble>,
) -> Result<Identity, Trouble> {
    refuse_second(options)?;
    let (cluster, node) = (ClusterId(SystemClock.uuid()), NodeId(SystemClock.uuid()));
    let now = now();
    let authority = Authority::found(cluster, now)?;
    let mut files = Vec::new();
    let etcd = match &options.etcd {
        None => Membership::managed_etcd(node, &options.address, Vec::new()),
        Some(etcd) => {
            let named = [
                (ETCD_CA_FILE, &etcd.ca),
                (ETCD_FILE, &etcd.certificate),
                (ETCD_KEY_FILE, &etcd.key),
            ];
            for (name, path) in named {
                let text = fs::read_to_string(path).map_err(Trouble::file(path))?;
                files.push((name, text));
            }
            external::require_version(etcd)?;
            in_folder(etcd.urls.clone())
        }
    };
    let membership = Membership {
        begins: true,
        ..Membership::new(cluster, node, options.address.clone(), etcd)
    };
    let generation = membership.generation;
    let founding = Founding {
        membership,
        authority: &authority,
        files,
        now,
    };
    Identity::create(&options.dir, founding, || mark(cluster, generation))
}

/// Makes a token with which one node can join the cluster of this one.
///
/// # Errors
/// A file of the identity cannot be read or written.
pub fn token(identity: &Identity) -> Result<Token, Trouble> {
    let now = now();
    let token = Token::new(identity.root()?.fingerprint(), now);
    Outstanding::of(identity).add(&token, now)?;
    Ok(token)
}

/// Refuses a node that belongs to a cluster.
fn refuse_second(options: &InitOptions) -> Result<(), Trouble> {
    match Identity::folder_of(&options.dir).exists() {
        false => Ok(()),
        true => Err(Trouble::Refused(format!(
            "{} belongs to a cluster already; let others join with a token of \
             `pando cluster token {}`",
            options.dir.display(),
            options.dir.display()
        ))),
    }
}
