//! Fuzzes values under every syntax and matching rule.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| schema::fuzz::value(bytes));
