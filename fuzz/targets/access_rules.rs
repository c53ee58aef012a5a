//! Fuzzes texts of access rules.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| policy::fuzz::access_rules(bytes));
