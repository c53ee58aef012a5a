//! Fuzzes filters as text.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| protocol::fuzz::filter_text(bytes));
