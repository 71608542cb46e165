//! What an RTF document says before its text: fonts, styles, information.

use std::collections::{HashMap, HashSet};

use dpe_connector::content::DocumentHead;

use super::group::{About, Encoding, code_page_of_name};
use crate::codepage;
use crate::flow::title;
use crate::formats::role::Role;
use crate::times::rfc3339;

/// A document has no more fonts and styles than this; further ones are not remembered.
const MAX_ROWS: usize = 65_536;

/// A longer text about the document says nothing about it.
const ABOUT_BYTES: usize = 64 * 1024;

/// Code pages of fonts whose letters are of one width whatever they are for.
const EAST_ASIAN: [u16; 4] = [932, 936, 949, 950];

/// The fonts.
#[derive(Debug, Default)]
pub(super) struct Fonts {
    encodings: HashMap<i32, Encoding>,
    /// Those whose characters are all of one width.
    fixed: HashSet<i32>,
    number: Option<i32>,
    is_fixed: bool,
    encoding: Option<Encoding>,
    is_symbolic: bool,
    name: String,
}

impl Fonts {
    pub(super) fn begin(&mut self, number: i32) {
        self.end();
        self.number = Some(number);
    }

    pub(super) fn character_set(&mut self, set: i32) {
        self.is_symbolic = set == 2;
        let page = u8::try_from(set).ok().and_then(codepage::of_character_set);
        self.encoding = page.map(Encoding::Page);
    }

    pub(super) fn code_page(&mut self, page: i32) {
        let page = u16::try_from(page).ok().filter(|page| *page > 0);
        self.encoding = page.map(Encoding::Page).or(self.encoding);
    }

    /// Says whether the font that is read is of one width: by its family, or for certain.
    pub(super) fn fixed(&mut self, is_fixed: bool) {
        self.is_fixed = is_fixed;
    }

    pub(super) fn name(&mut self, text: &str) {
        if self.name.len() < 256 {
            self.name.push_str(text);
        }
    }

    /// Keeps the font that was read.
    pub(super) fn end(&mut self) {
        let name = std::mem::take(&mut self.name);
        let name = name.trim().trim_end_matches(';');
        let is_symbolic = std::mem::take(&mut self.is_symbolic);
        let declared = self.encoding.take();
        let encoding = match is_symbolic {
            true if name.eq_ignore_ascii_case("symbol") => Some(Encoding::Symbol),
            true if name.eq_ignore_ascii_case("wingdings") => Some(Encoding::Wingdings),
            true => Some(Encoding::Dingbats),
            false => code_page_of_name(name).map(Encoding::Page).or(declared),
        };
        let is_fixed = std::mem::take(&mut self.is_fixed);
        let Some(number) = self.number.take() else {
            return;
        };
        // Chinese, Japanese and Korean have one width in the fonts of their books as well.
        let pages = EAST_ASIAN.map(|page| Some(Encoding::Page(page)));
        if is_fixed && !pages.contains(&encoding) && self.fixed.len() < MAX_ROWS {
            self.fixed.insert(number);
        }
        if let Some(encoding) = encoding
            && self.encodings.len() < MAX_ROWS
        {
            self.encodings.insert(number, encoding);
        }
    }

    /// Whether a font's characters are all of one width.
    pub(super) fn is_fixed(&self, number: Option<i32>) -> bool {
        number.is_some_and(|number| self.fixed.contains(&number))
    }

    pub(super) fn encoding(&self, number: Option<i32>) -> Option<Encoding> {
        self.encodings.get(&number?).copied()
    }

    /// The encoding of the font that is being read.
    pub(super) fn own_encoding(&self) -> Option<Encoding> {
        self.encoding
    }
}

/// A longer line of styles that are based on each other is a circle.
const MAX_BASES: usize = 32;

/// A style, as far as it says something.
#[derive(Clone, Copy, Debug)]
struct Style {
    base: Option<i32>,
    /// The level of a heading, or that it is none.
    level: Option<Option<u64>>,
    role: Role,
}

/// Which paragraphs are headings, and what others are for, by their styles.
#[derive(Debug, Default)]
pub(super) struct Styles {
    known: HashMap<i32, Style>,
    number: i32,
    base: Option<i32>,
    outline: Option<i32>,
    name: String,
}

impl Styles {
    pub(super) fn begin(&mut self) {
        self.number = 0;
        self.base = None;
        self.outline = None;
        self.name.clear();
    }

    pub(super) fn number(&mut self, number: i32) {
        self.number = number;
    }

    pub(super) fn base(&mut self, number: i32) {
        self.base = Some(number);
    }

    pub(super) fn outline(&mut self, level: i32) {
        self.outline = Some(level);
    }

    pub(super) fn name(&mut self, text: &str) {
        if self.name.len() < 256 {
            self.name.push_str(text);
        }
    }

    /// Keeps the style that was read.
    pub(super) fn end(&mut self) {
        let declared = self.outline.map(heading_level);
        let style = Style {
            base: self.base.take(),
            level: declared.or_else(|| heading_of_name(&self.name).map(Some)),
            role: Role::of_style(self.name.trim().trim_end_matches(';')),
        };
        if self.known.len() < MAX_ROWS {
            self.known.insert(self.number, style);
        }
    }

    /// Returns the level of the headings that a style makes, by itself or by what it is based on.
    pub(super) fn level(&self, number: i32) -> Option<u64> {
        self.line(number).find_map(|style| style.level).flatten()
    }

    /// Returns what a style makes of its paragraphs, likewise.
    pub(super) fn role(&self, number: i32) -> Role {
        let roles = self.line(number).map(|style| style.role);
        let mut roles = roles.filter(|role| *role != Role::Text);
        roles.next().unwrap_or_default()
    }

    fn line(&self, number: i32) -> impl Iterator<Item = &Style> {
        let mut next = Some(number);
        let line = std::iter::from_fn(move || {
            let style = self.known.get(&next?)?;
            next = style.base;
            Some(style)
        });
        line.take(MAX_BASES)
    }
}

/// Returns the level of a heading, from 1, of an outline level from 0.
pub(super) fn heading_level(outline: i32) -> Option<u64> {
    u64::try_from(outline)
        .ok()
        .filter(|level| *level < 9)
        .map(|level| level + 1)
}

/// Returns the level of the headings that a style of this name means.
fn heading_of_name(name: &str) -> Option<u64> {
    let name = name.trim().trim_end_matches(';').to_ascii_lowercase();
    let number = name.strip_prefix("heading")?.trim_start();
    let level: u64 = number.get(..1)?.parse().ok()?;
    let is_number = number.len() == 1 || !number.as_bytes()[1].is_ascii_alphanumeric();
    ((1..=9).contains(&level) && is_number).then_some(level)
}

/// What the document says about itself.
#[derive(Debug, Default)]
pub(super) struct Facts {
    title: String,
    author: String,
    subject: String,
    keywords: String,
    description: String,
    pub(super) created: Time,
    pub(super) modified: Time,
}

/// A time as RTF says it, without a zone.
#[derive(Debug, Default)]
pub(super) struct Time([i32; 6]);

impl Time {
    /// Sets year, month, day, hour, minute or second, by their order.
    pub(super) fn set(&mut self, part: usize, value: i32) {
        self.0[part] = value;
    }

    fn text(&self) -> Option<String> {
        let [year, month, day, hour, minute, second] = self.0;
        rfc3339(&format!(
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}"
        ))
    }
}

impl Facts {
    pub(super) fn push(&mut self, about: About, text: &str) {
        if let Some(value) = self.value(about)
            && value.len() + text.len() <= ABOUT_BYTES
        {
            value.push_str(text);
        }
    }

    /// Whether a text was said already: some programs say the author twice.
    pub(super) fn has(&mut self, about: About) -> bool {
        self.value(about).is_some_and(|value| !value.is_empty())
    }

    fn value(&mut self, about: About) -> Option<&mut String> {
        match about {
            About::Title => Some(&mut self.title),
            About::Author => Some(&mut self.author),
            About::Subject => Some(&mut self.subject),
            About::Keywords => Some(&mut self.keywords),
            About::Description => Some(&mut self.description),
            About::Created | About::Modified => None,
        }
    }

    pub(super) fn write(self, head: &mut DocumentHead) {
        head.title = title(&self.title);
        let texts = [
            ("author", Some(self.author)),
            ("subject", Some(self.subject)),
            ("keywords", Some(self.keywords)),
            ("description", Some(self.description)),
            ("created", self.created.text()),
            ("modified", self.modified.text()),
        ];
        for (name, text) in texts {
            let text = text.unwrap_or_default();
            if !text.trim().is_empty() {
                head.doc_metadata
                    .insert(name.to_owned(), text.trim().into());
            }
        }
    }
}
