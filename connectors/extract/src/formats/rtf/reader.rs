//! The state of an RTF document while it is read: groups, the bytes of the text at hand, stories.

use std::collections::HashSet;

use super::group::{Destination, Encoding, Ending, Group, Kind};
use super::picture::PictureData;
use super::sheet::{Facts, Fonts, Styles, heading_level};
use super::token::{Token, Tokens};
use crate::ExtractError;
use crate::codepage::WESTERN;
use crate::formats::role::Role;
use crate::formats::story::{self, Block, CellForm, Paragraph, Story};
use crate::formats::typed::{self, Label, Typed};
use crate::reading::Reading;
use crate::reason::Reason;

/// Groups within groups; no program writes as many.
const MAX_GROUPS: usize = 4096;

/// Stories within stories: a note in a box in a header.
const MAX_STORIES: usize = 16;

/// A longer instruction of a field is none.
const MAX_INSTRUCTION: usize = 16 * 1024;

/// A document under way.
#[derive(Debug)]
pub(super) struct Reader<'r, 'l> {
    pub(super) reading: &'r mut Reading<'l>,
    pub(super) group: Group,
    groups: Vec<Group>,
    bytes: Vec<u8>,
    /// How many more characters only stand in for one that was there already.
    pub(super) skip: u32,
    high_surrogate: Option<u16>,
    pub(super) code_page: u16,
    pub(super) default_font: Option<i32>,
    pub(super) fonts: Fonts,
    pub(super) styles: Styles,
    pub(super) facts: Facts,
    pub(super) fields: Vec<Field>,
    pub(super) picture: Option<PictureData>,
    pub(super) shape_name: String,
    pub(super) shape_value: String,
    pub(super) label: Option<String>,
    widths: Widths,
    /// What the paragraphs were so far in which stories stand.
    interrupted: Vec<(Widths, Option<String>)>,
    /// Bytes of paragraphs that are code by the width of their letters, and of others.
    of_width: (usize, usize),
    pub(super) row: RowForm,
    pub(super) body: Story,
    pub(super) stories: Vec<Story>,
    /// How many of the stories are headers and footers.
    pub(super) furniture_stories: usize,
    /// Whether a section has ended, so that the next one begins a page unless it says otherwise.
    pub(super) awaits_page: bool,
    pub(super) footnotes: usize,
    pub(super) furniture: HashSet<(bool, String)>,
    pub(super) footers: Vec<Block>,
}

/// A field that is open.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) instruction: String,
    pub(super) outer: Destination,
    pub(super) has_result: bool,
}

/// Whether a paragraph has characters of fonts of one width, and others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Widths {
    has_fixed: bool,
    has_others: bool,
}

impl Widths {
    /// Whether all characters are of fonts of one width.
    fn are_fixed(self) -> bool {
        self.has_fixed && !self.has_others
    }
}

/// What a row's definition says.
#[derive(Debug, Default)]
pub(super) struct RowForm {
    pub(super) is_header: bool,
    pub(super) cell: CellForm,
    pub(super) cells: Vec<CellForm>,
}

impl<'r, 'l> Reader<'r, 'l> {
    pub(super) fn new(reading: &'r mut Reading<'l>) -> Self {
        Self {
            reading,
            group: Group::new(),
            groups: Vec::new(),
            bytes: Vec::new(),
            skip: 0,
            high_surrogate: None,
            code_page: WESTERN,
            default_font: None,
            fonts: Fonts::default(),
            styles: Styles::default(),
            facts: Facts::default(),
            fields: Vec::new(),
            picture: None,
            shape_name: String::new(),
            shape_value: String::new(),
            label: None,
            widths: Widths::default(),
            interrupted: Vec::new(),
            of_width: (0, 0),
            row: RowForm::default(),
            body: Story::default(),
            stories: Vec::new(),
            furniture_stories: 0,
            awaits_page: false,
            footnotes: 0,
            furniture: HashSet::new(),
            footers: Vec::new(),
        }
    }

    pub(super) fn read(&mut self, bytes: &[u8]) -> Result<(), ExtractError> {
        let mut tokens = Tokens::new(bytes);
        while let Some(token) = tokens.next() {
            let may_change = matches!(token, Token::Open | Token::Close | Token::Word(..));
            match token {
                Token::Open => self.open()?,
                Token::Close => {
                    self.close();
                    if self.groups.is_empty() {
                        break;
                    }
                }
                Token::Text(text) => self.text(text),
                Token::Hex(byte) => self.byte(byte),
                Token::Binary(bytes) => self.binary(bytes),
                Token::Symbol(symbol) => self.symbol(symbol),
                Token::Word(name, parameter) => {
                    if self.skip > 0 && name != b"u" && name != b"uc" {
                        self.skip -= 1;
                    } else {
                        self.word(name, parameter);
                    }
                }
            }
            if may_change {
                tokens.shift_jis(self.is_shift_jis());
            }
        }
        self.note_braces(tokens.rest());
        while !self.groups.is_empty() {
            self.close();
        }
        self.flush();
        Ok(())
    }

    /// Notes that text may be missing because a brace is, or is too many; `rest` is what stands behind the document.
    fn note_braces(&mut self, rest: &[u8]) {
        if !self.groups.is_empty() {
            let note = "it ends within its groups: its end, or a closing brace, is missing";
            self.reading.note(note);
        } else if rest.iter().any(u8::is_ascii_alphanumeric) {
            self.reading
                .note("what stands behind its last group is not read");
        }
    }

    pub(super) fn finish(mut self) -> (Facts, Vec<Block>) {
        let paragraph = self.paragraph();
        let mut blocks = self.body.finish(paragraph);
        typed::make_items(&mut blocks);
        // Who writes everything with letters of one width does not mean code.
        if self.of_width.0 > self.of_width.1 {
            story::forget_code_lines(&mut blocks);
        }
        blocks.append(&mut self.footers);
        (self.facts, blocks)
    }

    /// Returns the story that is written.
    pub(super) fn story(&mut self) -> &mut Story {
        self.stories.last_mut().unwrap_or(&mut self.body)
    }

    /// Whether what comes now is text that people see.
    pub(super) fn is_shown(&self) -> bool {
        self.group.destination == Destination::Story && !self.group.is_deleted
    }

    /// Whether the story is a header or a footer, or within one.
    pub(super) fn is_in_furniture(&self) -> bool {
        self.furniture_stories > 0
    }

    /// Goes on with the paragraph in which a story stood.
    pub(super) fn resume_paragraph(&mut self) {
        (self.widths, self.label) = self.interrupted.pop().unwrap_or_default();
    }

    /// Begins a story of its own.
    pub(super) fn open_story(&mut self, kind: Kind) {
        let is_reached = self.group.destination != Destination::Nowhere;
        // A second destination in a group is none: only one story ends with it.
        let is_taken = matches!(self.group.ending, Ending::Story(_));
        let is_full = self.stories.len() >= MAX_STORIES;
        if !is_reached || is_taken || is_full || self.group.is_deleted {
            return;
        }
        self.flush();
        if kind == Kind::Footnote && self.is_shown() {
            let label = format!("[^{}]", self.footnotes + 1);
            self.story().inline().push(&label);
        }
        self.stories.push(Story::default());
        let paragraph = (std::mem::take(&mut self.widths), self.label.take());
        self.interrupted.push(paragraph);
        self.furniture_stories += usize::from(kind.is_furniture());
        self.group.destination = Destination::Story;
        self.group.ending = Ending::Story(kind);
        self.group.properties = Default::default();
    }

    /// Returns what the paragraph is that ends here.
    pub(super) fn paragraph(&self) -> Paragraph {
        let properties = &self.group.properties;
        let outline = properties.outline.map(heading_level);
        let heading = outline.unwrap_or_else(|| self.styles.level(properties.style));
        let label = self.label.as_deref().unwrap_or("").trim();
        let is_item = properties.is_listed || !label.is_empty();
        let depth = usize::try_from(properties.list_level).unwrap_or(0);
        let ordered = label.contains(|character: char| character.is_alphanumeric() && label != "o");
        let item = is_item.then_some((depth, ordered));
        let by_style = self.styles.role(properties.style);
        let is_text = heading.is_none() && item.is_none() && !properties.in_table;
        let is_by_width = is_text && by_style == Role::Text && self.widths.are_fixed();
        Paragraph {
            heading,
            item,
            in_table: properties.in_table,
            role: if is_by_width {
                Role::CodeLine
            } else {
                by_style
            },
            is_by_width,
            typed: None,
        }
    }

    /// Ends the paragraph.
    pub(super) fn end_paragraph(&mut self) {
        self.flush();
        let mut paragraph = self.paragraph();
        let length = self.story().inline().text().len();
        match self.widths.are_fixed() {
            true => self.of_width.0 += length,
            false => self.of_width.1 += length,
        }
        let is_text = paragraph.heading.is_none() && paragraph.item.is_none();
        // Tabs of headers and footers part what stands left and right.
        if is_text && !paragraph.in_table && !self.is_in_furniture() {
            self.stand(&mut paragraph);
        }
        self.label = None;
        self.widths = Widths::default();
        self.story().end_paragraph(paragraph);
    }

    /// Says how a paragraph stands, and whether it begins as an item does whose label is typed.
    fn stand(&mut self, paragraph: &mut Paragraph) {
        let properties = self.group.properties;
        let is_code = paragraph.role.is_code() && !paragraph.is_by_width;
        let hangs = properties.first_indent < 0 && !is_code;
        let inline = self.story().inline();
        let label = hangs.then(|| Label::of(inline.text())).flatten();
        // Blank paragraphs are room between items.
        paragraph.typed = (!inline.is_blank()).then_some(Typed {
            indent: properties.indent,
            label,
        });
        if label.is_some() && paragraph.is_by_width {
            (paragraph.role, paragraph.is_by_width) = (Role::Text, false);
        }
    }

    pub(super) fn end_cell(&mut self) {
        self.flush();
        self.label = None;
        self.widths = Widths::default();
        self.story().end_cell();
    }

    pub(super) fn end_row(&mut self) {
        self.flush();
        let (is_header, forms) = (self.row.is_header, std::mem::take(&mut self.row.cells));
        self.story().end_row(is_header, &forms);
        self.row.cells = forms;
    }

    fn open(&mut self) -> Result<(), ExtractError> {
        self.flush();
        self.skip = 0;
        if self.groups.len() >= MAX_GROUPS {
            let message = format!("groups nested more than {MAX_GROUPS} deep");
            return Err(ExtractError::new(Reason::Bomb, message));
        }
        self.groups.push(self.group);
        self.group = self.group.inner();
        match self.group.destination {
            Destination::Fonts => self.group.ending = Ending::Font,
            Destination::Styles => {
                self.styles.begin();
                self.group.ending = Ending::Style;
            }
            _ => {}
        }
        Ok(())
    }

    fn close(&mut self) {
        self.flush();
        self.skip = 0;
        match self.group.ending {
            Ending::Nothing => {}
            Ending::Story(kind) => self.end_story(kind),
            Ending::Field => self.end_field(),
            Ending::Link => self.story().inline().close_link(),
            Ending::Picture => self.end_picture(),
            Ending::Font => self.fonts.end(),
            Ending::Style => self.styles.end(),
            Ending::ShapeValue => self.end_shape_value(),
        }
        let Some(outer) = self.groups.pop() else {
            return;
        };
        self.group = outer;
    }

    fn text(&mut self, text: &[u8]) {
        if text.is_empty() {
            return;
        }
        let skipped = (self.skip as usize).min(text.len());
        self.skip -= skipped as u32;
        let text = &text[skipped..];
        if self.group.destination == Destination::Picture {
            if let Some(picture) = &mut self.picture {
                picture.digits(text);
            }
            return;
        }
        self.bytes.extend_from_slice(text);
    }

    /// Adds a byte of the code page that was written as a control symbol.
    pub(super) fn raw(&mut self, byte: u8) {
        self.byte(byte);
    }

    fn byte(&mut self, byte: u8) {
        if self.skip > 0 {
            self.skip -= 1;
        } else if self.group.destination != Destination::Picture {
            self.bytes.push(byte);
        }
    }

    fn binary(&mut self, bytes: &[u8]) {
        if self.skip > 0 {
            self.skip -= 1;
        } else if self.group.destination == Destination::Picture
            && let Some(picture) = &mut self.picture
        {
            picture.binary(bytes);
        }
    }

    /// Adds a character of Unicode by its number, or half of one.
    pub(super) fn unicode(&mut self, number: i32) {
        self.flush();
        let unit = (number & 0xFFFF) as u16;
        let decoded = match (self.high_surrogate.take(), unit) {
            (_, 0xD800..=0xDBFF) => {
                self.high_surrogate = Some(unit);
                return;
            }
            (Some(high), 0xDC00..=0xDFFF) => char::decode_utf16([high, unit]).next(),
            _ => char::decode_utf16([unit]).next(),
        };
        let character = decoded.and_then(Result::ok);
        let character = character.map(|character| self.encoding().character(character));
        if let Some(character) = character.filter(|character| *character != '\0') {
            self.emit(character.encode_utf8(&mut [0; 4]));
        }
    }

    /// Writes the bytes that were read as text of the encoding they are in.
    pub(super) fn flush(&mut self) {
        if self.bytes.is_empty() {
            return;
        }
        let bytes = std::mem::take(&mut self.bytes);
        if self.group.destination != Destination::Nowhere {
            let text = self.encoding().decode(&bytes);
            self.emit(&text);
        }
        self.bytes = bytes;
        self.bytes.clear();
    }

    fn is_shift_jis(&self) -> bool {
        self.group.destination != Destination::Nowhere && self.encoding() == Encoding::Page(932)
    }

    fn encoding(&self) -> Encoding {
        let declared = match self.group.destination {
            Destination::Fonts => self.fonts.own_encoding(),
            Destination::Info | Destination::About(_) | Destination::Styles => None,
            _ => match self.group.character_set {
                Some(page) => Some(Encoding::Page(page)),
                None => self.fonts.encoding(self.group.font.or(self.default_font)),
            },
        };
        declared.unwrap_or(Encoding::Page(self.code_page))
    }

    /// Looks whether a text is of a font of one width. If that of the document is, this tells nothing.
    fn note_width(&mut self, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        let font = self.group.font.or(self.default_font);
        let is_fixed = self.fonts.is_fixed(font) && !self.fonts.is_fixed(self.default_font);
        self.widths.has_fixed |= is_fixed;
        self.widths.has_others |= !is_fixed;
    }

    /// Writes text where the group's text goes.
    pub(super) fn emit(&mut self, text: &str) {
        match self.group.destination {
            Destination::Story if self.is_shown() => {
                if let Some(field) = self.fields.last_mut() {
                    field.has_result |= !text.trim().is_empty();
                }
                if self.stories.is_empty() && std::mem::take(&mut self.awaits_page) {
                    self.story().page_break();
                }
                self.note_width(text);
                self.story().inline().push(text);
            }
            Destination::Fonts => self.fonts.name(text),
            Destination::Styles => self.styles.name(text),
            Destination::About(about) => self.facts.push(about, text),
            Destination::Instruction(number) => {
                if let Some(field) = self.fields.get_mut(number)
                    && field.instruction.len() < MAX_INSTRUCTION
                {
                    field.instruction.push_str(text);
                }
            }
            Destination::Label => {
                let label = self.label.get_or_insert_default();
                if label.len() < 64 {
                    label.push_str(text);
                }
            }
            Destination::ShapeName if self.shape_name.len() < 64 => self.shape_name.push_str(text),
            Destination::ShapeValue => self.shape_value.push_str(text),
            _ => {}
        }
    }

    /// Begins the value of a shape's property.
    pub(super) fn open_shape_value(&mut self) {
        self.shape_value.clear();
        self.group.destination = Destination::ShapeValue;
        self.group.ending = Ending::ShapeValue;
    }
}
