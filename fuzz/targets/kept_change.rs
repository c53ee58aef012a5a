//! Fuzzes kept changes.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| directory::fuzz::kept_change(bytes));
