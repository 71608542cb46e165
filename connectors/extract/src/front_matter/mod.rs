//! Front matter: the metadata block some texts begin with.
//!
//! `---` lines enclose YAML, `+++` lines enclose TOML. What the block declares goes into
//! `doc_metadata` as it is. Knows nothing of the text that follows.

mod toml;
mod yaml;

use dpe_connector::content::Metadata;

use crate::ExtractError;

/// Levels of containers a metadata value may have: below the limit of 64 of hash contract §7, whose
/// count begins at the document.
const MAX_DEPTH: usize = 60;

/// A block whose end is further away is not looked for.
const MAX_BYTES: usize = 1 << 20;

/// The largest integer a JSON number carries exactly (hash contract §9).
const MAX_INTEGER: u64 = (1 << 53) - 1;

/// Language of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    Yaml,
    Toml,
}

impl Language {
    /// Returns the name used for code in this language.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Yaml => "yaml",
            Self::Toml => "toml",
        }
    }
}

/// A text and the block it begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Split<'a> {
    pub(crate) language: Language,
    pub(crate) block: &'a str,
    pub(crate) rest: &'a str,
}

/// What a block declares.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Declared {
    /// Metadata by name.
    Metadata(Metadata),
    /// Correct, and not metadata: the marks meant something else.
    Other,
    /// Not correct in its language.
    Broken,
}

/// Finds the block at the very beginning of a text.
pub(crate) fn split(text: &str) -> Option<Split<'_>> {
    let (first, after) = text.split_once('\n')?;
    let language = match first.trim_end() {
        "---" => Language::Yaml,
        "+++" => Language::Toml,
        _ => return None,
    };
    let mut end = 0;
    for line in after.split_inclusive('\n') {
        let closes = match line.trim_end() {
            "---" | "..." => language == Language::Yaml,
            "+++" => language == Language::Toml,
            _ => false,
        };
        if closes {
            return Some(Split {
                language,
                block: &after[..end],
                rest: &after[end + line.len()..],
            });
        }
        end += line.len();
        if end > MAX_BYTES {
            return None;
        }
    }
    None
}

/// Reads what a block declares.
///
/// # Errors
///
/// `damaged` if the values are nested deeper than content may be or expand beyond measure.
pub(crate) fn read(split: &Split<'_>) -> Result<Declared, ExtractError> {
    match split.language {
        Language::Yaml => yaml::read(split.block),
        Language::Toml => toml::read(split.block),
    }
}

fn too_deep() -> ExtractError {
    ExtractError::damaged(format!(
        "the front matter is nested deeper than {MAX_DEPTH} levels"
    ))
}

#[cfg(test)]
mod tests {
    use super::{Language, split};

    #[test]
    fn block_is_only_at_the_very_beginning() {
        let found = split("--- \na: 1\n---\nbody\n---\n").unwrap();
        assert_eq!(found.language, Language::Yaml);
        assert_eq!((found.block, found.rest), ("a: 1\n", "body\n---\n"));
        assert_eq!(split("\n---\na: 1\n---\n"), None);
        assert_eq!(split("---\na: 1\n"), None);
        assert_eq!(split("----\na: 1\n----\n"), None);
    }

    #[test]
    fn marks_of_one_language_do_not_close_the_other() {
        let found = split("+++\na = 1\n---\n+++").unwrap();
        assert_eq!((found.block, found.rest), ("a = 1\n---\n", ""));
        assert_eq!(found.language, Language::Toml);
    }
}
