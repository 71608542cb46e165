//! The head of a Word document: where its parts are ([MS-DOC] §2.5; before Word 97, the documentation of
//! the Word 6 format).

use crate::little_endian::{u16_at, u32_at};
use crate::reason::Reason;
use crate::{ExtractError, codepage};

/// Tables of the document by their place in the head; Word 6 has the first of them in the same order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Table {
    Styles = 1,
    FootnoteMarks = 2,
    FootnoteTexts = 3,
    CommentMarks = 4,
    CommentTexts = 5,
    Sections = 6,
    Furniture = 11,
    CharacterRuns = 12,
    ParagraphRuns = 13,
    Fonts = 15,
    Pieces = 33,
    Anchors = 40,
    FurnitureAnchors = 41,
    EndnoteMarks = 46,
    EndnoteTexts = 47,
    Drawings = 50,
    Lists = 73,
    ListUses = 74,
}

/// The runs of text that follow each other, in characters.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lengths {
    pub(super) body: u32,
    pub(super) footnotes: u32,
    pub(super) furniture: u32,
    pub(super) macros: u32,
    pub(super) comments: u32,
    pub(super) endnotes: u32,
    pub(super) boxes: u32,
    pub(super) furniture_boxes: u32,
}

/// The head.
#[derive(Debug)]
pub(super) struct Fib {
    /// Whether it is of Word 6 or 95: bytes for text, and all tables beside it.
    pub(super) is_old: bool,
    pub(super) has_pieces: bool,
    pub(super) table_stream: &'static str,
    pub(super) code_page: u16,
    pub(super) first: u32,
    pub(super) last: u32,
    pub(super) lengths: Lengths,
    tables: Vec<(u32, u32)>,
}

const WORD_97: u16 = 0xA5EC;
const WORD_6: [u16; 3] = [0xA5DC, 0xA697, 0xA699];

impl Fib {
    /// Reads the head.
    ///
    /// # Errors
    ///
    /// `encrypted`, `unsupported_version`, `damaged`.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, ExtractError> {
        let short = || ExtractError::damaged("the document has no head");
        let ident = u16_at(bytes, 0).ok_or_else(short)?;
        let version = u16_at(bytes, 2).ok_or_else(short)?;
        let flags = u16_at(bytes, 10).ok_or_else(short)?;
        if flags & 0x0100 != 0 {
            let message = "the document wants a password";
            return Err(ExtractError::new(Reason::Encrypted, message));
        }
        let is_old = WORD_6.contains(&ident) || (ident == WORD_97 && version < 0xC0);
        if !is_old && ident != WORD_97 {
            return Err(match ident {
                0xA59B | 0xA59C | 0xA5DB => {
                    ExtractError::new(Reason::UnsupportedVersion, "a document of Word 2 or before")
                }
                _ => ExtractError::damaged("the document is none of Word"),
            });
        }
        let number = |at: usize| u32_at(bytes, at).unwrap_or(0);
        Ok(Self {
            is_old,
            has_pieces: !is_old || flags & 4 != 0,
            table_stream: if flags & 0x0200 != 0 {
                "/1Table"
            } else {
                "/0Table"
            },
            code_page: code_page(
                u16_at(bytes, 6).unwrap_or(0),
                u16_at(bytes, 0x14).unwrap_or(0),
            ),
            first: number(0x18),
            last: number(0x1C),
            lengths: Lengths::read(bytes, is_old),
            tables: tables(bytes, is_old),
        })
    }

    /// Returns a table out of the stream that has them; empty if there is none.
    pub(super) fn table<'t>(&self, table: Table, stream: &'t [u8]) -> &'t [u8] {
        self.table_with_rest(table, stream).1
    }

    /// Returns a table, and the stream from its beginning on: some tables go on behind their end.
    pub(super) fn table_with_rest<'t>(
        &self,
        table: Table,
        stream: &'t [u8],
    ) -> (&'t [u8], &'t [u8]) {
        let (start, length) = self.tables.get(table as usize).copied().unwrap_or((0, 0));
        let rest = stream.get(start as usize..).unwrap_or(&[]);
        if length == 0 {
            return (&[], &[]);
        }
        (rest, &rest[..(length as usize).min(rest.len())])
    }
}

impl Lengths {
    fn read(bytes: &[u8], is_old: bool) -> Self {
        let start = if is_old { 0x34 } else { 0x4C };
        let length = |index: usize| u32_at(bytes, start + 4 * index).unwrap_or(0);
        Self {
            body: length(0),
            footnotes: length(1),
            furniture: length(2),
            macros: length(3),
            comments: length(4),
            endnotes: length(5),
            boxes: length(6),
            furniture_boxes: length(7),
        }
    }
}

/// Reads where the tables are, and how long.
fn tables(bytes: &[u8], is_old: bool) -> Vec<(u32, u32)> {
    let (start, count) = match is_old {
        true => (0x58, 38),
        false => {
            let count = u16_at(bytes, 0x98).map_or(0, usize::from);
            (0x9A, count.clamp(0x5D, 1024))
        }
    };
    let number = |at: usize| u32_at(bytes, at).unwrap_or(0);
    let tables = (0..count).map(|index| start + 8 * index);
    tables.map(|at| (number(at), number(at + 4))).collect()
}

/// Returns the code page of a language, as Windows knows it; or that of the Macintosh.
fn code_page(language: u16, character_set: u16) -> u16 {
    if character_set == 256 {
        return 10000;
    }
    match (language & 0x3FF, language) {
        (0x11, _) => 932,
        (0x12, _) => 949,
        (0x04, 0x0804 | 0x1004) => 936,
        (0x04, _) => 950,
        (0x1E, _) => 874,
        (0x05 | 0x0E | 0x15 | 0x18 | 0x1B | 0x1C | 0x24, _) => 1250,
        (0x1A, 0x0C1A) => 1251,
        (0x1A, _) => 1250,
        (0x02 | 0x19 | 0x22 | 0x23 | 0x2F, _) => 1251,
        (0x08, _) => 1253,
        (0x1F, _) => 1254,
        (0x0D, _) => 1255,
        (0x01 | 0x20 | 0x29, _) => 1256,
        (0x25..=0x27, _) => 1257,
        (0x2A, _) => 1258,
        _ => codepage::WESTERN,
    }
}
