//! The service that a node of a cluster offers to other nodes, and the client of it.
//!
//! HTTP over TLS at the node's address: `POST /join` for new nodes with a token; for nodes with a
//! certificate `GET /status`, `GET /executed/POSITION`, `POST /remove`, `POST /leave`,
//! `POST /upgrade`, `GET /snapshot`, `GET /snapshot/ID/sums/FIRST` and `GET /snapshot/ID/PIECE`.
//!
//! Invariants:
//! - who has no certificate of the cluster's authority, or was removed from the cluster, can join
//!   with a token and do nothing else;
//! - messages, connections and waits are bounded.

mod accept;
mod client;
#[doc(hidden)]
pub mod fuzz;
mod message;
mod node;
mod routes;
mod service;
mod survey;
mod tls;

pub use client::{Link, PeerClient};
pub use message::{
    ClosedBy, Executed, Fill, JoinAnswer, JoinEtcd, JoinRequest, LeaveAnswer, LeaveRequest,
    LogStatus, NodeStatus, Offer, Registered, RemoveRequest, Removed, Sums, UpgradeAnswer,
    UpgradeRequest, Voter,
};
pub use node::{PeerNode, Reached};
pub use service::{Service, ServiceOptions, listen};
pub use survey::{Surveyed, survey};
