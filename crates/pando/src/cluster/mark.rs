//! The database of a stopped node, kept from being served while it becomes part of a cluster.

use crate::report::Problem;
use ::cluster::identity::ClusterId;
use replica::membership::{self, ClusterMark, Reached};
use replica::recover;
use std::path::Path;
use store::Store;

/// A database that no process serves, and none can as long as this lives.
pub struct Unserved(Store);

impl Unserved {
    /// Opens the database of a stopped node; `dir` is its folder, for messages.
    pub fn open(dir: &Path, data: &Path) -> Result<Unserved, Problem> {
        match recover::open_store(data) {
            Ok((store, _)) => Ok(Unserved(store)),
            Err(directory::Failure::Store(store::Error::Locked { .. })) => {
                let dir = dir.display();
                Err(Problem::failed(format_args!(
                    "{dir} is in use; stop its server, then give the command again"
                )))
            }
            Err(failure) => Err(Problem::failed(failure)),
        }
    }

    /// How far the database has followed the log of its cluster.
    pub fn reached(&self) -> Result<Reached, directory::Failure> {
        membership::reached(&self.0)
    }

    /// Notes that the database belongs to a cluster, on the disk when this returns.
    pub fn mark(&self, cluster: ClusterId, generation: u64) -> Result<(), directory::Failure> {
        let membership = ClusterMark {
            cluster: cluster.0,
            generation,
        };
        membership::put(&self.0, &membership)
    }
}
