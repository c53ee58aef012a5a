//! Clusters of real processes, with real etcd.

mod doors;
mod leaving;
mod monitor;
mod nodes;
mod voters;
mod writes;
