//! Several nodes with one order of writes: the commit log on etcd, membership, joining.
//!
//! Invariants:
//! - nothing here executes a write or reads an entry: records are bytes on their way from one node's
//!   writer to all nodes' executors;
//! - what a node may not lose stands in etcd before the node acts on it.

pub mod etcd;
