//! The arguments of commands on clusters: the folder of a node, and addresses.

use crate::node_folder::data_folder;
use crate::report::Problem;
use ::cluster::address::Address;
use ::cluster::identity::Identity;
use std::path::Path;

/// The identity of the node in a folder.
pub fn identity(dir: &Path) -> Result<Identity, Problem> {
    if let Some(identity) = Identity::load(dir).map_err(Problem::failed)? {
        return Ok(identity);
    }
    // A folder without any node is told first.
    data_folder(dir)?;
    let dir = dir.display();
    Err(Problem::failed(format_args!(
        "{dir} belongs to no cluster; begin one with `pando cluster init {dir} --address HOST:PORT`"
    )))
}

/// The address that an option was given.
pub fn address(option: &str, text: &str) -> Result<Address, Problem> {
    let parsed = text.parse::<Address>();
    parsed.map_err(|error| Problem::usage(format_args!("{option}: {error}")))
}
