//! The text of a Word document, character by character, to blocks.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use dpe_connector::content::Category;

use super::fib::{Fib, Table};
use super::notes::{self, Kind, Note};
use super::open::{Open, whole_fields};
use super::pictures::{self, Anchored};
use super::pieces::Text;
use super::runs::{self, Changes, OldChanges, Run, Runs};
use super::styles::{self, Lists, Properties, Styles};
use crate::ExtractError;
use crate::codepage;
use crate::flow::Container;
use crate::formats::escher::Known;
use crate::formats::story::{self, Block, Paragraph};
use crate::little_endian::{u16_at, u32_at};
use crate::reading::Reading;

/// Texts within texts: a note in a comment.
const MAX_DEPTH: usize = 4;

/// The streams of a document.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parts<'d> {
    pub(super) document: &'d [u8],
    pub(super) tables: &'d [u8],
    pub(super) data: &'d [u8],
}

/// A document while it is read.
#[derive(Debug)]
pub(super) struct Reader<'d, 'r, 'l> {
    fib: &'d Fib,
    parts: Parts<'d>,
    reading: &'r mut Reading<'l>,
    text: Text,
    paragraphs: Runs<'d>,
    /// The run of paragraphs that was looked at last, and what it says.
    last: Option<(Range<u32>, Paragraph, Properties)>,
    characters: Runs<'d>,
    styles: Styles,
    lists: Lists,
    /// The code pages of the fonts, of old documents.
    fonts: Vec<Option<u16>>,
    /// The names of the fonts, of newer ones.
    font_names: Vec<String>,
    notes: BTreeMap<usize, Note>,
    sections: BTreeMap<usize, bool>,
    anchored: Anchored,
    in_line: Known,
    numbered: usize,
    depth: usize,
}

/// What the properties of characters say.
#[derive(Clone, Copy, Debug, Default)]
struct Look {
    from: u32,
    to: u32,
    is_deleted: bool,
    is_special: bool,
    /// What a field keeps of itself stands where a picture would.
    is_data: bool,
    code_page: Option<u16>,
    picture: Option<u32>,
    symbol: Option<char>,
}

impl<'d, 'r, 'l> Reader<'d, 'r, 'l> {
    pub(super) fn new(
        fib: &'d Fib,
        parts: Parts<'d>,
        reading: &'r mut Reading<'l>,
    ) -> Result<Self, ExtractError> {
        let Parts {
            document, tables, ..
        } = parts;
        let runs = |table, of_paragraphs| {
            let kind = runs::Kind {
                is_old: fib.is_old,
                of_paragraphs,
            };
            Runs::read(fib.table(table, tables), document, kind)
        };
        Ok(Self {
            fib,
            parts,
            reading,
            text: Text::read(fib, document, tables)?,
            paragraphs: runs(Table::ParagraphRuns, true),
            last: None,
            characters: runs(Table::CharacterRuns, false),
            styles: Styles::read(fib.table(Table::Styles, tables), fib.is_old),
            lists: Lists::read(fib, tables),
            fonts: styles::code_pages(fib, tables),
            font_names: styles::font_names(fib, tables),
            notes: notes::notes(fib, tables),
            sections: notes::sections(fib, tables, document),
            anchored: Anchored::read(fib, tables),
            in_line: Known::default(),
            numbered: 0,
            depth: 0,
        })
    }

    pub(super) fn read(mut self) -> Vec<Block> {
        let lengths = self.fib.lengths;
        let mut headers = Vec::new();
        let mut footers = Vec::new();
        let mut seen = HashSet::new();
        for (is_header, range) in notes::furniture(self.fib, self.parts.tables) {
            let blocks = self.range(range, true);
            if story::is_silent(&blocks) || !seen.insert((is_header, format!("{blocks:?}"))) {
                continue;
            }
            match is_header {
                true => headers.push(Block::Within(Container::Region(Category::Header), blocks)),
                false => footers.push(Block::Within(Container::Region(Category::Footer), blocks)),
            }
        }
        let mut blocks = headers;
        blocks.append(&mut self.range(0..lengths.body as usize, false));
        for (_, note) in std::mem::take(&mut self.notes) {
            let inner = self.range(note.text.clone(), false);
            let container = self.container(note.kind);
            blocks.push(Block::Within(container, inner));
        }
        let counts = [
            lengths.body,
            lengths.footnotes,
            lengths.furniture,
            lengths.macros,
            lengths.comments,
            lengths.endnotes,
        ];
        let boxes = counts.iter().map(|length| *length as usize).sum::<usize>();
        let end = boxes + lengths.boxes as usize + lengths.furniture_boxes as usize;
        if self.fib.is_old && lengths.endnotes > 0 {
            let endnotes = boxes - lengths.endnotes as usize;
            blocks.append(&mut self.range(endnotes..boxes, false));
        }
        blocks.append(&mut self.range(boxes..end, false));
        blocks.append(&mut footers);
        blocks
    }

    fn container(&mut self, kind: Kind) -> Container {
        match kind {
            Kind::Comment => story::comment(),
            Kind::Note => {
                let label = self.numbered.max(1).to_string();
                Container::Footnote { label }
            }
        }
    }

    /// Reads a run of text.
    fn range(&mut self, range: Range<usize>, is_furniture: bool) -> Vec<Block> {
        let end = range.end.min(self.text.units.len());
        if range.start >= end || self.depth >= MAX_DEPTH {
            return Vec::new();
        }
        self.depth += 1;
        let fields = whole_fields(&self.text.units, range.start..end);
        let mut open = Open::new(is_furniture);
        let mut look = Look::default();
        for at in range.start..end {
            let unit = self.text.units[at];
            let offset = self.text.offset(at).unwrap_or(u32::MAX);
            if !(look.from..look.to).contains(&offset) {
                let before = look.code_page;
                look = self.look(offset);
                if look.code_page != before {
                    open.flush(self.fib);
                }
                open.code_page = look.code_page;
            }
            if (0x13..=0x15).contains(&unit) {
                if fields.contains(&at) {
                    open.flush(self.fib);
                    open.field(unit);
                }
                continue;
            }
            if matches!(unit, 0x0D | 0x07 | 0x0C) {
                open.flush(self.fib);
                self.mark(unit, at, offset, &mut open);
            } else if !look.is_deleted {
                self.character(unit, at, &look, &mut open);
            }
        }
        open.flush(self.fib);
        self.depth -= 1;
        open.story.finish(Paragraph::default())
    }

    /// Ends a paragraph, a cell, a row or a page.
    fn mark(&mut self, unit: u16, at: usize, offset: u32, open: &mut Open) {
        if unit == 0x0C {
            let section = self.sections.get(&at).copied();
            let (paragraph, properties) = self.paragraph(offset);
            if properties.in_table && section.is_none() {
                return;
            }
            open.story.end_paragraph(paragraph);
            if section.unwrap_or(true) {
                open.story.page_break();
            }
            return;
        }
        let (paragraph, properties) = self.paragraph(offset);
        match unit {
            0x07 if properties.is_row_end => {
                open.story.end_row(properties.is_header, &properties.cells);
            }
            0x07 => open.story.end_cell(),
            _ => open.story.end_paragraph(paragraph),
        }
    }

    fn paragraph(&mut self, offset: u32) -> (Paragraph, Properties) {
        if let Some((range, paragraph, properties)) = &self.last
            && range.contains(&offset)
        {
            return (*paragraph, properties.clone());
        }
        let Some(run) = self.paragraphs.at(offset) else {
            return (Paragraph::default(), Properties::default());
        };
        let (paragraph, properties) = self.of_run(run);
        self.last = Some((run.from..run.to, paragraph, properties.clone()));
        (paragraph, properties)
    }

    fn of_run(&self, run: Run<'_>) -> (Paragraph, Properties) {
        let mut properties = Properties::default();
        match self.fib.is_old {
            true => properties.take_old(run.changes),
            false => properties.take(run.changes, self.parts.data),
        }
        let heading = match properties.outline {
            Some(outline) => (outline < 9).then(|| u64::from(outline) + 1),
            None => self.styles.heading(run.style),
        };
        let of_style = self.styles.list(run.style);
        let list = properties.list.or(of_style.0).unwrap_or(0);
        let level = properties.list_level.or(of_style.1).unwrap_or(0);
        let is_listed = list != 0 && list < 0xF801;
        let item = is_listed.then(|| (usize::from(level), self.lists.is_ordered(list, level)));
        let paragraph = Paragraph {
            heading,
            item,
            in_table: properties.in_table || properties.depth > 0,
            role: self.styles.role(run.style),
            ..Paragraph::default()
        };
        (paragraph, properties)
    }

    fn look(&self, offset: u32) -> Look {
        let Some(run) = self.characters.at(offset) else {
            return Look::default();
        };
        let mut look = Look {
            from: run.from,
            to: run.to,
            ..Look::default()
        };
        if self.fib.is_old {
            self.look_old(run.changes, &mut look);
            return look;
        }
        for (number, operand) in Changes(run.changes) {
            let is_on = operand.first().is_some_and(|value| *value == 1);
            match number {
                0x0800 => look.is_deleted = is_on,
                0x0855 => look.is_special = is_on,
                0x0806 => look.is_data = is_on,
                0x6A03 => {
                    look.picture = u32_at(operand, 0);
                    look.is_special = true;
                }
                0x6A09 => {
                    let font = usize::from(u16_at(operand, 0).unwrap_or(u16::MAX));
                    let font = self.font_names.get(font).map_or("", String::as_str);
                    look.symbol = symbol(font, u16_at(operand, 2).unwrap_or(0));
                }
                _ => {}
            }
        }
        look
    }

    /// Before Word 97 the numbers of changes are single bytes.
    fn look_old(&self, changes: &[u8], look: &mut Look) {
        look.is_special = true;
        for (number, operand) in OldChanges(changes) {
            let is_on = operand.first().is_some_and(|value| *value == 1);
            match number {
                65 => look.is_deleted = is_on,
                68 => look.picture = u32_at(operand, 0),
                93 => {
                    let font = u16_at(operand, 0).map_or(usize::MAX, usize::from);
                    look.code_page = self.fonts.get(font).copied().flatten();
                }
                _ => {}
            }
        }
    }

    fn character(&mut self, unit: u16, at: usize, look: &Look, open: &mut Open) {
        if self.notes.contains_key(&at) {
            open.flush(self.fib);
            self.note(unit, at, open);
            return;
        }
        match unit {
            0x01 | 0x08 if look.is_special && !look.is_data => {
                open.flush(self.fib);
                self.picture(unit == 0x08, at, look, open);
            }
            0x28 if look.is_special && look.symbol.is_some() => {
                open.flush(self.fib);
                let symbol = look.symbol.unwrap_or_default();
                open.push(symbol.encode_utf8(&mut [0; 4]));
            }
            0x00 if look.is_special && open.is_furniture => {
                open.flush(self.fib);
                open.leave_out_number();
            }
            0x0B => {
                open.flush(self.fib);
                if open.is_shown() {
                    open.story.inline().line_break();
                }
            }
            0x1E => open.units.push(if self.fib.is_old {
                u16::from(b'-')
            } else {
                0x2011
            }),
            0x09 | 0x20.. => open.units.push(unit),
            _ => {}
        }
    }

    fn note(&mut self, unit: u16, at: usize, open: &mut Open) {
        let Some(note) = self.notes.remove(&at) else {
            return;
        };
        if note.kind == Kind::Note {
            self.numbered += 1;
            let label = format!("[^{}]", self.numbered);
            if unit == 0x02 {
                open.push(&label);
            }
        }
        let container = self.container(note.kind);
        if unit >= 0x20 {
            open.units.push(unit);
        }
        let blocks = self.range(note.text, false);
        open.story.anchor(Some(container), blocks);
    }

    fn picture(&mut self, is_anchored: bool, at: usize, look: &Look, open: &mut Open) {
        if !open.is_shown() {
            return;
        }
        let data = if self.fib.is_old {
            self.parts.document
        } else {
            self.parts.data
        };
        // What is anchored has a place as well, and it means nothing.
        let (pictures, texts) = match look.picture.filter(|_| !is_anchored) {
            Some(place) => {
                let picture = self.in_line.picture(place as usize, || {
                    pictures::in_line(data, place, self.reading)
                });
                (Vec::from_iter(picture), Vec::new())
            }
            None => self.anchored.at(at, self.parts.document, self.reading),
        };
        for picture in pictures {
            let inline = open.story.inline();
            inline.open_picture(picture);
            inline.close_picture();
        }
        let texts = texts.iter().map(|text| Block::text(text));
        open.story.anchor(None, texts.collect());
    }
}

/// Symbols are written by the private numbers of their fonts; of a font that is not named, as those of Symbol.
fn symbol(font: &str, number: u16) -> Option<char> {
    match (font, number) {
        ("Wingdings", 0xF020..=0xF0FF) => Some(codepage::wingding((number & 0xFF) as u8)),
        ("Symbol" | "", 0xF020..=0xF0FF) => Some(codepage::symbol((number & 0xFF) as u8)),
        _ => char::from_u32(u32::from(number)),
    }
}

#[cfg(test)]
mod tests {
    use super::symbol;

    #[test]
    fn symbols_are_those_of_their_font() {
        assert_eq!(symbol("Wingdings", 0xF0FC), Some('✓'));
        assert_eq!(symbol("Symbol", 0xF061), Some('α'));
        assert_eq!(symbol("", 0xF061), Some('α'));
        assert_eq!(symbol("Webdings", 0xF061), Some('\u{F061}'));
        assert_eq!(symbol("Arial", 0x2022), Some('•'));
    }
}
