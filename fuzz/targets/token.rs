//! Fuzzes tokens, and sets of keys.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| sasl::fuzz::token(bytes));
