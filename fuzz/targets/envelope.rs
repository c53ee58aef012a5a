//! Fuzzes records of a cluster's log as they stand in etcd.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| cluster::log::fuzz::envelope(bytes));
