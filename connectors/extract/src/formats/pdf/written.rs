//! What the parser of pages leaves out of a text and the page has: spaces between words of Korean, which it takes
//! for Chinese, and the dash of an option (`-p`), which it takes for a bullet.

use dpe_connector::content::{Category, Element};

/// So many letters tell one item from another.
const ITEM_LETTERS: usize = 40;

/// Whether a text is for the greater part Korean.
pub(super) fn is_korean(elements: &[Element]) -> bool {
    let (mut korean, mut letters) = (0usize, 0usize);
    let texts = elements
        .iter()
        .filter_map(|element| element.text.as_deref());
    for letter in texts
        .flat_map(str::chars)
        .filter(|letter| letter.is_alphabetic())
    {
        letters += 1;
        korean += usize::from(is_hangul(letter));
    }
    korean > 20 && korean * 4 > letters
}

fn is_hangul(letter: char) -> bool {
    matches!(letter, '\u{1100}'..='\u{11FF}' | '\u{AC00}'..='\u{D7AF}')
}

/// Whether a page has items that began with a dash, or something else that looks like a bullet.
pub(super) fn has_bullets(elements: &[Element]) -> bool {
    elements.iter().any(is_bullet)
}

fn is_bullet(element: &Element) -> bool {
    element.category == Category::ListItem && !element.metadata.contains_key("ordered")
}

/// Writes the dashes back that are painted directly before a text.
pub(super) fn restore_dashes(elements: &mut [Element], painted: &[Vec<String>]) {
    let painted = Dense::of(painted.iter().flatten().map(String::as_str));
    let mut from = 0;
    for element in elements.iter_mut().filter(|element| is_bullet(element)) {
        let Some(text) = &mut element.text else {
            continue;
        };
        let start: String = text.chars().take(ITEM_LETTERS).collect();
        let Some(at) = painted.find(&Dense::of([start.as_str()]), from) else {
            continue;
        };
        let before = painted.letters.get(..at).unwrap_or_default();
        if before.ends_with('-') && painted.spaces.binary_search(&at).is_err() {
            text.insert(0, '-');
        }
        from = at;
    }
}

/// Writes the spaces that are painted into texts that have the same letters.
pub(super) fn restore_spaces(elements: &mut [Element], painted: &[Vec<String>]) {
    let painted = Dense::of(painted.iter().flatten().map(String::as_str));
    let mut from = 0;
    for element in elements
        .iter_mut()
        .filter(|element| element.text_as_html.is_none())
    {
        let Some(text) = &mut element.text else {
            continue;
        };
        let dense = Dense::of([text.as_str()]);
        let found = painted
            .find(&dense, from)
            .or_else(|| painted.find(&dense, 0));
        if let Some(start) = found.filter(|_| !dense.letters.is_empty()) {
            let end = start + dense.letters.len();
            *text = painted.with_spaces(start, end, &dense);
            from = end;
        }
    }
}

/// A text without its white space, and where that was.
struct Dense {
    letters: String,
    /// Bytes of `letters` before which there was white space.
    spaces: Vec<usize>,
}

impl Dense {
    fn of<'t>(lines: impl IntoIterator<Item = &'t str>) -> Self {
        let mut dense = Self {
            letters: String::new(),
            spaces: Vec::new(),
        };
        for line in lines {
            for letter in line.chars() {
                match letter.is_whitespace() {
                    true => dense.spaces.push(dense.letters.len()),
                    false => dense.letters.push(letter),
                }
            }
            dense.spaces.push(dense.letters.len());
        }
        dense
    }

    fn find(&self, other: &Self, from: usize) -> Option<usize> {
        let rest = self.letters.as_bytes().get(from..)?;
        memchr::memmem::find(rest, other.letters.as_bytes()).map(|at| at + from)
    }

    /// Returns a part of the text with its own spaces and those that the other has there.
    fn with_spaces(&self, start: usize, end: usize, other: &Self) -> String {
        let mut text = String::new();
        for (at, letter) in self.letters[start..end].char_indices() {
            let is_space = self.spaces.binary_search(&(start + at)).is_ok()
                || other.spaces.binary_search(&at).is_ok();
            if at > 0 && is_space {
                text.push(' ');
            }
            text.push(letter);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use dpe_connector::content::{Category, Element};

    use super::{restore_dashes, restore_spaces};

    #[test]
    fn spaces_come_back_where_they_are_painted() {
        let mut elements = [
            Element::text(Category::Title, "설치안내서"),
            Element::text(Category::NarrativeText, "이 설명서는GNU다"),
            Element::text(Category::NarrativeText, "없는글"),
        ];
        restore_spaces(
            &mut elements,
            &[
                vec!["설치 안내서 ".to_owned()],
                vec!["이 설명서는 GNU".to_owned(), "다".to_owned()],
            ],
        );
        let texts: Vec<_> = elements
            .iter()
            .map(|element| element.text.as_deref().unwrap())
            .collect();
        assert_eq!(texts, ["설치 안내서", "이 설명서는 GNU 다", "없는글"]);
    }

    #[test]
    fn dashes_of_options_come_back_and_those_of_lists_do_not() {
        let mut elements = ["V, --version", "A point", "other"]
            .map(|text| Element::text(Category::ListItem, text));
        let painted = ["-V, --version", "- A point", "• other"]
            .map(str::to_owned)
            .to_vec();
        restore_dashes(&mut elements, &[painted]);
        let texts = elements.map(|element| element.text.unwrap());
        assert_eq!(texts, ["-V, --version", "A point", "other"]);
    }
}
