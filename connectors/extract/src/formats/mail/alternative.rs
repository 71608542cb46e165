//! Two versions of one text (`multipart/alternative`): which of them is read.
//!
//! The formatted one says more: headings, tables, links. But some programs put a mere notice there, or
//! in the plain one; so the formatted version is taken if it has the words of the plain one.

use std::collections::HashSet;

use super::message;
use super::part::{Kind, Part};
use crate::formats::html;
use crate::reading::Reading;

/// One in so many words of the plain version may be missing in the formatted one: signatures, quote marks.
const MISSING_SHARE: usize = 50;

/// Returns whether to read each version; of the others only pictures and files are taken.
pub(super) fn chosen(versions: &[Part<'_>], reading: &mut Reading<'_>) -> Vec<bool> {
    let plain: String = versions
        .iter()
        .filter(|part| is_plain(part))
        .map(|part| message::text(part, reading) + "\n")
        .collect();
    let has_plain = words(&plain).next().is_some();
    let formatted = versions.iter().rposition(|part| html(part).is_some());
    let page = formatted.and_then(|at| html(&versions[at]));
    let is_covered =
        page.is_some_and(|page| !has_plain || covers_page(&message::text(page, reading), &plain));
    let is_read = |(index, part)| {
        if is_covered {
            Some(index) == formatted
        } else if has_plain {
            is_plain(part)
        } else {
            true
        }
    };
    versions.iter().enumerate().map(is_read).collect()
}

fn is_plain(part: &Part<'_>) -> bool {
    part.kind() == Kind::Text && (part.mime_type().is_none() || part.is("text", "plain"))
}

/// Returns the HTML part of a version, which may stand among its pictures.
fn html<'p, 'm>(part: &'p Part<'m>) -> Option<&'p Part<'m>> {
    match part.kind() {
        Kind::Html => Some(part),
        Kind::Multipart => part.parts().iter().find_map(html),
        _ => None,
    }
}

/// Whether a page has the words of the plain version.
pub(super) fn covers_page(page: &str, plain: &str) -> bool {
    covers(&html::words(page), plain)
}

/// Whether the text of the formatted version has the words of the plain one.
pub(super) fn covers(formatted: &str, plain: &str) -> bool {
    let (formatted, plain) = (formatted.to_lowercase(), plain.to_lowercase());
    let known: HashSet<&str> = words(&formatted).collect();
    let (mut all, mut missing) = (0, 0);
    // Addresses stand in the plain version only: in the other they are behind the words.
    let tokens = plain.split_whitespace().filter(|token| !is_address(token));
    for word in tokens.flat_map(words) {
        all += 1;
        missing += usize::from(!known.contains(word));
    }
    missing * MISSING_SHARE <= all
}

fn is_address(token: &str) -> bool {
    ["://", "www.", "mailto:", "@", "cid:"]
        .iter()
        .any(|mark| token.contains(mark))
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character: char| !character.is_alphanumeric())
        .filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::{covers, covers_page};

    #[test]
    fn formatted_version_is_read_if_it_has_the_words() {
        assert!(covers(
            "Hello World, see here",
            "hello world\n[see] here <http://a.b/c>"
        ));
        let page = "<h1>Hello</h1><p>W<b>o</b>rld</p>";
        assert!(covers_page(page, "hello world") && covers_page(page, ""));
        assert!(!covers("Your program cannot show this.", "hello world"));
    }
}
