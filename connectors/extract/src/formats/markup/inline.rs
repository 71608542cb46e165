//! Marks within a line: emphasis is flattened, links are noted. A mark that is not closed stays.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::inline::{Flat, Inline};

/// The marks of a notation.
pub(super) struct Notation {
    /// Marks that stand before and after words, the longest first; the words stay.
    pub(super) marks: &'static [&'static str],
    /// Reads a link at the beginning of a text.
    pub(super) link: fn(&str) -> Option<Link<'_>>,
    /// Reads what is a link if its words are those of a target, and otherwise words.
    pub(super) reference: fn(&str) -> Option<Link<'_>>,
    /// The mark whose words are as written, if in others a backslash takes the meaning from what follows it.
    pub(super) literal: Option<&'static str>,
}

/// A link: its words, where it leads, and how long it is written.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Link<'t> {
    pub(super) words: Cow<'t, str>,
    /// Empty if it leads nowhere that could be noted, or where a target with its words leads.
    pub(super) url: &'t str,
    pub(super) length: usize,
}

/// No reference of any notation.
pub(super) fn no_reference(_: &str) -> Option<Link<'_>> {
    None
}

/// Where the targets of a text lead that its links name, by [`target_name`]; within the text nowhere.
pub(super) type Targets = BTreeMap<String, String>;

/// Returns the name of a target as links are compared with it.
pub(super) fn target_name(written: &str) -> String {
    let words: Vec<String> = written.split_whitespace().map(str::to_lowercase).collect();
    words.join(" ")
}

/// Returns a block's text with its marks read.
pub(super) fn flat(text: &str, notation: &Notation, targets: &Targets) -> Flat {
    let mut inline = Inline::default();
    let mut at = 0;
    let mut written = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let before = text[..at].chars().next_back();
        let opens = before.is_none_or(|character| !character.is_alphanumeric());
        if notation.literal.is_some()
            && let Some(escaped) = rest.strip_prefix('\\')
        {
            inline.push(&text[written..at]);
            // White space that is escaped only keeps marks and words apart.
            let length = escaped.chars().next().map_or(0, char::len_utf8);
            inline.push(escaped[..length].trim());
            at += 1 + length;
            written = at;
        } else if opens && let Some(link) = link(rest, notation, targets) {
            inline.push(&text[written..at]);
            inline.open_link(address(&link, targets));
            inline.push(&link.words);
            inline.close_link();
            at += link.length;
            written = at;
        } else if opens && let Some((mark, words)) = marked(rest, notation.marks) {
            inline.push(&text[written..at]);
            let is_literal = notation.literal.is_none_or(|literal| literal == mark);
            inline.push(&unescaped(words, is_literal));
            at += words.len() + 2 * mark.len();
            written = at;
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    inline.push(&text[written..]);
    inline.take()
}

/// Reads a link or a reference. It is written within a few lines: so much is looked at.
fn link<'t>(text: &'t str, notation: &Notation, targets: &Targets) -> Option<Link<'t>> {
    let near = &text[..text.floor_char_boundary(2048)];
    let named = |link: &Link<'_>| targets.contains_key(&target_name(&link.words));
    (notation.link)(near).or_else(|| (notation.reference)(near).filter(named))
}

/// Returns where a link leads: a target of the text is named by words, or by its name with a line after it.
fn address<'l>(link: &Link<'l>, targets: &'l Targets) -> &'l str {
    let name = match link.url {
        "" => Some(&*link.words),
        url => url.strip_suffix('_'),
    };
    let target = name.and_then(|name| targets.get(&target_name(name)));
    target.map_or(link.url, String::as_str)
}

fn unescaped(words: &str, is_literal: bool) -> Cow<'_, str> {
    if is_literal || !words.contains('\\') {
        return Cow::Borrowed(words);
    }
    let mut text = String::with_capacity(words.len());
    let mut characters = words.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => text.extend(characters.next().filter(|next| !next.is_whitespace())),
            other => text.push(other),
        }
    }
    Cow::Owned(text)
}

/// Returns the mark at the beginning and the words between it and the one that closes it.
fn marked<'t>(text: &'t str, marks: &[&'static str]) -> Option<(&'static str, &'t str)> {
    let mark = *marks.iter().find(|mark| text.starts_with(**mark))?;
    let rest = &text[mark.len()..];
    if rest.starts_with(char::is_whitespace) {
        return None;
    }
    // A mark reaches over a few lines, not over a book.
    let reach = rest.floor_char_boundary(500);
    let ends = rest[..reach].match_indices(mark).find(|(end, _)| {
        let words = &rest[..*end];
        let after = rest[end + mark.len()..].chars().next();
        !words.is_empty()
            && !words.ends_with(char::is_whitespace)
            && after.is_none_or(|character| {
                !character.is_alphanumeric() && !mark.starts_with(character)
            })
    });
    ends.map(|(end, _)| (mark, &rest[..end]))
}

#[cfg(test)]
mod tests {
    use super::{Link, Notation, Targets, flat, no_reference};

    const STARS: Notation = Notation {
        marks: &["**", "*"],
        link: |text| {
            let words = text.strip_prefix('<')?.split('>').next()?;
            Some(Link {
                words: words.into(),
                url: words,
                length: words.len() + 2,
            })
        },
        reference: no_reference,
        literal: None,
    };

    #[test]
    fn marks_are_flattened_where_they_are_closed() {
        for (text, expected) in [
            ("a *b c* **d**, e", "a b c d, e"),
            ("2*3*4 and * and *open", "2*3*4 and * and *open"),
            ("*a* * b *", "a * b *"),
            ("ä*ö* (*ü*)", "ä*ö* (ü)"),
            ("**a*b**", "a*b"),
        ] {
            assert_eq!(flat(text, &STARS, &Targets::new()).text, expected);
        }
    }

    #[test]
    fn links_are_noted() {
        let flat = flat("see <http://a.b>.", &STARS, &Targets::new());
        assert_eq!(flat.text, "see http://a.b.");
        assert_eq!(flat.links[0].url, "http://a.b");
    }
}
