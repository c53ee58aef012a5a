//! `pando cluster`: makes nodes of a cluster, takes them out, and shows their state.

mod departure;
mod ending;
mod facts;
mod folder;
mod generation;
mod join;
mod mark;
mod moving;
mod node;
mod recover;
mod served;
mod status;
mod witnessing;

pub use ending::Ending;
pub use generation::NextGeneration;
pub use join::enter;
pub use node::{Joined, Serving};

use crate::cli::{ClusterAction, ClusterInit};
use crate::node_folder::data_folder;
use crate::report::{Problem, note, say};
use ::cluster::Trouble;
use ::cluster::external::OperatorsEtcd;
use ::cluster::identity::Identity;
use ::cluster::init::{self, InitOptions};
use ::cluster::upgrade;
use folder::{address, identity};
use mark::Unserved;
use moving::Moving;
use std::path::Path;

/// Carries an action out.
pub fn cluster(action: &ClusterAction) -> Result<(), Problem> {
    match action {
        ClusterAction::Init(it) => found(it),
        ClusterAction::Token { dir } => token(dir),
        ClusterAction::Join(it) => join::join(it),
        ClusterAction::Status(it) => status::status(it),
        ClusterAction::Leave(it) => departure::leave(it),
        ClusterAction::Remove(it) => departure::remove(it),
        ClusterAction::Recover(it) => recover::recover(it),
        ClusterAction::Upgrade(it) => upgrade(&it.dir),
    }
}

/// Makes a stopped node the first of a new cluster, and says how others join.
fn found(it: &ClusterInit) -> Result<(), Problem> {
    let identity = make_first(it)?;
    let token = init::token(&identity).map_err(Problem::failed)?;
    note(format_args!(
        "{} is the first node of a cluster, at {}\nstart it with: pando serve {}\n\
         then, within an hour and on another machine:",
        it.dir.display(),
        identity.membership.address,
        it.dir.display()
    ));
    say(join_line(&identity, &token.to_string()))?;
    note(format_args!(
        "for each further node: pando cluster token {}",
        it.dir.display()
    ));
    Ok(())
}

/// Makes a stopped node the first of a new cluster.
pub fn make_first(it: &ClusterInit) -> Result<Identity, Problem> {
    let options = InitOptions {
        dir: it.dir.clone(),
        address: address("--address", &it.address)?,
        etcd: etcd(it),
    };
    let data = data_folder(&it.dir)?;
    if options.etcd.is_none() {
        folder::etcd_program(&it.dir)?.map_err(Problem::failed)?;
    }
    let moving = Moving::read(&it.dir)?;
    let database = Unserved::open(&it.dir, &data)?;
    let identity = init::found(&options, |cluster, generation| {
        // The directory is opened for the settings, and then once more without being served.
        drop(database);
        let put = moving.put_into_directory();
        put.map_err(|it| Trouble::Refused(it.text().to_owned()))?;
        let database = Unserved::open(&it.dir, &data);
        let database = database.map_err(|it| Trouble::Refused(it.text().to_owned()))?;
        let marked = database.mark(cluster, generation);
        marked.map_err(|failure| Trouble::Refused(failure.to_string()))
    });
    let identity = identity.map_err(Problem::failed)?;
    moving.take_out_of_file()?;
    Ok(identity)
}

/// Prints the command with which a new node joins.
fn token(dir: &Path) -> Result<(), Problem> {
    let identity = identity(dir)?;
    let token = init::token(&identity).map_err(Problem::failed)?;
    note("on a new machine, within an hour, while this node is served:");
    say(join_line(&identity, &token.to_string()))
}

/// Raises the format level of the cluster of a served node.
fn upgrade(dir: &Path) -> Result<(), Problem> {
    let level = upgrade::upgrade(&identity(dir)?).map_err(Problem::failed)?;
    note(format_args!(
        "the cluster has format level {level}; older programs can follow it no more"
    ));
    Ok(())
}

fn join_line(identity: &Identity, token: &str) -> String {
    let from = &identity.membership.address;
    format!("pando cluster join DIR --from {from} --token {token}")
}

fn etcd(it: &ClusterInit) -> Option<OperatorsEtcd> {
    if it.etcd.is_empty() {
        return None;
    }
    Some(OperatorsEtcd {
        urls: it.etcd.clone(),
        ca: it.etcd_ca.clone()?,
        certificate: it.etcd_cert.clone()?,
        key: it.etcd_key.clone()?,
    })
}
