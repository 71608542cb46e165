//! The properties of `fuzz/`, with chance of proptest's choosing.

use proptest::collection::vec;
use proptest::prelude::any;
use proptest::proptest;

#[path = "../../fuzz/src/protocol.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    reason = "it is a crate of its own under the fuzzer"
)]
mod fuzzed;

proptest! {
    #[test]
    fn no_reply_makes_a_decoder_panic(data in vec(any::<u8>(), 0..600)) {
        fuzzed::replies(&data);
    }

    #[test]
    fn json_of_any_kind_makes_no_decoder_panic(
        status in any::<u8>(),
        text in r#"[{}\[\]",:0-9a-z_ ]{0,200}"#,
    ) {
        let mut data = vec![status, 2, 0, 0, 0];
        data.extend(text.bytes());
        fuzzed::replies(&data);
    }

    #[test]
    fn no_replies_in_any_order_lead_a_delivery_astray(data in vec(any::<u8>(), 0..3000)) {
        fuzzed::delivery(&data);
    }
}
