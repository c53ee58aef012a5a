//! Members of etcd on loopback, started, killed, taken over, voting and removed.
//!
//! The etcd is the one that `PANDO_ETCD` names, else that of `make etcd`, else the one in PATH.

#![allow(clippy::unwrap_used)] // the lint's exception for tests does not reach helper functions

mod process;
mod program;
mod voters;
mod world;
