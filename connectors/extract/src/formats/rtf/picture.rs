//! Pictures that are written into RTF as digits or bytes.

use super::token::hex_digit;
use crate::inline::Picture;
use crate::pictures::media_type;
use crate::reading::Reading;

/// A picture under construction.
#[derive(Debug, Default)]
pub(super) struct PictureData {
    bytes: Vec<u8>,
    half: Option<u8>,
    /// Media type that its control word declares.
    pub(super) mime_type: Option<&'static str>,
    /// Whether it is a bitmap without the header of a file.
    pub(super) is_bare_bitmap: bool,
}

impl PictureData {
    pub(super) fn digits(&mut self, text: &[u8]) {
        for digit in text.iter().filter_map(|byte| hex_digit(*byte)) {
            match self.half.take() {
                Some(half) => self.bytes.push(half * 16 + digit),
                None => self.half = Some(digit),
            }
        }
    }

    pub(super) fn binary(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Returns the finished picture; `None` if there is nothing of it.
    pub(super) fn finish(self, reading: &mut Reading<'_>) -> Option<Picture> {
        if self.bytes.is_empty() {
            return None;
        }
        let bytes = match self.is_bare_bitmap {
            true => with_file_header(self.bytes),
            false => self.bytes,
        };
        let mime_type = media_type(&bytes, "").or(self.mime_type);
        Some(Picture::of_bytes(reading.blob(bytes), mime_type))
    }
}

/// Puts the header before a bitmap that makes a file of it: without one no program opens it.
pub(crate) fn with_file_header(bitmap: Vec<u8>) -> Vec<u8> {
    let number = |at: usize, length: usize| {
        let bytes = bitmap.get(at..at + length).unwrap_or(&[]);
        let digits = bytes.iter().rev();
        digits.fold(0u64, |value, byte| value << 8 | u64::from(*byte))
    };
    let header = number(0, 4);
    let (bits, compression, colours) = match header {
        12 => (number(10, 2), 0, 0),
        _ => (number(14, 2), number(16, 4), number(32, 4)),
    };
    let palette = match (bits, colours) {
        (1..=8, 0) => 1 << bits,
        (1..=8, some) => some.min(256),
        _ => 0,
    };
    let entry = if header == 12 { 3 } else { 4 };
    let masks = if compression == 3 && header == 40 {
        12
    } else {
        0
    };
    let start = 14 + header.min(1024) + palette * entry + masks;
    let size = bitmap.len() as u64 + 14;
    let mut file = Vec::with_capacity(bitmap.len() + 14);
    file.extend_from_slice(b"BM");
    file.extend_from_slice(&(size as u32).to_le_bytes());
    file.extend_from_slice(&[0; 4]);
    file.extend_from_slice(&(start as u32).to_le_bytes());
    file.extend(bitmap);
    file
}
