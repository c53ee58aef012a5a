//! Fuzzes rows of entries, states and indexes.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| store::fuzz::row(bytes));
