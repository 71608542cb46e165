//! Which header values may be sent (HTTP binding §13.3).

use http::HeaderValue;

/// Returns the value of a header field, or `None` if the rule of §13.3 forbids it: empty, or VCHAR
/// at both ends with only VCHAR, space and tab between them.
pub(super) fn value(text: &str) -> Option<HeaderValue> {
    let bytes = text.as_bytes();
    let is_inner = |byte: &u8| byte.is_ascii_graphic() || matches!(byte, b' ' | b'\t');
    let ends_are_visible = [bytes.first(), bytes.last()]
        .into_iter()
        .flatten()
        .all(u8::is_ascii_graphic);
    if !ends_are_visible || !bytes.iter().all(is_inner) {
        return None;
    }
    HeaderValue::from_bytes(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::value;

    #[test]
    fn values_are_visible_at_both_ends_and_ascii_within() {
        for text in ["", "x", "Bearer a b\tc", "\"!~\""] {
            assert_eq!(value(text).map(|value| value.len()), Some(text.len()));
        }
        for text in [
            " x", "x ", "\tx", "x\t", " ", "a\nb", "a\r\nb", "a\0b", "a\x7fb", "\u{e9}",
        ] {
            assert_eq!(value(text), None, "{text:?}");
        }
    }
}
