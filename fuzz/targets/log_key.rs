//! Fuzzes names of keys of a cluster in etcd.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| cluster::log::fuzz::key(bytes));
