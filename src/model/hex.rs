//! Digests as lowercase hexadecimal digits.

/// Length of a digest in digits.
pub(super) const DIGITS: usize = 64;

const PAIRS: [[u8; 2]; 256] = {
    const DIGIT: &[u8; 16] = b"0123456789abcdef";
    let mut pairs = [[0; 2]; 256];
    let mut byte = 0;
    while byte < 256 {
        pairs[byte] = [DIGIT[byte >> 4], DIGIT[byte & 15]];
        byte += 1;
    }
    pairs
};

/// Returns the 64 digits of a digest.
pub(super) fn encode(digest: &[u8; 32]) -> [u8; DIGITS] {
    let mut digits = [0; DIGITS];
    for (pair, &byte) in digits.chunks_exact_mut(2).zip(digest) {
        pair.copy_from_slice(&PAIRS[usize::from(byte)]);
    }
    digits
}

/// Returns the digest spelled by exactly 64 lowercase digits.
pub(super) fn decode(digits: &[u8]) -> Option<[u8; 32]> {
    if digits.len() != DIGITS {
        return None;
    }
    let mut digest = [0; 32];
    for (byte, pair) in digest.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = value(pair[0])? << 4 | value(pair[1])?;
    }
    Some(digest)
}

fn value(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}
