//! Fuzzes records of the write-ahead log.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| state::fuzz::record(bytes));
