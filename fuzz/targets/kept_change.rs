//! Fuzzes kept changes.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| replica::fuzz::kept_change(bytes));
