//! Marks within a line: emphasis is flattened, links are noted. A mark that is not closed stays.

use crate::inline::{Flat, Inline};

/// The marks of a notation.
pub(super) struct Notation {
    /// Marks that stand before and after words, the longest first; the words stay.
    pub(super) marks: &'static [&'static str],
    /// Reads a link at the beginning of a text.
    pub(super) link: fn(&str) -> Option<Link<'_>>,
}

/// A link: its words, where it leads, and how long it is written.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Link<'t> {
    pub(super) words: &'t str,
    /// Empty if it leads nowhere that could be noted.
    pub(super) url: &'t str,
    pub(super) length: usize,
}

/// Returns a block's text with its marks read.
pub(super) fn flat(text: &str, notation: &Notation) -> Flat {
    let mut inline = Inline::default();
    let mut at = 0;
    let mut written = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let before = text[..at].chars().next_back();
        // A link is written within a few lines: so much is looked at.
        let near = &rest[..rest.floor_char_boundary(2048)];
        let opens = before.is_none_or(|character| !character.is_alphanumeric());
        if opens && let Some(link) = (notation.link)(near) {
            inline.push(&text[written..at]);
            inline.open_link(link.url);
            inline.push(link.words);
            inline.close_link();
            at += link.length;
            written = at;
            continue;
        }
        if opens && let Some((mark, words)) = marked(rest, notation.marks) {
            inline.push(&text[written..at]);
            inline.push(words);
            at += words.len() + 2 * mark;
            written = at;
            continue;
        }
        at += rest.chars().next().map_or(1, char::len_utf8);
    }
    inline.push(&text[written..]);
    inline.take()
}

/// Returns the length of a mark at the beginning and the words between it and the one that closes it.
fn marked<'t>(text: &'t str, marks: &[&str]) -> Option<(usize, &'t str)> {
    let mark = marks.iter().find(|mark| text.starts_with(**mark))?;
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
    ends.map(|(end, _)| (mark.len(), &rest[..end]))
}

#[cfg(test)]
mod tests {
    use super::{Link, Notation, flat};

    const STARS: Notation = Notation {
        marks: &["**", "*"],
        link: |text| {
            let words = text.strip_prefix('<')?.split('>').next()?;
            Some(Link {
                words,
                url: words,
                length: words.len() + 2,
            })
        },
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
            assert_eq!(flat(text, &STARS).text, expected);
        }
    }

    #[test]
    fn links_are_noted() {
        let flat = flat("see <http://a.b>.", &STARS);
        assert_eq!(flat.text, "see http://a.b.");
        assert_eq!(flat.links[0].url, "http://a.b");
    }
}
