//! Fuzzes responses.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| protocol::fuzz::response(bytes));
