//! The delivery machine under any replies in any order.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| dpe_fuzz::protocol::delivery(data));
