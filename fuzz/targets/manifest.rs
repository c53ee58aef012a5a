//! Fuzzes manifests of backups.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| transfer::fuzz::manifest(bytes));
