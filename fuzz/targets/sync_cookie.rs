//! Fuzzes cookies of content synchronisation, and change sequence numbers.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| directory::fuzz::sync_cookie(bytes));
