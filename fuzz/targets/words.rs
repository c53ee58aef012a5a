//! Fuzzes times, UUIDs, positions and ranges as people write them.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    replica::fuzz::point(bytes);
    directory::fuzz::words(bytes);
});
