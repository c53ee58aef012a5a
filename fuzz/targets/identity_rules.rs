//! Fuzzes texts of identity rules.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| policy::fuzz::identity_rules(bytes));
