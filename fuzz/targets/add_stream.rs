//! Fuzzes streams of add requests as `pando import` reads them.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| directory::fuzz::add_stream(bytes));
