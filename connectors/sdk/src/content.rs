//! What a document is made of, as a connector says it (connector contract §12).
//!
//! These are wire shapes, not judged content: the runner validates everything a connector
//! produces, and only the runner hashes.

use serde::{Deserialize, Serialize};

/// Metadata of a document, page or element: source content only, nothing volatile.
pub type Metadata = serde_json::Map<String, serde_json::Value>;

/// The members of a document object without its pages.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DocumentHead {
    /// Format of the source, `[a-z0-9][a-z0-9_]{0,31}` (hash contract §10).
    pub file_type: String,
    /// Title the source declares; never derived from a file name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Metadata the source declares.
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    pub doc_metadata: Metadata,
}

/// One page with its elements inline, in reading order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Page {
    /// Title of the page, such as a sheet name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Metadata of the page, such as its printed label.
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    pub page_metadata: Metadata,
    /// Elements in reading order.
    pub elements: Vec<Element>,
}

/// One element. Which members a category allows is in hash contract §5.2.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Element {
    /// Kind of content.
    pub category: Category,
    /// Plain text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// HTML of a `Table` or `Formula`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text_as_html: Option<String>,
    /// Where the bytes of an `Image` come from (connector contract §14.1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blob: Option<BlobSource>,
    /// Media type of an `Image`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Metadata of the element.
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    pub metadata: Metadata,
}

impl Element {
    /// Returns an element that has only text.
    pub fn text(category: Category, text: impl Into<String>) -> Self {
        Self {
            text: Some(text.into()),
            ..Self::empty(category)
        }
    }

    /// Returns an element without any content member.
    pub fn empty(category: Category) -> Self {
        Self {
            category,
            text: None,
            text_as_html: None,
            blob: None,
            mime_type: None,
            metadata: Metadata::new(),
        }
    }
}

/// Byte source of a blob: exactly one of the two forms.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum BlobSource {
    /// The bytes themselves.
    Inline {
        /// Base64, standard alphabet with padding.
        inline: String,
    },
    /// A handle to be read with `read_blob`.
    Handle {
        /// Opaque, non-empty.
        handle: String,
        /// Length in bytes, if known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        size: Option<u64>,
    },
}

/// The closed enumeration of element categories (hash contract §5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[allow(
    missing_docs,
    reason = "the names are the specification's and say it all"
)]
pub enum Category {
    UncategorizedText,
    CheckBox,
    CompositeElement,
    FigureCaption,
    NarrativeText,
    ListItem,
    Title,
    Address,
    EmailAddress,
    PageBreak,
    Table,
    TableChunk,
    Formula,
    Header,
    Footer,
    CodeSnippet,
    PageNumber,
    FormKeysValues,
    Image,
    #[serde(rename = "tfchat")]
    Tfchat,
}
