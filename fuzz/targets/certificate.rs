//! Fuzzes certificates and revocation lists, stored and asserted.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| schema::fuzz::certificate(bytes));
