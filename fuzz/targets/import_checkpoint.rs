//! Fuzzes checkpoints of imports, behind their checksum.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| transfer::fuzz::import_checkpoint(bytes));
