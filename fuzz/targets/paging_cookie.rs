//! Fuzzes cookies of paged results and contexts of views.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| directory::fuzz::paging_cookie(bytes));
