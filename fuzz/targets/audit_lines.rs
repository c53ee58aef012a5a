//! Fuzzes files of the audit, and the stored head of its chain.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| audit::fuzz::lines(bytes));
