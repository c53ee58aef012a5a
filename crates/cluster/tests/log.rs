//! The commit log on a real etcd: one order for all nodes, each bundle at most once, whatever
//! happens to etcd, to the connection and to the nodes.

#[path = "log/etcd.rs"]
mod etcd;
#[path = "log/node.rs"]
mod node;
#[path = "log/order.rs"]
mod order;
