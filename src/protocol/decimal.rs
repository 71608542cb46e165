//! Counts of bytes in header fields (http-binding §3, §17).

/// Reads ASCII digits up to 2^63 - 1; a sign or a space makes it no count.
pub(super) fn parse(text: &str) -> Option<u64> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let value: i64 = text.parse().ok().filter(|_| is_number)?;
    u64::try_from(value).ok()
}
