//! Generations that begin with an import: `pando import --new-generation` closes the log of a
//! stopped node's cluster and fills the node; when the node is served, its generation begins, and
//! the others take its state.
//!
//! Invariants:
//! - a write that any node acknowledged before is in the state that is imported into, and none is
//!   acknowledged between then and the beginning of the generation;
//! - the database that an import has changed follows no log of the former generation.

use super::folder::identity;
use super::mark::Unserved;
use super::node::{Joined, own_etcd, settings};
use crate::node_folder::data_folder;
use crate::report::{Problem, note};
use ::cluster::identity::{Etcd, Identity};
use ::cluster::log::{self, OpenFailure};
use ::cluster::recovery::{self, Cause};
use ::cluster::{succession, volatile};
use directory::Directory;
use replica::membership::ClusterMark;
use server::{Config, Overrides};
use std::path::Path;
use std::time::Duration;

/// Time in which the members of etcd that are needed must answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// The generation that an import begins.
pub struct NextGeneration {
    /// The mark of the imported database.
    pub mark: ClusterMark,
}

impl NextGeneration {
    /// Has a stopped node follow the log of its cluster to the end, and closes the log.
    pub fn prepare(dir: &Path) -> Result<NextGeneration, Problem> {
        let before = identity(dir)?;
        let data = data_folder(dir)?;
        if volatile::is_in_memory(dir) {
            return Err(Problem::failed(format_args!(
                "{}: expected a node with its data on a disk for --new-generation, and they are in \
                 memory: import into another node",
                dir.display()
            )));
        }
        // Its server is stopped, or this says so.
        drop(Unserved::open(dir, &data)?);
        let membership = &before.membership;
        let mark = ClusterMark {
            cluster: membership.cluster.0,
            generation: membership.generation + 1,
        };
        if !membership.imports {
            close(dir, mark.generation)?;
            before
                .note(|it| it.imports = true)
                .map_err(Problem::failed)?;
            note(format_args!(
                "this node has every write of its cluster, which takes no more until generation {} \
                 begins",
                mark.generation
            ));
        }
        Ok(NextGeneration { mark })
    }

    /// Says what to do after the import.
    pub fn tell_imported(&self, dir: &Path) {
        let (dir, generation) = (dir.display(), self.mark.generation);
        note(format_args!(
            "generation {generation} of the cluster begins with: pando serve {dir}\nthe other \
             nodes then take its state by themselves"
        ));
    }

    /// Says what to do after an import that changed nothing.
    pub fn tell_failed(&self, dir: &Path) {
        let dir = dir.display();
        note(format_args!(
            "pando: the nodes of the cluster take no writes: give the command again, or let the \
             cluster go on without the import by: pando serve {dir}"
        ));
    }
}

/// Takes part in the cluster as a served node does, but without clients, until this node has
/// executed the whole log and has closed it.
fn close(dir: &Path, generation: u64) -> Result<(), Problem> {
    let config = Config::load(dir, &Overrides::default()).and_then(Config::in_cluster);
    let config = config.map_err(Problem::usage)?;
    let mut options = config.directory_options();
    let Some(joined) = Joined::load(dir, &config)? else {
        return Err(Problem::failed("expected a node of a cluster"));
    };
    options.connect = Some(joined.connect(config.lanes()));
    let directory = Directory::open(&config.data_folder(), &options);
    let directory = directory.map_err(Problem::failed)?;
    let serving = joined.serve(&directory)?;
    let closed = succession::close(serving.log(), generation);
    directory.shutdown();
    drop(serving);
    closed.map_err(Problem::failed)
}

/// Ends what an import has left: if it has ended, its generation begins, else it is given up.
/// Returns the identity as it is then.
pub fn settle(dir: &Path, before: Identity, config: &Config) -> Result<Identity, Problem> {
    if !before.membership.imports {
        return Ok(before);
    }
    let database = Unserved::open(dir, &config.data_folder())?;
    let mark = database.reached().map_err(Problem::failed)?.mark;
    let next = before.membership.generation + 1;
    if mark.is_some_and(|it| it.generation == next) {
        if !recovery::has_begun(dir, next) {
            end_former(dir, &before, next, config)?;
        }
        let begun = recovery::begin(dir, &before, next, Cause::Import);
        begun.map_err(Problem::failed)?;
        note(format_args!("generation {next} of the cluster begins"));
    } else {
        let given_up = before.note(|it| it.imports = false);
        given_up.map_err(Problem::failed)?;
        note("the import has not ended: the cluster goes on without it");
    }
    identity(dir)
}

/// Notes in the former log that the generation begins, which needs most of its etcd.
fn end_former(dir: &Path, identity: &Identity, next: u64, config: &Config) -> Result<(), Problem> {
    let program = config.etcd_program();
    let etcd = match &identity.membership.etcd {
        Etcd::Managed(etcd) => Some(own_etcd(dir, identity, etcd, program.as_deref())?),
        Etcd::External(_) => None,
    };
    let member = etcd.as_ref().map(|it| it.member().clone());
    let settings = settings(identity, 0, member.as_ref()).map_err(Problem::failed)?;
    let ended = log::end(&settings, next, PATIENCE);
    drop(etcd);
    ended.map_err(|failure| match failure {
        given_up @ OpenFailure::Reopened(_) => Problem::failed(given_up),
        failure => Problem::failed(format_args!(
            "generation {next} cannot begin: {failure}; it needs most of the voters of the former \
             one: serve their nodes and this one again, or, if they are lost for good, give \
             `pando cluster recover {}`",
            dir.display()
        )),
    })
}

/// Makes a node one of the latest generation, if an import has begun that; its start then fetches a
/// copy of the state. Returns the identity as it is then.
pub fn take_latest(dir: &Path, before: Identity, config: &Config) -> Result<Identity, Problem> {
    let successor = recovery::require_newest(&before).map_err(Problem::failed)?;
    let Some(successor) = successor else {
        return Ok(before);
    };
    let data = config.data_folder();
    // While another process serves the node, its etcd is in use.
    let unserved = data.exists().then(|| Unserved::open(dir, &data));
    unserved.transpose()?;
    succession::follow(dir, &before, &successor).map_err(Problem::failed)?;
    note(format_args!(
        "an import has begun generation {} of the cluster: this node takes a copy of its state \
         from {}, and keeps its former state",
        successor.generation, successor.member.address
    ));
    identity(dir)
}

/// Whether another node belongs to a generation that an import has begun, which this node is to
/// follow.
pub fn has_successor(identity: &Identity) -> bool {
    // Nodes that joined since the start are in the file.
    let now = identity.reload().unwrap_or_else(|_| identity.clone());
    let successor = recovery::require_newest(&now).ok().flatten();
    if let Some(successor) = &successor {
        let (address, generation) = (&successor.member.address, successor.generation);
        tracing::warn!(
            %address,
            generation,
            "an import has begun another generation: this node is served anew with its state"
        );
    }
    successor.is_some()
}
