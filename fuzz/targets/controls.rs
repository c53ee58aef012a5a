//! Fuzzes the values of controls.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| protocol::fuzz::controls(bytes));
