//! Links of reStructuredText, and the targets that they name.

use crate::formats::markup::inline::{Link, Targets, target_name};

/// Returns `` `words <address>`_ ``, `` `words`_ ``, `` :role:`words` ``, `` `words`:role: `` or `[label]_` at the
/// beginning of a text.
pub(super) fn link(text: &str) -> Option<Link<'_>> {
    if let Some(inner) = text.strip_prefix('[') {
        return footnote_mark(inner);
    }
    let before = match text.starts_with(':') {
        true => Some(role(text).filter(|length| text[*length..].starts_with('`'))?),
        false => None,
    };
    let start = before.unwrap_or(0);
    let inner = text[start..]
        .strip_prefix('`')
        .filter(|inner| !inner.starts_with('`'))?;
    let inner = &inner[..inner.find('`')?];
    let after = &text[start + inner.len() + 2..];
    let behind = role(after).filter(|_| before.is_none());
    let has_role = before.or(behind).is_some();
    let underscores = after.len() - after.trim_start_matches('_').len();
    let length = start + inner.len() + 2 + behind.unwrap_or(underscores.min(2));
    let target = inner
        .strip_suffix('>')
        .and_then(|inner| inner.split_once('<'));
    let (words, url) = match target {
        Some((words, url)) if words.trim().is_empty() => (url, url),
        // What a role points at is no address.
        Some((words, _)) if has_role => (words.trim(), ""),
        Some((words, url)) => (words.trim(), url),
        None => (inner, ""),
    };
    let is_link = has_role || underscores > 0;
    (is_link && !words.is_empty()).then_some(Link {
        words: words.into(),
        url,
        length,
    })
}

/// Longer words are no names of targets: each sign of a word may begin one, so the words are looked at again and again.
const LONGEST_WORD: usize = 256;

/// Returns `word_` at the beginning of a text; whether it is a reference the targets tell.
pub(super) fn word(text: &str) -> Option<Link<'_>> {
    let is_part = |character: char| character.is_alphanumeric() || "-.:+_".contains(character);
    let near = &text[..text.floor_char_boundary(LONGEST_WORD + 1)];
    let end = near.find(|character: char| !is_part(character));
    let end = end.or_else(|| (near.len() == text.len()).then_some(text.len()))?;
    let written = text[..end].trim_end_matches(['.', ':', '-', '+']);
    let words = written.strip_suffix('_')?.trim_end_matches('_');
    (!words.is_empty()).then(|| Link {
        words: words.into(),
        url: "",
        length: written.len(),
    })
}

/// Returns the targets that a text names: `.. _name: address`.
pub(super) fn targets(lines: &[&str]) -> Targets {
    let mut targets = Targets::new();
    for (at, line) in lines.iter().enumerate() {
        let Some((name, address)) = target(line) else {
            continue;
        };
        let next = lines.get(at + 1).copied().unwrap_or_default();
        let address = match address.is_empty() && next.starts_with([' ', '\t']) {
            true => next.trim(),
            false => address,
        };
        let address = match address.ends_with('_') {
            // The name of another target.
            true => "",
            false => address,
        };
        targets
            .entry(target_name(name))
            .or_insert_with(|| address.to_owned());
    }
    targets
}

fn target(line: &str) -> Option<(&str, &str)> {
    let text = line.trim().strip_prefix(".. _")?;
    let (name, address) = match text.strip_prefix('`') {
        Some(quoted) => quoted.split_once("`:")?,
        None => text
            .split_once(": ")
            .or_else(|| Some((text.strip_suffix(':')?, "")))?,
    };
    (!name.is_empty()).then_some((name, address.trim()))
}

/// Returns the mark of a footnote or a citation as other notations have it.
fn footnote_mark(inner: &str) -> Option<Link<'_>> {
    let label = &inner[..inner.find(']')?];
    let is_part = |character: char| character.is_alphanumeric() || "#*-_.:+".contains(character);
    let is_label = !label.is_empty() && label.chars().all(is_part);
    let is_mark = inner[label.len() + 1..].starts_with('_');
    (is_label && is_mark).then(|| Link {
        words: format!("[^{}]", footnote_label(label)).into(),
        url: "",
        length: label.len() + 3,
    })
}

/// Returns the label of a footnote: a number sign before a name only asks for a number.
pub(super) fn footnote_label(written: &str) -> &str {
    let name = written.trim_start_matches('#');
    if name.is_empty() { written } else { name }
}

/// Returns how long the `:role:` is with which a text begins.
fn role(text: &str) -> Option<usize> {
    let rest = text.strip_prefix(':')?;
    let end = rest[..rest.floor_char_boundary(66)].find(':')?;
    let is_role = |character: char| character.is_alphanumeric() || "-_.+".contains(character);
    // A domain of Sphinx has a colon of its own: `:py:class:`.
    let length = match rest[end + 1..].find(':') {
        Some(more)
            if more > 0 && more < 66 && rest[end + 1..end + 1 + more].chars().all(is_role) =>
        {
            end + 1 + more
        }
        _ => end,
    };
    (end > 0 && rest[..end].chars().all(is_role)).then_some(length + 2)
}

#[cfg(test)]
mod tests {
    use super::{link, targets, word};

    #[test]
    fn references_are_words_with_a_line_after_them() {
        assert_eq!(word("pandoc_ to").unwrap().words, "pandoc");
        assert_eq!(word("pandoc_.").unwrap().length, 7);
        for text in ["pandoc", "_", "a b_", "__init__ x"] {
            let words = word(text).map(|link| link.words.into_owned());
            assert!(words.is_none() || text == "__init__ x", "{text}");
        }
    }

    #[test]
    fn words_without_end_are_no_references() {
        let longest = format!("{}_", "a".repeat(255));
        assert_eq!(word(&longest).unwrap().length, 256);
        assert_eq!(word(&format!("{longest} b")).unwrap().length, 256);
        assert_eq!(word(&format!("aa{longest}")), None);
        assert_eq!(word(&"a_-".repeat(1000)), None);
    }

    #[test]
    fn roles_stand_before_or_behind_their_words() {
        for (text, words, length) in [
            (":math:`x` y", "x", 9),
            (":py:class:`A` y", "A", 13),
            ("`x`:sub: y", "x", 8),
            ("`a b`_ y", "a b", 6),
            ("[#note]_ y", "[^note]", 8),
            ("[1]_", "[^1]", 4),
        ] {
            let link = link(text).unwrap();
            assert_eq!((&*link.words, link.length), (words, length), "{text}");
        }
        for text in ["`x` y", "[1] y", ":a: b", "``x``_", "[a b]_"] {
            assert_eq!(link(text), None, "{text}");
        }
    }

    #[test]
    fn targets_have_names_and_addresses() {
        let lines = [
            ".. _Pandoc: http://a.b/c",
            ".. _`a  Name: x`: /d",
            ".. _here:",
            "text",
            ".. _far:",
            "   http://e",
            ".. _other: far_",
        ];
        let targets = targets(&lines);
        let expected = [
            ("a name: x", "/d"),
            ("far", "http://e"),
            ("here", ""),
            ("other", ""),
            ("pandoc", "http://a.b/c"),
        ];
        let found = targets
            .iter()
            .map(|(name, url)| (name.as_str(), url.as_str()));
        assert_eq!(found.collect::<Vec<_>>(), expected);
    }
}
