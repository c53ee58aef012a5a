//! Fuzzes rows of the tables of links.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| store::fuzz::links(bytes));
