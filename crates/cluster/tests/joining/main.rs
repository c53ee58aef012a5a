//! Joining over the network: real services and joiners on loopback, with a node that holds a file.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod copies;
mod database;
mod doors;
mod node;
