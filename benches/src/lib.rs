//! Benchmarks: a null responder as the floor, and the comparison with slapd. See README.md here.

pub mod arguments;
pub mod client;
pub mod cluster;
pub mod crash;
pub mod directives;
pub mod journal;
pub mod null;
pub mod process;
pub mod row;
pub mod subject;
pub mod table;
pub mod timed;
