//! Fuzzes value patterns.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| load::fuzz::pattern(bytes));
