//! Clusters of real processes, with real etcd.

mod bench;
mod doors;
mod faults;
mod freshness;
mod leaving;
mod levels;
mod monitor;
mod nodes;
mod partitions;
mod recovery;
mod rejoining;
mod voters;
mod wanderers;
mod writes;
