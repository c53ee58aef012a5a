//! Fuzzes messages between nodes of a cluster.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| cluster::peer::fuzz::message(bytes));
