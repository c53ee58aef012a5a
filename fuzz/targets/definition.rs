//! Fuzzes definitions of the schema.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| schema::fuzz::definition(bytes));
