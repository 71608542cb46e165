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

/// Returns how many bytes the references of a text unfold to, or more.
pub(crate) fn unfold_to(text: &str) -> u64 {
    let found = find_iter(text.as_bytes(), "<!ENTITY").filter_map(|at| declared(&text[at..]));
    let declared: Vec<(&str, &str)> = found.collect();
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

/// Returns the name and the value of the declaration at the beginning of a text.
fn declared(text: &str) -> Option<(&str, &str)> {
    let start = memchr::memchr2(b'"', b'\'', text.as_bytes())?;
    let name = text[..start].split_whitespace().nth(1)?;
    let inner = &text[start + 1..];
    let end = memchr::memchr(text.as_bytes()[start], inner.as_bytes())?;
    Some((name, &inner[..end]))
}

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
    fn declaration_is_found_behind_what_looks_like_one() {
        let text = "<!DOCTYPE a [<!-- <!ENTITY b \" --><!ENTITY b '123'>]><a>&b;</a>";
        assert!(unfold_to(text) >= 3);
    }
}
