//! Fuzzes streams of add requests as `pando import` reads them.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| transfer::fuzz::add_stream(bytes));
