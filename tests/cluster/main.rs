//! Clusters of real processes, with real etcd.

mod bench;
mod doors;
mod faults;
mod freshness;
mod leaving;
mod monitor;
mod nodes;
mod partitions;
mod patience;
mod recovery;
mod rejoining;
mod settings;
mod voters;
mod wanderers;
mod writes;
