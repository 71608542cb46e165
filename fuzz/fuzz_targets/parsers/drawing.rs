//! Any bytes as `a.svg`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| dpe_fuzz::parsers::file("a.svg", data));
