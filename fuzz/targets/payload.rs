//! Fuzzes payloads of bundles in a cluster's log.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| replica::fuzz::payload(bytes));
