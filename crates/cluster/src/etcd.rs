//! The etcd program that a node runs: found, started, kept running, made a voter or none.
//!
//! A cluster without an etcd of the operator's runs one of its own. Some nodes, the *voters*, each
//! run one member of it as a child process; the other nodes are its clients.
//!
//! Invariants:
//! - a member speaks TLS only, and only to holders of a certificate of the cluster: its log holds
//!   password hashes;
//! - a member's folder belongs to one cluster, whose token it holds, and to one process at a time;
//! - voters are added and removed one after another, and a voter is added as a learner.

pub mod claim;
pub mod client;
pub mod flags;
pub mod member;
pub mod output;
pub mod process;
pub mod program;
mod running;
pub mod voter;
pub mod voters;

pub use member::{Address, Member, Pace, Start, TlsFiles};
pub use process::{ProcessState, Supervisor};
pub use program::{EtcdProgram, ProgramError};
pub use voter::{OwnVoter, Progress};
pub use voters::{Candidate, Seen};
