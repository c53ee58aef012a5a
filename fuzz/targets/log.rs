//! Fuzzes headers and checkpoints of the log.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| store::fuzz::log(bytes));
