//! Fuzzes the values of extended operations.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| protocol::fuzz::extended(bytes));
