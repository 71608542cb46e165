//! Numbers as the binary formats of Windows write them, the lowest byte first; none beyond the end.

/// Returns the number of two bytes at a place.
pub(crate) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let bytes = bytes.get(at..at.checked_add(2)?)?;
    Some(u16::from_le_bytes(bytes.try_into().ok()?))
}

/// Returns the number of four bytes at a place.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::{u16_at, u32_at};

    #[test]
    fn numbers_end_with_the_bytes() {
        assert_eq!(u16_at(b"\x01\x02\x03", 1), Some(0x0302));
        assert_eq!(u16_at(b"\x01\x02\x03", 2), None);
        assert_eq!(u32_at(b"\x01\x02\x03\x04", 0), Some(0x0403_0201));
        assert_eq!(u32_at(b"\x01\x02\x03\x04", usize::MAX), None);
    }
}
