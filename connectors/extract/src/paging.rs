//! The words that stand beside the number of a page for its sake only: `Page 3 of 9`, `第3页`.
//!
//! A closed list: a word that is not on it is the author's, even if nothing else stands beside the number.

use std::ops::Range;

/// What parts of headers and footers end with.
const PART_ENDS: [char; 2] = ['\t', '\n'];

/// Words for pages, and between two numbers, in English, German, French, Spanish, Portuguese, Italian, Dutch,
/// Polish, Czech, Russian, the languages of Scandinavia, Finnish and Hungarian.
const WORDS: [&str; 38] = [
    "page",
    "pages",
    "pg",
    "pgs",
    "p",
    "pp",
    "of",
    "seite",
    "seiten",
    "s",
    "von",
    "sur",
    "de",
    "página",
    "páginas",
    "pág",
    "págs",
    "pagina",
    "pagine",
    "pag",
    "di",
    "van",
    "strona",
    "stron",
    "str",
    "z",
    "stran",
    "strana",
    "страница",
    "стр",
    "из",
    "sida",
    "sid",
    "av",
    "side",
    "af",
    "sivu",
    "oldal",
];

/// Signs of which Chinese, Japanese and Korean make what stands around the number of a page.
const SIGNS: &str = "第页頁共中ページ쪽페이지중";

/// Returns the parts of a text, in order, that are there for the sake of numbers of pages only. The numbers are left
/// out at these places, which are in order and begin with characters.
pub(crate) fn left_overs(text: &str, numbers: &[usize]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut judged = None;
    for number in numbers.iter().copied() {
        if judged.is_some_and(|end| number <= end) {
            continue;
        }
        let start = text[..number].rfind(PART_ENDS).map_or(0, |at| at + 1);
        let end = text[number..].find(PART_ENDS);
        let end = end.map_or(text.len(), |at| number + at);
        judged = Some(end);
        if start < end && only_numbers_pages(&text[start..end]) {
            found.push(start..end);
        }
    }
    found
}

/// Whether what stands beside numbers of pages has no word but those of the numbering.
fn only_numbers_pages(part: &str) -> bool {
    let words = part.split(|character: char| !character.is_alphanumeric());
    words.filter(|word| !word.is_empty()).all(|word| {
        let lower = word.to_lowercase();
        WORDS.contains(&&*lower) || word.chars().all(|sign| SIGNS.contains(sign))
    })
}

#[cfg(test)]
mod tests {
    use super::only_numbers_pages;

    #[test]
    fn words_of_page_numbering_are_known_in_many_languages() {
        for part in [
            "Page ",
            "PAGE  of ",
            "- -",
            "p. /",
            " | Seite",
            "Seite  von ",
            "Page  sur ",
            "Página  de ",
            "Pág. ",
            "Pagina  di ",
            "Strona  z ",
            "Страница  из ",
            "Стр. ",
            "Sida  av ",
            "Side  af ",
            "Sivu ",
            ". oldal",
            "第页共页",
            "第 頁",
            "ページ",
            "쪽",
            "페이지",
        ] {
            assert!(only_numbers_pages(part), "{part}");
        }
    }

    #[test]
    fn other_words_are_not_of_the_numbering() {
        for part in [
            "Smith ",
            "Confidential ",
            "ACME | ",
            "Einleitung ",
            "A-",
            "Page  of 12",
            "Smith, page ",
            "浙江大学硕士学位论文 -  -",
            "机密文件第页共页",
        ] {
            assert!(!only_numbers_pages(part), "{part}");
        }
    }
}
