//! Any bytes as the chief part of a package.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| dpe_fuzz::parsers::XLSB.with(data));
