//! Any bytes as `a.html`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| dpe_fuzz::parsers::file("a.html", data));
