//! Fuzzes LDAP URLs.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| protocol::fuzz::url(bytes));
