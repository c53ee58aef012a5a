//! Clusters on one machine: Pando on members of etcd, and slapd.

pub mod etcd;
pub mod failure;
pub mod fleet;
pub mod load;
pub mod pando;
pub mod place;
pub mod process;
pub mod search;
pub mod slapd;
pub mod table;
pub mod usage;
