//! Clusters of three nodes on loopback: Pando with three members of etcd, and slapd.

pub mod etcd;
pub mod failure;
pub mod load;
pub mod pando;
pub mod search;
pub mod slapd;
pub mod table;
pub mod trio;
pub mod usage;
