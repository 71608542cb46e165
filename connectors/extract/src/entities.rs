//! How much the entities that an XML text declares unfold to.
//!
//! The parser bounds references within entities, but not those of the text itself: a thousand references to a
//! kilobyte are a megabyte. Real files declare the addresses of their namespaces in this way, or styles of a few
//! words. Declarations are found by their look alone, so that nothing that hides them from here can show them to
//! the parser; what only looks like one does no harm.

use std::collections::HashMap;

use memchr::memmem::find_iter;

/// Entities within entities, deeper than the parser follows them (roxmltree 0.21).
const MOST_DEPTH: usize = 12;

/// No real file declares as many entities.
const MOST_DECLARED: usize = 10_000;

/// The value of a declaration begins within so many bytes.
const REACH: usize = 16 << 10;

/// Returns how many bytes the references of a text unfold to, or more. The time it takes grows with the text only.
pub(crate) fn unfold_to(text: &str) -> u64 {
    let Some(declared) = declarations(text) else {
        return u64::MAX;
    };
    if declared.is_empty() {
        return 0;
    }
    let mut sizes = HashMap::new();
    for _ in 0..MOST_DEPTH {
        let mut deeper = HashMap::new();
        for (name, value) in &declared {
            let size = within(value, &sizes).saturating_add(value.len() as u64);
            // Of two of one name the parser has the first, which may not be the first to look like one.
            let largest: &mut u64 = deeper.entry(*name).or_default();
            *largest = size.max(*largest);
        }
        sizes = deeper;
    }
    within(text, &sizes)
}

/// Returns the names and the values of what looks like a declaration; `None` if that cannot be all of it real. Values
/// of real declarations do not overlap.
fn declarations(text: &str) -> Option<Vec<(&str, &str)>> {
    let bytes = text.as_bytes();
    let last_quotes = [b'"', b'\''].map(|quote| memchr::memrchr(quote, bytes));
    let mut declared = Vec::new();
    let mut values = 0;
    for at in find_iter(bytes, OPENING) {
        let after = at + OPENING.len();
        if !text[after..].starts_with(char::is_whitespace) {
            continue;
        }
        let reach = bytes.len().min(after + REACH);
        let Some(quote) = memchr::memchr2(b'"', b'\'', &bytes[after..reach]) else {
            if reach < bytes.len() {
                return None;
            }
            continue;
        };
        let start = after + quote;
        let Some(name) = text[after..start].split_whitespace().next() else {
            continue;
        };
        // Where no quote follows, none is looked for.
        if last_quotes[usize::from(bytes[start] == b'\'')] == Some(start) {
            continue;
        }
        let inner = &text[start + 1..];
        let end = memchr::memchr(bytes[start], inner.as_bytes())?;
        declared.push((name, &inner[..end]));
        values += end;
        if values > bytes.len() || declared.len() > MOST_DECLARED {
            return None;
        }
    }
    Some(declared)
}

const OPENING: &str = "<!ENTITY";

/// Returns what the references within a text come to, given what each entity does.
fn within(text: &str, sizes: &HashMap<&str, u64>) -> u64 {
    let sizes = text.split('&').skip(1).filter_map(|rest| {
        let (name, _) = rest.split_once(';')?;
        sizes.get(name).copied()
    });
    sizes.fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::unfold_to;

    #[test]
    fn references_cost_what_they_stand_for() {
        let text =
            "<!DOCTYPE a [<!ENTITY b \"12345\"><!ENTITY c 'x\"'>]><a d='&b;'>&c;&amp;&#65;</a>";
        assert_eq!(unfold_to(text), 7);
        assert_eq!(unfold_to("<a>&amp;&b;&b;</a>"), 0);
    }

    #[test]
    fn references_within_values_cost_that_for_each_reference_to_them() {
        let text = "<!DOCTYPE a [<!ENTITY b '123'><!ENTITY c '&b;&b;'>]><a>&c;&c;</a>";
        // Those of the declaration count as if they were text.
        assert_eq!(unfold_to(text), 2 * (6 + 2 * 3) + 2 * 3);
    }

    #[test]
    fn entities_that_contain_themselves_are_more_than_anything() {
        let twice = "&b;".repeat(200);
        let text = format!("<!DOCTYPE a [<!ENTITY b '{twice}'>]><a>&b;</a>");
        assert_eq!(unfold_to(&text), u64::MAX);
    }

    #[test]
    fn declarations_that_cannot_all_be_real_are_more_than_anything() {
        let one_value_for_all = format!("{} \"{}\"", "<!ENTITY a".repeat(3), "x".repeat(100));
        let far_value = format!("<!ENTITY a{}\"b\"", " ".repeat(20_000));
        let many = "<!ENTITY a '1'>".repeat(10_001);
        for text in [one_value_for_all, far_value, many] {
            assert_eq!(unfold_to(&text), u64::MAX);
        }
    }

    #[test]
    fn what_only_begins_like_a_declaration_is_none() {
        for text in [
            "<!ENTITY",
            "<!ENTITY a",
            "<!ENTITY a \"b",
            "<!ENTITYa 'b'",
            "<!ENTITY 'b'",
        ] {
            assert_eq!(unfold_to(&format!("{text}&a;")), 0, "{text}");
        }
    }

    #[test]
    fn declaration_is_found_behind_what_looks_like_one() {
        let text = "<!DOCTYPE a [<!-- <!ENTITY b \" --><!ENTITY b '123'>]><a>&b;</a>";
        assert!(unfold_to(text) >= 3);
    }
}
