//! What a file becomes, as a line of JSON for programs and as a tree for people.

mod tree;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::model::BlobRef;
use crate::ops::extract::{Element, Extracted, Made, Page, Refused};
use crate::sync::printable::printable;

pub use tree::{Style, to_text};

/// What a file becomes.
#[derive(Serialize)]
struct Line<'l> {
    file: &'l str,
    file_type: &'l str,
    title: Option<&'l str>,
    doc_metadata: &'l Map<String, Value>,
    pages: Vec<PageLine<'l>>,
    notes: &'l [String],
}

#[derive(Serialize)]
struct PageLine<'l> {
    title: Option<&'l str>,
    page_metadata: &'l Map<String, Value>,
    elements: Vec<ElementLine<'l>>,
}

/// An element with the members that the hash contract gives its category (§5.2), and of its blob what the
/// reference is made of, and the length.
#[derive(Serialize)]
struct ElementLine<'l> {
    category: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'l str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text_as_html: Option<&'l str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    blob: Option<BlobLine>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mime_type: Option<&'l str>,
    metadata: &'l Map<String, Value>,
}

#[derive(Serialize)]
struct BlobLine {
    sha256: String,
    size: u64,
}

#[derive(Serialize)]
struct RefusedLine<'l> {
    file: &'l str,
    error: ErrorLine<'l>,
}

#[derive(Serialize)]
struct ErrorLine<'l> {
    reason: &'l str,
    message: &'l str,
}

/// Returns one line of JSON: the document, or `error` with its reason.
pub fn to_json(extracted: &Extracted) -> String {
    let file = &*extracted.file;
    let text = match &extracted.made {
        Ok(made) => {
            let head = &made.extraction.head;
            serde_json::to_string(&Line {
                file,
                file_type: &head.file_type,
                title: head.title.as_deref(),
                doc_metadata: &head.doc_metadata,
                pages: made
                    .extraction
                    .pages
                    .iter()
                    .map(|page| page_line(page, made))
                    .collect(),
                notes: &made.extraction.notes,
            })
        }
        Err(refused) => serde_json::to_string(&RefusedLine {
            file,
            error: ErrorLine {
                reason: refused.reason,
                message: &refused.message,
            },
        }),
    };
    text.expect("the members have names, and the numbers came from JSON")
}

/// Returns why a file gives no document, in one line.
pub fn refusal(file: &str, refused: &Refused) -> String {
    let Refused { reason, message } = refused;
    format!("{}: {reason}: {}", printable(file), printable(message))
}

fn page_line<'l>(page: &'l Page, made: &Made) -> PageLine<'l> {
    PageLine {
        title: page.title.as_deref(),
        page_metadata: &page.page_metadata,
        elements: page
            .elements
            .iter()
            .map(|element| element_line(element, made))
            .collect(),
    }
}

fn element_line<'l>(element: &'l Element, made: &Made) -> ElementLine<'l> {
    let blob = element.blob.as_ref().and_then(|blob| made.blob(blob));
    ElementLine {
        category: category(element),
        text: element.text.as_deref(),
        text_as_html: element.text_as_html.as_deref(),
        blob: blob.map(|bytes| BlobLine {
            sha256: digest(bytes),
            size: bytes.len() as u64,
        }),
        mime_type: element.mime_type.as_deref(),
        metadata: &element.metadata,
    }
}

fn category(element: &Element) -> Value {
    serde_json::to_value(element.category).unwrap_or_default()
}

/// Returns what a reference has behind its prefix (hash contract §12).
fn digest(bytes: &[u8]) -> String {
    let reference = BlobRef::of(bytes).to_string();
    reference.trim_start_matches("sha256:").to_owned()
}
