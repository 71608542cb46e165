//! Any bytes as `a.csv`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| dpe_fuzz::parsers::file("a.csv", data));
