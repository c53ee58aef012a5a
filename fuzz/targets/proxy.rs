//! Fuzzes the headers of proxies.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| protocol::fuzz::proxy(bytes));
