//! The arguments of commands on clusters: the folder of a node, and addresses.

use crate::node_folder::data_folder;
use crate::report::Problem;
use ::cluster::address::Address;
use ::cluster::etcd::{EtcdProgram, ProgramError};
use ::cluster::identity::Identity;
use server::{Config, Overrides};
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

/// The etcd that the node of a folder, which may not be made yet, is to run: the one that
/// `cluster.etcd_program` names, or one that is found.
///
/// # Errors
/// The settings in the folder cannot be used.
pub fn etcd_program(dir: &Path) -> Result<Result<EtcdProgram, ProgramError>, Problem> {
    let config = Config::load(dir, &Overrides::default()).map_err(Problem::usage)?;
    Ok(EtcdProgram::find(config.etcd_program().as_deref()))
}
