//! Searches that follow the directory: content synchronisation (RFC 4533) as provider, and
//! persistent search (draft-ietf-ldapext-psearch-03).
//!
//! Both run in slices beside the other operations of their connection. A refresh brings the client
//! to the state of one moment; then the history is read change by change, up to the snapshot.
//! The server queues no changes for a slow client. Once the history no longer reaches back to the
//! client's moment, the client is told to refresh. An entry with very many members is sent in parts
//! (`large.rs`), and other messages wait for its end.
//!
//! A follower keeps the ids of the content's entries, a bit each, to distinguish a change that
//! takes an entry out of the content from one that never concerned the client.

mod ahead;
mod answer;
mod begin;
mod follower;
mod persist;
mod refresh;
mod step;
mod subtree;

pub(crate) use begin::begin;
pub use follower::{Followed, Follower};
pub(crate) use step::follow;
