//! Which documents a round knows nothing of, because something about them failed.
//!
//! Knows failures by what they name: a document, both sides of a move, a folder with everything
//! below it (its URI ends with a slash), or nothing, which may be anything.

use std::collections::HashSet;

use crate::model::FileUri;
use crate::sync::failure::{Failure, Subject};

/// What failures leave in doubt.
#[derive(Debug, Default)]
pub struct Doubt {
    everything: bool,
    named: HashSet<String>,
}

impl Doubt {
    /// Returns what these failures leave in doubt.
    pub fn of<'f>(failures: impl IntoIterator<Item = &'f Failure>) -> Self {
        let mut doubt = Self::default();
        for failure in failures {
            match &failure.subject {
                Subject::Unknown => doubt.everything = true,
                Subject::Document(uri) => {
                    doubt.named.insert(uri.clone());
                }
                Subject::Move { from_uri, to_uri } => {
                    doubt.named.extend([from_uri.clone(), to_uri.clone()]);
                }
            }
        }
        doubt
    }

    /// Returns whether a document that was not enumerated may be in the source all the same.
    pub fn covers(&self, uri: &FileUri) -> bool {
        self.everything || self.named.contains(uri.as_str()) || self.covers_folder_of(uri)
    }

    /// Returns whether a folder above the document failed, so that no enumeration would have it.
    pub(super) fn covers_folder_of(&self, uri: &FileUri) -> bool {
        let uri = uri.as_str();
        let mut folders = uri.match_indices('/').map(|(slash, _)| &uri[..=slash]);
        !self.named.is_empty() && folders.any(|folder| self.named.contains(folder))
    }
}

#[cfg(test)]
mod tests {
    use super::Doubt;
    use crate::model::FileUri;
    use crate::sync::failure::{Failure, FailureSource, Subject};

    fn doubt(subjects: &[Subject]) -> Doubt {
        let failures: Vec<Failure> = subjects
            .iter()
            .map(|subject| Failure::item(FailureSource::Plugin, "internal", "no", subject.clone()))
            .collect();
        Doubt::of(&failures)
    }

    fn uri(text: &str) -> FileUri {
        FileUri::parse(text).unwrap()
    }

    #[test]
    fn a_folder_covers_what_is_below_it_and_not_its_namesakes() {
        let doubt = doubt(&[Subject::Document("t://a/b/".to_owned())]);
        for (text, is_covered) in [
            ("t://a/b/c", true),
            ("t://a/b/c/d", true),
            ("t://a/bc", false),
            ("t://a/b", false),
            ("t://x/a/b/c", false),
        ] {
            assert_eq!(doubt.covers(&uri(text)), is_covered, "{text}");
        }
    }

    #[test]
    fn a_failure_of_unknown_subject_covers_everything_and_no_folder() {
        let doubt = doubt(&[Subject::Unknown]);
        assert!(doubt.covers(&uri("t://a")));
        assert!(!doubt.covers_folder_of(&uri("t://a")));
    }

    #[test]
    fn a_document_and_both_sides_of_a_move_cover_themselves() {
        let doubt = doubt(&[
            Subject::Document("t://a".to_owned()),
            Subject::Move {
                from_uri: "t://b".to_owned(),
                to_uri: "t://c".to_owned(),
            },
        ]);
        for (text, is_covered) in [
            ("t://a", true),
            ("t://b", true),
            ("t://c", true),
            ("t://d", false),
        ] {
            assert_eq!(doubt.covers(&uri(text)), is_covered, "{text}");
        }
    }
}
