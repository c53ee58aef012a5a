//! Clusters on one machine: Pando on members of etcd, on loopback or at sites far from each other,
//! and slapd.

pub mod etcd;
pub mod failure;
pub mod fleet;
pub mod load;
pub mod pando;
pub mod place;
pub mod process;
pub mod search;
pub mod sites;
pub mod slapd;
pub mod status;
pub mod table;
pub mod usage;
