//! `pando cluster leave` and `pando cluster remove`: nodes that go out of a cluster.

use super::folder::identity;
use crate::cli::{ClusterLeave, ClusterRemove};
use crate::report::{Problem, note};
use ::cluster::leave::{self, LeaveOptions};

/// Takes the node of a folder out of its cluster.
pub fn leave(it: &ClusterLeave) -> Result<(), Problem> {
    let identity = identity(&it.dir)?;
    let options = LeaveOptions {
        dir: &it.dir,
        lose_quorum: it.lose_quorum,
    };
    leave::leave(&identity, &options, &|waiting| note(waiting)).map_err(Problem::failed)?;
    let dir = it.dir.display();
    note(format_args!(
        "{dir} has left the cluster, and is not served any more: delete the folder, or keep it as \
         a copy of today (pando export {dir})"
    ));
    Ok(())
}

/// Takes a dead node out of a cluster.
pub fn remove(it: &ClusterRemove) -> Result<(), Problem> {
    let identity = identity(&it.dir)?;
    let removed = leave::remove(&identity, &it.node, it.lose_quorum);
    let removed = removed.map_err(Problem::failed)?;
    note(format_args!(
        "node {}, at {}, is no member of the cluster any more; it can write nothing, and its \
         folder can be deleted",
        removed.node, removed.address
    ));
    Ok(())
}
