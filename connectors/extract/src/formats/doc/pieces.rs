//! The text of a Word document: pieces of it lie anywhere in the stream, in bytes or in two of them for a
//! character ([MS-DOC] §2.4.1).

use super::fib::{Fib, Table};
use crate::ExtractError;
use crate::codepage;
use crate::little_endian::{u16_at, u32_at};

/// The text, and where each character is in the stream.
#[derive(Debug, Default)]
pub(super) struct Text {
    /// Units of UTF-16; of old documents, bytes of their code page.
    pub(super) units: Vec<u16>,
    pieces: Vec<Piece>,
}

#[derive(Debug)]
struct Piece {
    first: usize,
    length: usize,
    offset: u32,
    width: u32,
}

impl Text {
    /// Reads the text.
    ///
    /// # Errors
    ///
    /// `damaged` if there is none where it should be.
    pub(super) fn read(fib: &Fib, document: &[u8], tables: &[u8]) -> Result<Self, ExtractError> {
        let mut text = Self::default();
        if fib.has_pieces {
            text.read_pieces(fib, document, fib.table(Table::Pieces, tables));
        }
        if text.units.is_empty() && (fib.is_old || fib.last > fib.first) {
            let length = fib.last.saturating_sub(fib.first) as usize;
            text.add(document, fib.first, length, 1, fib);
        }
        if text.units.is_empty() && fib.lengths.body > 0 {
            return Err(ExtractError::damaged("the document's text is not there"));
        }
        Ok(text)
    }

    fn read_pieces(&mut self, fib: &Fib, document: &[u8], mut table: &[u8]) {
        // What comes first are properties that pieces refer to.
        while table.first() == Some(&1) {
            let length = usize::from(u16_at(table, 1).unwrap_or(0));
            table = table.get(3 + length..).unwrap_or(&[]);
        }
        if table.first() != Some(&2) {
            return;
        }
        let table = table.get(5..).unwrap_or(&[]);
        let count = table.len().saturating_sub(4) / 12;
        for index in 0..count {
            let bounds = (u32_at(table, 4 * index), u32_at(table, 4 * index + 4));
            let piece = table.get(4 * (count + 1) + 8 * index..).unwrap_or(&[]);
            let (Some(from), Some(to), Some(place)) = (bounds.0, bounds.1, u32_at(piece, 2)) else {
                return;
            };
            let length = to.saturating_sub(from) as usize;
            match () {
                () if fib.is_old => self.add(document, place, length, 1, fib),
                () if place & 0x4000_0000 != 0 => {
                    self.add(document, (place & 0x3FFF_FFFF) / 2, length, 1, fib);
                }
                () => self.add(document, place, length, 2, fib),
            }
        }
    }

    /// Adds a piece. All together are not longer than the stream could hold: pieces do not share bytes.
    fn add(&mut self, document: &[u8], offset: u32, length: usize, width: u32, fib: &Fib) {
        let room = document.len().saturating_sub(self.units.len());
        let rest = document.get(offset as usize..).unwrap_or(&[]);
        let length = length.min(room);
        let there = length.min(rest.len() / width as usize);
        let first = self.units.len();
        match width {
            1 if fib.is_old => self
                .units
                .extend(rest[..there].iter().map(|byte| u16::from(*byte))),
            1 => {
                let characters = codepage::decode(codepage::WESTERN, &rest[..there]);
                self.units.extend(characters.encode_utf16());
            }
            _ => {
                let pairs = rest[..2 * there].as_chunks::<2>().0;
                self.units
                    .extend(pairs.iter().map(|pair| u16::from_le_bytes(*pair)));
            }
        }
        // What follows stays where it is said to be.
        self.units.resize(first + length, 0);
        self.pieces.push(Piece {
            first,
            length,
            offset,
            width,
        });
    }

    /// Returns where a character is in the stream.
    pub(super) fn offset(&self, character: usize) -> Option<u32> {
        let after = self
            .pieces
            .partition_point(|piece| piece.first <= character);
        let piece = self.pieces.get(after.checked_sub(1)?)?;
        let within = character - piece.first;
        let within = (within < piece.length).then_some(within as u32)?;
        piece.offset.checked_add(within.checked_mul(piece.width)?)
    }
}
