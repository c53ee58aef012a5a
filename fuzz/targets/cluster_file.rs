//! Fuzzes the file `cluster.json`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| cluster::identity::fuzz::cluster_file(bytes));
