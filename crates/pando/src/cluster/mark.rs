//! The mark in a database that says which cluster it belongs to: the row `cluster`, with the 16
//! bytes of the cluster's identifier and 8 of its generation, most significant first.

use crate::report::Problem;
use ::cluster::identity::ClusterId;
use replica::recover::{self, Replayer};
use std::path::Path;
use store::Store;

/// Key of the row.
const KEY: &[u8] = b"cluster";

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

    /// Notes that the database belongs to a cluster, on the disk when this returns.
    pub fn mark(&self, cluster: ClusterId, generation: u64) -> Result<(), directory::Failure> {
        let replayer = Replayer::new(&self.0)?;
        let mut batch = self.0.begin(replayer.indexes())?;
        let mut row = cluster.0.to_vec();
        row.extend(generation.to_be_bytes());
        batch.put_meta(KEY, &row)?;
        Ok(batch.commit()?)
    }
}
