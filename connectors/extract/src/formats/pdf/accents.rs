//! Accents that stand on nothing: some fonts name their quotes so, and the parser leaves them behind a space.

use dpe_connector::content::{Category, Element};

/// Takes accents out that follow a space, or begin a text.
pub(super) fn drop_stray(elements: &mut [Element]) {
    let elements = elements.iter_mut();
    for element in elements.filter(|element| element.category != Category::Table) {
        let Some(text) = &mut element.text else {
            continue;
        };
        let mut stands_on_nothing = true;
        text.retain(|letter| {
            let is_kept = !(stands_on_nothing && is_accent(letter));
            // Of several in a row none stands on anything.
            stands_on_nothing &= !is_kept;
            stands_on_nothing |= letter.is_whitespace();
            is_kept
        });
    }
}

fn is_accent(letter: char) -> bool {
    matches!(letter, '\u{300}'..='\u{36F}')
}

#[cfg(test)]
mod tests {
    use dpe_connector::content::{Category, Element};

    use super::drop_stray;

    #[test]
    fn accents_behind_spaces_go_and_those_on_letters_stay() {
        let text = "\u{300}in  stable’?\u{300} \u{300}\u{301} e\u{301}te\u{301}";
        let mut elements = [Element::text(Category::NarrativeText, text)];
        drop_stray(&mut elements);
        let expected = "in  stable’?\u{300}  e\u{301}te\u{301}";
        assert_eq!(elements[0].text.as_deref(), Some(expected));
    }
}
