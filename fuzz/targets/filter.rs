//! Fuzzes filters in binary form.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| protocol::fuzz::filter(bytes));
