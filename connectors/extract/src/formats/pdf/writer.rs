//! Texts that are put together from pieces as they are painted, without the bullets of items.

use std::rc::Rc;

use super::lines::{self, Gap, Pen, Shown};
use crate::inline::{Flat, Inline};

/// A text that is put together from what is painted.
#[derive(Default)]
pub(super) struct Writer {
    pub(super) inline: Inline,
    pen: Pen,
    /// The last letter; `None` where a line begins.
    pub(super) tail: Option<char>,
    link: Option<Rc<str>>,
    pub(super) is_bullet_awaited: bool,
    /// A dash at the beginning of an item, until it is known whether a word follows it at once.
    dash: Option<String>,
}

impl Writer {
    pub(super) fn write(&mut self, shown: &Shown, link: Option<&Rc<str>>) {
        let gap = self.pen.move_to(shown);
        let mut text = shown.text.as_str();
        if matches!(gap, Gap::Line | Gap::Paragraph) || self.tail.is_none() {
            text = text.trim_start();
        }
        if text.is_empty() {
            return;
        }
        if let Some(dash) = self.dash.take()
            && gap == Gap::None
            && !shown.text.starts_with(char::is_whitespace)
        {
            self.inline.push(&dash);
            self.tail = dash.chars().last();
        }
        if self.is_bullet_awaited {
            if is_dash(text) {
                self.dash = Some(text.to_owned());
                self.is_bullet_awaited = false;
                return;
            }
            text = without_bullet(text);
            if text.is_empty() {
                return;
            }
            self.is_bullet_awaited = false;
        }
        let mut before = [0; 4];
        let before = self.tail.map(|tail| &*tail.encode_utf8(&mut before));
        let is_apart = match gap {
            Gap::None => false,
            Gap::Space => !text.starts_with(char::is_whitespace),
            Gap::Line | Gap::Paragraph => {
                !before.is_some_and(|before| lines::is_dense(before, text))
            }
        };
        if is_apart {
            self.separate();
        }
        if self.link.as_ref() != link {
            if self.link.is_some() {
                self.inline.close_link();
            }
            if let Some(link) = link {
                self.inline.open_link(link);
            }
            self.link = link.cloned();
        }
        self.inline.push(text);
        self.tail = text.chars().last();
    }

    /// Writes a space after a word.
    pub(super) fn separate(&mut self) {
        if self.tail.is_some_and(|tail| !tail.is_whitespace()) {
            self.inline.push(" ");
            self.tail = Some(' ');
        }
    }

    pub(super) fn line_break(&mut self) {
        self.inline.line_break();
        self.tail = None;
    }

    pub(super) fn finish(mut self) -> Flat {
        if self.link.is_some() {
            self.inline.close_link();
        }
        self.inline.take()
    }
}

/// Whether a text is a dash and no more: the bullet of an item, the minus of a number, or part of an option.
fn is_dash(text: &str) -> bool {
    let mut signs = text.chars();
    matches!(signs.next(), Some('-' | '–' | '—')) && signs.next().is_none()
}

/// Returns a text without the bullet at its beginning.
fn without_bullet(text: &str) -> &str {
    let is_bullet = |sign: char| {
        "•◦▪▫■□●○–—-·‣⁃➢➔✓✔❖◆◇".contains(sign) || ('\u{F000}'..='\u{F0FF}').contains(&sign)
    };
    match text.strip_prefix(is_bullet) {
        Some(rest) if rest.is_empty() || rest.starts_with(char::is_whitespace) => rest.trim_start(),
        _ => text,
    }
}
