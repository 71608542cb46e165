//! Dot leaders, which lead the eye from a heading to the number of its page: layout, no text.
//!
//! What stands for an omission or is to be filled in (`name: .......`) is text and stays.

use dpe_connector::content::{Category, Element};

/// Fewer dots are an ellipsis.
const LEADING_DOTS: usize = 5;

/// Writes a tab in place of each row of dots before a number; in tables, where a tab is the border of a cell, a space.
pub(super) fn shorten(elements: &mut [Element]) {
    for element in elements {
        let gap = match element.category {
            Category::CodeSnippet | Category::FormKeysValues => continue,
            Category::Table => ' ',
            _ => '\t',
        };
        let texts = [&mut element.text, &mut element.text_as_html];
        for text in texts.into_iter().flatten() {
            if let Some(shortened) = shortened(text, gap) {
                *text = shortened;
            }
        }
    }
}

/// Returns the text without its leaders, if it has any.
fn shortened(text: &str, gap: char) -> Option<String> {
    let mut kept = String::new();
    let mut rest = text;
    while let Some(start) = rest.find('.') {
        let (dots, length) = dots(&rest[start..]);
        let end = start + length;
        let after = rest[end..].trim_start_matches(' ');
        if dots >= LEADING_DOTS && after.starts_with(|sign: char| sign.is_ascii_digit()) {
            kept.push_str(rest[..start].trim_end_matches(' '));
            if !kept.is_empty() && !kept.ends_with(['\t', '\n', '>']) {
                kept.push(gap);
            }
            rest = after;
        } else {
            kept.push_str(&rest[..end]);
            rest = &rest[end..];
        }
    }
    kept.push_str(rest);
    (kept != text).then_some(kept)
}

/// Counts the dots with which a text begins, single spaces between them or not; returns them and their bytes.
fn dots(text: &str) -> (usize, usize) {
    let (mut dots, mut length) = (0, 0);
    let mut rest = text;
    while let Some(next) = rest.strip_prefix('.') {
        dots += 1;
        length = text.len() - next.len();
        rest = next.strip_prefix(' ').unwrap_or(next);
    }
    (dots, length)
}

#[cfg(test)]
mod tests {
    use dpe_connector::content::{Category, Element};

    use super::shorten;

    fn shortened(category: Category, text: &str) -> String {
        let mut elements = [Element::text(category, text)];
        shorten(&mut elements);
        let [element] = elements;
        element.text.unwrap()
    }

    #[test]
    fn dots_that_lead_to_a_number_become_a_tab_and_in_tables_a_space() {
        let prose = |text| shortened(Category::NarrativeText, text);
        assert_eq!(prose("1.2 Use . . . . . . 7"), "1.2 Use\t7");
        assert_eq!(prose("A........5 B ..... 12"), "A\t5 B\t12");
        assert_eq!(prose(". . . . . . 7"), "7");
        let cells = shortened(Category::Table, "x\tUse . . . . . . 7\nEnd.......9");
        assert_eq!(cells, "x\tUse 7\nEnd 9");
    }

    #[test]
    fn other_dots_stay() {
        for text in ["1 ... 5", "Name: ...........", "v1.2. x", "…..... a"] {
            assert_eq!(shortened(Category::ListItem, text), text);
        }
        let code = "a ........ 1";
        assert_eq!(shortened(Category::CodeSnippet, code), code);
    }
}
