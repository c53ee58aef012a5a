//! Clusters of real processes, with real etcd.

mod bench;
mod doors;
mod freshness;
mod leaving;
mod nodes;
mod voters;
mod writes;
