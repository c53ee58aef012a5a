//! Clusters of real processes, with real etcd.

mod bench;
mod changing;
mod clocks;
mod competing;
mod damage;
mod doors;
mod faults;
mod freshness;
mod full_disk;
mod full_log;
mod joins;
mod lanes;
mod leaving;
mod levels;
mod lost_log;
mod monitor;
mod nodes;
mod partitions;
mod recovery;
mod rejoining;
mod soak;
mod twins;
mod voters;
mod wanderers;
mod writers;
mod writes;
