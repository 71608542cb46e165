//! The four kinds of items (connector contract §12) and the segments of a document (§13).

use serde::{Deserialize, Serialize};

use crate::content::{DocumentHead, Page};

/// One item of a batch. Items take effect in stream order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Item {
    /// A document, or one segment of it.
    Document(Segment),
    /// The document is gone.
    Delete {
        /// Which.
        file_uri: String,
    },
    /// The document has another URI now, its content being what it was.
    Move {
        /// Where it was.
        from_uri: String,
        /// Where it is.
        to_uri: String,
    },
    /// Something that should have been a document could not be produced.
    Error(ErrorItem),
}

impl Item {
    /// Returns a whole document.
    pub fn document(file_uri: impl Into<String>, head: DocumentHead, pages: Vec<Page>) -> Self {
        Self::Document(Segment {
            file_uri: file_uri.into(),
            document: Some(head),
            pages,
            continued: false,
        })
    }

    /// Returns an error about `file_uri`.
    pub fn error(
        file_uri: impl Into<String>,
        code: ItemErrorCode,
        message: impl Into<String>,
        retryable: bool,
    ) -> Self {
        Self::Error(ErrorItem {
            file_uri: Some(file_uri.into()),
            code,
            message: message.into(),
            retryable,
        })
    }
}

/// A document or a part of one: consecutive segments of the same URI are one document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Segment {
    /// Of which document.
    pub file_uri: String,
    /// The members of the document without its pages; only in the first segment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<DocumentHead>,
    /// Pages, appended to those of the segments before.
    pub pages: Vec<Page>,
    /// Whether another segment follows.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub continued: bool,
}

/// Why a document could not be produced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorItem {
    /// What it is about, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_uri: Option<String>,
    /// Which kind of trouble.
    pub code: ItemErrorCode,
    /// For people; never holds a credential.
    pub message: String,
    /// Whether the next round may succeed without anybody doing anything.
    pub retryable: bool,
}

/// The closed set of codes of error items.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemErrorCode {
    /// The source did not give it.
    SourceUnavailable,
    /// The source gave something that cannot be expressed.
    ContentInvalid,
    /// A defect of the plugin.
    Internal,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_items_of_the_contract_s_example_have_these_texts() {
        let items = [
            Item::Move {
                from_uri: "wiki://eng/old".into(),
                to_uri: "wiki://eng/new".into(),
            },
            Item::Delete {
                file_uri: "wiki://eng/gone".into(),
            },
            Item::error(
                "wiki://eng/locked",
                ItemErrorCode::SourceUnavailable,
                "page is locked",
                true,
            ),
        ];
        let expected = [
            r#"{"kind":"move","from_uri":"wiki://eng/old","to_uri":"wiki://eng/new"}"#,
            r#"{"kind":"delete","file_uri":"wiki://eng/gone"}"#,
            r#"{"kind":"error","file_uri":"wiki://eng/locked","code":"source_unavailable","message":"page is locked","retryable":true}"#,
        ];
        for (item, text) in items.iter().zip(expected) {
            assert_eq!(serde_json::to_string(item).unwrap(), text);
        }
    }

    #[test]
    fn a_whole_document_says_neither_continued_nor_empty_members() {
        let head = DocumentHead {
            file_type: "txt".into(),
            ..DocumentHead::default()
        };
        assert_eq!(
            serde_json::to_string(&Item::document("a:b", head, Vec::new())).unwrap(),
            r#"{"kind":"document","file_uri":"a:b","document":{"file_type":"txt"},"pages":[]}"#
        );
    }
}
