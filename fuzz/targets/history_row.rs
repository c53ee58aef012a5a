//! Fuzzes rows of the history.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| state::fuzz::history_row(bytes));
