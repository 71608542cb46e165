//! Styles and lists of a Word document, as far as they say what a paragraph is.

use std::collections::HashMap;

use super::fib::{Fib, Table};
use super::runs::Changes;
use crate::codepage;
use crate::formats::role::Role;
use crate::formats::story::CellForm;
use crate::little_endian::{u16_at, u32_at};

/// How far a style may be from what it is based on.
const MAX_BASES: usize = 16;

/// Styles that there may be ([MS-DOC] §2.7.4).
const MAX_STYLES: usize = 4095;

/// Changes that are kept in the data stream: those of the widest row are shorter.
const MAX_KEPT: usize = 4096;

/// What changes of properties say about a paragraph.
#[derive(Clone, Debug, Default)]
pub(super) struct Properties {
    /// Level from 0; 9 is none.
    pub(super) outline: Option<u8>,
    pub(super) list: Option<u16>,
    pub(super) list_level: Option<u8>,
    pub(super) in_table: bool,
    pub(super) is_row_end: bool,
    pub(super) is_header: bool,
    /// How deep its table is in other tables.
    pub(super) depth: u32,
    pub(super) cells: Vec<CellForm>,
}

impl Properties {
    /// Takes changes of properties; some are kept in the data stream.
    pub(super) fn take(&mut self, changes: &[u8], data: &[u8]) {
        let mut kept = Some(data);
        for (number, operand) in Changes(changes) {
            let first = operand.first().copied().unwrap_or(0);
            match number {
                0x2416 => self.in_table = first != 0,
                0x2417 => self.is_row_end = first != 0,
                0x6649 => self.depth = u32_at(operand, 0).unwrap_or(0),
                0x2640 => self.outline = Some(first),
                0x260A => self.list_level = Some(first),
                0x460B => self.list = u16_at(operand, 0),
                0x3404 => self.is_header = first != 0,
                0xD608 => self.cells = cells(operand),
                0x6645 | 0x6646 => {
                    // They are kept in one place: more of them would only cost time.
                    let data = kept.take().unwrap_or(&[]);
                    let start = u32_at(operand, 0).unwrap_or(u32::MAX) as usize;
                    let length = u16_at(data, start).map_or(0, usize::from).min(MAX_KEPT);
                    let rest = data.get(start.saturating_add(2)..).unwrap_or(&[]);
                    // Changes there do not lead on to others.
                    self.take(&rest[..length.min(rest.len())], &[]);
                }
                _ => {}
            }
        }
    }

    /// Takes the changes of Word 6, whose numbers are single bytes: only those of tables are looked for.
    pub(super) fn take_old(&mut self, changes: &[u8]) {
        let has = |number: u8| changes.windows(2).any(|pair| pair == [number, 1]);
        self.in_table = has(24);
        self.is_row_end = has(25);
    }
}

/// Returns the cells of a row's definition ([MS-DOC] §2.9.322).
fn cells(operand: &[u8]) -> Vec<CellForm> {
    let count = usize::from(operand.first().copied().unwrap_or(0)).min(64);
    let definitions = operand.get(1 + 2 * (count + 1)..).unwrap_or(&[]);
    let definitions = definitions.chunks_exact(20).take(count);
    let forms = definitions.map(|cell| {
        let flags = u16_at(cell, 0).unwrap_or(0);
        CellForm {
            joins_left: flags & 2 != 0,
            joins_above: flags & 0x20 != 0 && flags & 0x40 == 0,
        }
    });
    forms.collect()
}

/// The styles.
#[derive(Debug, Default)]
pub(super) struct Styles {
    styles: Vec<Style>,
}

#[derive(Clone, Debug, Default)]
struct Style {
    heading: Option<u64>,
    role: Role,
    base: u16,
    properties: Properties,
}

impl Styles {
    pub(super) fn read(table: &[u8], is_old: bool) -> Self {
        let mut styles = Vec::new();
        let header = usize::from(u16_at(table, 0).unwrap_or(0));
        let base = usize::from(u16_at(table, 4).unwrap_or(10));
        let mut rest = table.get(2 + header..).unwrap_or(&[]);
        while let Some(length) = u16_at(rest, 0).filter(|_| styles.len() < MAX_STYLES) {
            let length = usize::from(length);
            let data = rest.get(2..).unwrap_or(&[]);
            let data = &data[..length.min(data.len())];
            styles.push(style(data, base, is_old));
            // Styles begin at even places.
            rest = rest.get(2 + length + length % 2..).unwrap_or(&[]);
        }
        Self { styles }
    }

    /// Returns the level of a heading that a style has, by itself or by what it is based on.
    pub(super) fn heading(&self, number: u16) -> Option<u64> {
        let found = |style: &Style| match style.properties.outline {
            Some(outline) => Some((outline < 9).then(|| u64::from(outline) + 1)),
            None => style.heading.map(Some),
        };
        self.chain(number).find_map(found).flatten()
    }

    /// Returns what a style makes of its paragraphs, by itself or by what it is based on.
    pub(super) fn role(&self, number: u16) -> Role {
        let roles = self.chain(number).map(|style| style.role);
        let mut roles = roles.filter(|role| *role != Role::Text);
        roles.next().unwrap_or_default()
    }

    /// Returns the list and the level in it that a style has.
    pub(super) fn list(&self, number: u16) -> (Option<u16>, Option<u8>) {
        let list = self.chain(number).find_map(|style| style.properties.list);
        let level = self
            .chain(number)
            .find_map(|style| style.properties.list_level);
        (list, level)
    }

    fn chain(&self, number: u16) -> impl Iterator<Item = &Style> {
        let mut next = Some(number);
        std::iter::from_fn(move || {
            let style = self.styles.get(usize::from(next?))?;
            next = (style.base != 0x0FFF).then_some(style.base);
            Some(style)
        })
        .take(MAX_BASES)
    }
}

fn style(data: &[u8], base: usize, is_old: bool) -> Style {
    let number = u16_at(data, 0).unwrap_or(0x0FFF) & 0x0FFF;
    let kind_and_base = u16_at(data, 2).unwrap_or(0xFFF0);
    let heading = match number {
        1..=9 => Some(u64::from(number)),
        _ => None,
    };
    // The numbers of styles are the same in all languages, but not all have one.
    let role = match number {
        62 => Role::Title,
        74 => Role::Subtitle,
        34 => Role::Caption,
        _ => name(data, base, is_old).map_or(Role::Text, |name| Role::of_style(&name)),
    };
    let mut properties = Properties::default();
    let is_of_paragraphs = kind_and_base & 0xF == 1;
    if !is_old && is_of_paragraphs {
        let name = 2 * usize::from(u16_at(data, base).unwrap_or(0));
        let at = base + 2 + name + 2;
        let at = at + at % 2;
        let length = usize::from(u16_at(data, at).unwrap_or(0));
        let changes = data.get(at + 4..).unwrap_or(&[]);
        let length = length.saturating_sub(2).min(changes.len());
        properties.take(&changes[..length], &[]);
    }
    Style {
        heading,
        role,
        base: kind_and_base >> 4,
        properties,
    }
}

/// Returns the name of a style, up to names that were given to it further.
fn name(data: &[u8], base: usize, is_old: bool) -> Option<String> {
    let name = match is_old {
        true => {
            let length = usize::from(*data.get(base)?);
            let bytes = data.get(base + 1..)?.get(..length)?;
            codepage::decode(codepage::WESTERN, bytes)
        }
        false => {
            let length = 2 * usize::from(u16_at(data, base)?);
            codepage::decode(1200, data.get(base + 2..)?.get(..length)?)
        }
    };
    name.split([',', '\0']).next().map(str::to_owned)
}

/// Returns the code pages of the fonts of a document of Word 6, as far as they have one of their own.
pub(super) fn code_pages(fib: &Fib, tables: &[u8]) -> Vec<Option<u16>> {
    let mut pages = Vec::new();
    if !fib.is_old {
        return pages;
    }
    // The length of all fonts comes first, then each with its own.
    let mut rest = fib.table(Table::Fonts, tables).get(2..).unwrap_or(&[]);
    while let Some((length, font)) = rest.split_first() {
        let set = font.get(3).copied();
        // What is of Western fonts may be of any: the document's language tells.
        let set = set.filter(|set| *set != 0);
        pages.push(set.and_then(codepage::of_character_set));
        rest = font.get(usize::from(*length)..).unwrap_or(&[]);
    }
    pages
}

/// Returns the names of the fonts, since Word 97 ([MS-DOC] §2.9.286, §2.9.82).
pub(super) fn font_names(fib: &Fib, tables: &[u8]) -> Vec<String> {
    const NAME: usize = 39;
    let mut names = Vec::new();
    if fib.is_old {
        return names;
    }
    let mut rest = fib.table(Table::Fonts, tables).get(4..).unwrap_or(&[]);
    while let Some((length, fonts)) = rest.split_first() {
        let (font, after) = fonts
            .split_at_checked(usize::from(*length))
            .unwrap_or((fonts, &[]));
        let (units, _) = font.get(NAME..).unwrap_or(&[]).as_chunks::<2>();
        let units = units.iter().map(|unit| u16::from_le_bytes(*unit));
        let name: Vec<u16> = units.take_while(|unit| *unit != 0).collect();
        names.push(String::from_utf16_lossy(&name));
        rest = after;
    }
    names
}

/// Which lists are numbered ([MS-DOC] §2.9.131, §2.9.150).
#[derive(Debug, Default)]
pub(super) struct Lists {
    /// By the number of the list, the kinds of number of its levels.
    levels: HashMap<i32, Vec<u8>>,
    uses: Vec<i32>,
}

/// The kind of number that is a mark.
const BULLET: u8 = 23;
const NO_NUMBER: u8 = 255;

impl Lists {
    pub(super) fn read(fib: &Fib, tables: &[u8]) -> Self {
        let mut lists = Self::default();
        if fib.is_old {
            return lists;
        }
        let (rest, _) = fib.table_with_rest(Table::Lists, tables);
        lists.read_levels(rest);
        let uses = fib.table(Table::ListUses, tables);
        let count = u32_at(uses, 0).unwrap_or(0) as usize;
        let uses = uses.get(4..).unwrap_or(&[]).chunks_exact(16).take(count);
        lists.uses = uses
            .map(|entry| u32_at(entry, 0).unwrap_or(0) as i32)
            .collect();
        lists
    }

    fn read_levels(&mut self, rest: &[u8]) -> Option<()> {
        let count = usize::from(u16_at(rest, 0)?);
        let lists = rest.get(2..2 + 28 * count)?;
        let mut rest = rest.get(2 + 28 * count..)?;
        for list in lists.chunks_exact(28) {
            let levels = if list[26] & 1 == 1 { 1 } else { 9 };
            let mut kinds = Vec::new();
            for _ in 0..levels {
                kinds.push(*rest.get(4)?);
                let changes = usize::from(*rest.get(24)?) + usize::from(*rest.get(25)?);
                let text = 2 * usize::from(u16_at(rest, 28 + changes)?);
                rest = rest.get(28 + changes + 2 + text..)?;
            }
            self.levels.insert(u32_at(list, 0)? as i32, kinds);
        }
        Some(())
    }

    /// Returns whether a level of a list, by the number of its use from 1, is numbered.
    pub(super) fn is_ordered(&self, number: u16, level: u8) -> bool {
        let list = usize::from(number)
            .checked_sub(1)
            .and_then(|index| self.uses.get(index));
        let kinds = list.and_then(|list| self.levels.get(list));
        let kind = kinds.and_then(|kinds| kinds.get(usize::from(level)).or(kinds.first()));
        kind.is_some_and(|kind| !matches!(*kind, BULLET | NO_NUMBER))
    }
}

#[cfg(test)]
mod tests {
    use super::Properties;

    #[test]
    fn changes_kept_elsewhere_are_taken_once() {
        // `sprmPHugePapx` to changes at 0 and at 6, each of which sets the level of the outline.
        let data = b"\x03\0\x40\x26\x01\0\x03\0\x40\x26\x02\0";
        let changes = b"\x46\x66\0\0\0\0\x46\x66\x06\0\0\0";
        let mut properties = Properties::default();
        properties.take(changes, data);
        assert_eq!(properties.outline, Some(1));
    }
}
