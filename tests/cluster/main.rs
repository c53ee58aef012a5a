//! Clusters of real processes, with real etcd.

mod bench;
mod competing;
mod doors;
mod faults;
mod freshness;
mod lanes;
mod leaving;
mod monitor;
mod nodes;
mod partitions;
mod recovery;
mod rejoining;
mod voters;
mod wanderers;
mod writes;
