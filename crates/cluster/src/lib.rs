//! Several nodes with one order of writes: the commit log on etcd, membership, joining.
//!
//! Invariants:
//! - nothing here executes a write or reads an entry: records are bytes on their way from one
//!   node's writer to all nodes' executors;
//! - what a node may not lose stands in etcd before the node acts on it.
//!
//! The dependencies `protoc_bin_vendored_linux_x86_64` and `protoc_bin_vendored_linux_aarch_64` are
//! no libraries here: tools/protoc runs the compiler that they carry.

pub mod address;
pub mod authority;
mod command;
pub mod departure;
pub mod etcd;
pub mod external;
mod folder;
#[cfg(test)]
mod fuzz;
pub mod identity;
mod ids;
pub mod init;
pub mod join;
pub mod leave;
pub mod log;
pub mod overview;
pub mod peer;
pub mod quorum;
pub mod recovery;
pub mod rejoin;
pub mod snapshot;
pub mod succession;
pub mod token;
mod trouble;
pub mod upgrade;
pub mod volatile;
pub mod voting;
pub mod witnesses;

pub use trouble::Trouble;
