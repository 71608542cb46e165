//! Where a long run of small things is cut into elements, so that a change stays where it is.
//!
//! One element per record or function would be a million objects for a million small ones; one per file would
//! send everything again for one new line. Whether a group ends is decided by the thing that ends it alone, so
//! that a thing added, changed or removed changes the group it is in and no other.

/// Whether a thing ends its group: by a hash of it, as likely as it is long. Groups have `usual` bytes or so.
pub(crate) fn ends(thing: &str, usual: u64) -> bool {
    fnv1a(thing.as_bytes()) % usual < thing.len() as u64
}

/// FNV-1a in 64 bits: small, fixed for ever, and even enough for this.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3)
    })
}

#[cfg(test)]
mod tests {
    use super::fnv1a;

    #[test]
    fn hash_is_the_published_one() {
        // Test vectors of the FNV reference.
        assert_eq!(fnv1a(b""), 0xCBF2_9CE4_8422_2325);
        assert_eq!(fnv1a(b"a"), 0xAF63_DC4C_8601_EC8C);
        assert_eq!(fnv1a(b"foobar"), 0x8594_4171_F739_67E8);
    }
}
