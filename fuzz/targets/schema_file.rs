//! Fuzzes schema files of other servers.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| schema::fuzz::schema_file(bytes));
