//! Records of the binary workbooks before XLSX, and the strings in them ([MS-XLS] §2.5.293 and on).

use crate::codepage;
use crate::little_endian::u16_at;

/// A record that goes on with what the one before it says.
pub(super) const CONTINUE: u16 = 0x3C;

/// A record: its number, and its data with that of the records that continue it.
#[derive(Debug)]
pub(super) struct Record<'b> {
    pub(super) number: u16,
    pub(super) data: &'b [u8],
    pub(super) more: Vec<&'b [u8]>,
}

/// The records of a stream from some place on.
#[derive(Debug)]
pub(super) struct Records<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Records<'b> {
    pub(super) fn new(bytes: &'b [u8], at: usize) -> Self {
        Self { bytes, at }
    }

    fn one(&mut self) -> Option<(u16, &'b [u8])> {
        let header = self.bytes.get(self.at..)?.first_chunk::<4>()?;
        let number = u16::from_le_bytes([header[0], header[1]]);
        let length = usize::from(u16::from_le_bytes([header[2], header[3]]));
        let start = self.at + 4;
        let end = (start + length).min(self.bytes.len());
        self.at = end;
        Some((number, &self.bytes[start..end]))
    }
}

impl<'b> Iterator for Records<'b> {
    type Item = Record<'b>;

    fn next(&mut self) -> Option<Record<'b>> {
        let (number, data) = self.one()?;
        let mut more = Vec::new();
        loop {
            let before = self.at;
            match self.one() {
                Some((CONTINUE, data)) => more.push(data),
                _ => {
                    self.at = before;
                    break;
                }
            }
        }
        Some(Record { number, data, more })
    }
}

impl<'b> Record<'b> {
    pub(super) fn u16(&self, at: usize) -> Option<u16> {
        u16_at(self.data, at)
    }

    pub(super) fn f64(&self, at: usize) -> Option<f64> {
        let bytes = self.data.get(at..at + 8)?;
        Some(f64::from_le_bytes(bytes.try_into().ok()?))
    }

    /// Adds the data, and what continues it, to some that came before.
    pub(super) fn append_to(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(self.data);
        self.more
            .iter()
            .for_each(|more| bytes.extend_from_slice(more));
    }

    /// Returns a reader of the data from some place on, through what continues it.
    pub(super) fn through(&self, at: usize) -> Through<'b> {
        let mut parts = vec![self.data.get(at..).unwrap_or(&[])];
        parts.extend(&self.more);
        Through { parts, part: 0 }
    }

    /// Returns a reader of what continues the record alone.
    pub(super) fn continued(&self) -> Through<'b> {
        Through {
            parts: self.more.clone(),
            part: 0,
        }
    }
}

/// Data that several records hold one after the other.
#[derive(Debug)]
pub(super) struct Through<'b> {
    parts: Vec<&'b [u8]>,
    part: usize,
}

impl<'b> Through<'b> {
    pub(super) fn is_at_end(&self) -> bool {
        self.parts[self.part.min(self.parts.len())..]
            .iter()
            .all(|part| part.is_empty())
    }

    fn byte(&mut self) -> Option<u8> {
        loop {
            let part = self.parts.get_mut(self.part)?;
            match part.split_first() {
                Some((byte, rest)) => {
                    *part = rest;
                    return Some(*byte);
                }
                None => self.part += 1,
            }
        }
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        Some(u16::from_le_bytes([self.byte()?, self.byte()?]))
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        let (low, high) = (self.u16()?, self.u16()?);
        Some(u32::from(low) | u32::from(high) << 16)
    }

    fn skip(&mut self, mut count: usize) {
        while count > 0 {
            let Some(part) = self.parts.get_mut(self.part) else {
                return;
            };
            let step = count.min(part.len());
            *part = &part[step..];
            count -= step;
            if part.is_empty() {
                self.part += 1;
            }
        }
    }

    /// Reads a string whose length comes first, in two bytes.
    pub(super) fn string(&mut self) -> Option<String> {
        let length = self.u16()?;
        self.string_of(usize::from(length))
    }

    /// Reads a string whose length comes first, in one byte.
    pub(super) fn short_string(&mut self) -> Option<String> {
        let length = self.byte()?;
        self.string_of(usize::from(length))
    }

    /// Reads a string of so many characters, from its flags on.
    pub(super) fn string_of(&mut self, length: usize) -> Option<String> {
        let flags = self.byte()?;
        let runs = if flags & 8 == 0 {
            0
        } else {
            usize::from(self.u16()?)
        };
        let extension = if flags & 4 == 0 {
            0
        } else {
            self.u32()? as usize
        };
        let text = self.characters(length, flags & 1 == 1);
        self.skip(runs * 4);
        self.skip(extension);
        Some(text)
    }

    /// Reads characters. Where they go on in another record, that one says anew how wide they are.
    fn characters(&mut self, mut length: usize, mut is_wide: bool) -> String {
        let mut units: Vec<u8> = Vec::new();
        while length > 0 {
            let Some(part) = self.parts.get_mut(self.part) else {
                break;
            };
            let width = if is_wide { 2 } else { 1 };
            let count = length.min(part.len() / width);
            let (read, rest) = part.split_at(count * width);
            match is_wide {
                true => units.extend_from_slice(read),
                false => units.extend(read.iter().flat_map(|byte| [*byte, 0])),
            }
            *part = rest;
            length -= count;
            if length > 0 {
                self.part += 1;
                match self.byte() {
                    Some(flags) => is_wide = flags & 1 == 1,
                    None => break,
                }
            }
        }
        codepage::decode(1200, &units)
    }
}

#[cfg(test)]
mod tests {
    use super::{CONTINUE, Records};

    fn record(number: u16, data: &[u8]) -> Vec<u8> {
        let mut bytes = number.to_le_bytes().to_vec();
        bytes.extend((data.len() as u16).to_le_bytes());
        bytes.extend(data);
        bytes
    }

    #[test]
    fn string_goes_on_in_another_width() {
        let mut bytes = record(0xFC, b"\x05\0\0ab");
        bytes.extend(record(CONTINUE, b"\x01c\0\xE9\0d\0\x01\0\0z"));
        let record = Records::new(&bytes, 0).next().unwrap();
        let mut through = record.through(0);
        assert_eq!(through.string().as_deref(), Some("abc\u{E9}d"));
        assert_eq!(through.string().as_deref(), Some("z"));
        assert!(through.is_at_end());
    }

    #[test]
    fn what_is_cut_short_gives_what_there_is() {
        let bytes = record(0xFC, b"\xFF\xFF\x0D\x01\0\xFF\xFF\xFF\xFFab");
        let record = Records::new(&bytes[..bytes.len() - 1], 0).next().unwrap();
        assert_eq!(record.through(0).string().as_deref(), Some(""));
        assert!(Records::new(&bytes, 900).next().is_none());
    }
}
