//! Accents that stand on nothing: some fonts name their quotes so, and the parser leaves them behind a space.

use dpe_connector::content::{Category, Element};
use serde_json::Value;

/// Takes accents out that follow a space, or begin a text; what is nothing else goes.
pub(super) fn drop_stray(elements: &mut Vec<Element>) {
    elements.retain_mut(|element| {
        let is_prose = matches!(
            element.category,
            Category::Title
                | Category::NarrativeText
                | Category::ListItem
                | Category::Header
                | Category::Footer
        );
        let Some(text) = element.text.as_mut().filter(|_| is_prose) else {
            return true;
        };
        if !drop_from(text) {
            return true;
        }
        let links = element.metadata.get_mut("links");
        for link in links.and_then(Value::as_array_mut).into_iter().flatten() {
            // One within a word begins with an accent that stands on a letter.
            if let Some(Value::String(words)) = link.get_mut("text")
                && !text.contains(&**words)
            {
                drop_from(words);
            }
        }
        !text.trim().is_empty()
    });
}

/// Whether there were any.
fn drop_from(text: &mut String) -> bool {
    let length = text.len();
    let mut stands_on_nothing = true;
    text.retain(|letter| {
        let is_kept = !(stands_on_nothing && is_accent(letter));
        // Of several in a row none stands on anything.
        stands_on_nothing &= !is_kept;
        stands_on_nothing |= letter.is_whitespace();
        is_kept
    });
    text.len() < length
}

fn is_accent(letter: char) -> bool {
    matches!(letter, '\u{300}'..='\u{36F}')
}

#[cfg(test)]
mod tests {
    use dpe_connector::content::{Category, Element};
    use serde_json::json;

    use super::drop_stray;

    #[test]
    fn accents_behind_spaces_go_and_those_on_letters_stay() {
        let text = "\u{300}in  stable’?\u{300} \u{300}\u{301} e\u{301}te\u{301}";
        let mut elements = vec![Element::text(Category::NarrativeText, text)];
        drop_stray(&mut elements);
        let expected = "in  stable’?\u{300}  e\u{301}te\u{301}";
        assert_eq!(elements[0].text.as_deref(), Some(expected));
    }
    #[test]
    fn text_of_accents_only_goes_and_links_say_what_the_text_says() {
        let text = |text: &str| Element::text(Category::NarrativeText, text);
        let mut linked = text("see \u{301}there");
        let links = json!([{"text": "\u{301}there", "url": "https://example.org/"}]);
        linked.metadata.insert("links".to_owned(), links);
        let mut code = text("\u{301}");
        code.category = Category::CodeSnippet;
        let mut elements = vec![text("\u{301}"), text("\u{300} \u{301}"), linked, code];
        drop_stray(&mut elements);
        let texts: Vec<_> = elements.iter().map(|one| one.text.as_deref()).collect();
        assert_eq!(texts, [Some("see there"), Some("\u{301}")]);
        assert_eq!(elements[0].metadata["links"][0]["text"], "there");
    }
}
