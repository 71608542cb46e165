//! Every decoder of replies over any bytes.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| dpe_fuzz::protocol::replies(data));
