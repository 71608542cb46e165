//! Any bytes as `a.doc`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| dpe_fuzz::parsers::file("a.doc", data));
