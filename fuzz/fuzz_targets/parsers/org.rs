//! Any bytes as `a.org`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| dpe_fuzz::parsers::file("a.org", data));
