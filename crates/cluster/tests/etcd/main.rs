//! Members of etcd on loopback, started, killed, taken over, voting and removed.
//!
//! The etcd is the one that `PANDO_ETCD` names, else that of `make etcd`, else the one in PATH.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod process;
mod program;
mod voters;
mod world;
