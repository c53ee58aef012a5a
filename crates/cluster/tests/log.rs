//! The commit log on a real etcd: one order for all nodes, each bundle at most once, whatever
//! happens to etcd, to the connection and to the nodes.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "log/certificates.rs"]
mod certificates;
#[path = "log/credit.rs"]
mod credit;
#[path = "log/etcd.rs"]
mod etcd;
#[path = "log/loss.rs"]
mod loss;
#[path = "log/members.rs"]
mod members;
#[path = "log/membership.rs"]
mod membership;
#[path = "log/node.rs"]
mod node;
#[path = "log/order.rs"]
mod order;
#[path = "log/proxy.rs"]
mod proxy;
#[path = "log/storm.rs"]
mod storm;
#[path = "log/strange.rs"]
mod strange;
#[path = "log/trimming.rs"]
mod trimming;
