//! Fuzzes what a backup ends with.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| transfer::fuzz::backup_end(bytes));
