//! What is stuck onto a page (ISO 32000-1 §12.5): form fields, stamps, signatures and boxes with their text, and the
//! comments of readers.

use dpe_connector::content::{Category, Element, Metadata};
use unpdf::parser::backend::{RawBackend, ResourceScope};
use unpdf::parser::raw::stream::decompress;
use unpdf::parser::raw::{PdfDict, PdfObject, RawDocument};

use super::facts::entry;
use super::fields::Field;
use super::painted;
use super::text_string::text_string;
use crate::elements::Elements;
use crate::made::Made;

/// Flags of what is not shown: hidden, no view (table 165).
const UNSEEN: i64 = 1 << 1 | 1 << 5;

/// Returns whether anything that may have words is stuck onto a page.
pub(super) fn is_any(file: &RawDocument, page: &PdfDict) -> bool {
    let all = entry(file, page, b"Annots").and_then(PdfObject::as_array);
    all.unwrap_or_default().iter().any(|one| {
        let one = file.resolve(one).as_dict();
        let kind = one.and_then(|one| entry(file, one, b"Subtype")?.as_name());
        kind.is_some_and(|kind| kind != b"Link" && kind != b"Popup")
    })
}

/// Returns the texts of what is stuck onto a page, in the order of the file.
pub(super) fn texts(
    file: &RawDocument,
    backend: &RawBackend,
    page: (u32, u16),
    made: &Made,
) -> Vec<Element> {
    let mut elements = Elements::of(made);
    let dict = file.get_dict(page).ok();
    let all = dict
        .and_then(|dict| entry(file, dict, b"Annots"))
        .and_then(PdfObject::as_array);
    for one in all.unwrap_or_default() {
        let Some(one) = file.resolve(one).as_dict() else {
            continue;
        };
        let flags = entry(file, one, b"F")
            .and_then(PdfObject::as_i64)
            .unwrap_or(0);
        let kind = entry(file, one, b"Subtype").and_then(PdfObject::as_name);
        let Some(kind) = kind.filter(|_| flags & UNSEEN == 0) else {
            continue;
        };
        let painted = || appearance(file, backend, page, one);
        let (category, text, metadata) = match kind {
            b"Link" | b"Popup" => continue,
            b"Widget" => Field::of(file, one).read(painted),
            _ => note(file, one, kind, painted),
        };
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        if !text.trim().is_empty() {
            elements.push_text(category, text.trim(), &metadata);
        }
    }
    elements.into_vec()
}

type Found = (Category, String, Metadata);

/// Reads a stamp, a box with text, or a comment.
fn note(
    file: &RawDocument,
    one: &PdfDict,
    kind: &[u8],
    painted: impl FnOnce() -> Option<String>,
) -> Found {
    let contents = || {
        let contents = entry(file, one, b"Contents").and_then(PdfObject::as_str_bytes);
        contents.map(text_string).unwrap_or_default()
    };
    let mut metadata = Metadata::new();
    if matches!(kind, b"FreeText" | b"Stamp") {
        let text = painted().unwrap_or_else(contents);
        return (Category::NarrativeText, text, metadata);
    }
    metadata.insert("comment".to_owned(), true.into());
    (Category::NarrativeText, contents(), metadata)
}

/// Returns the text that its appearance paints; `None` if it has none.
fn appearance(
    file: &RawDocument,
    backend: &RawBackend,
    page: (u32, u16),
    one: &PdfDict,
) -> Option<String> {
    let mut normal = entry(file, one, b"AP")?.as_dict()?.get(&b"N"[..])?;
    if let Some(states) = file.resolve(normal).as_dict() {
        let state = entry(file, one, b"AS").and_then(PdfObject::as_name)?;
        normal = states.get(state)?;
    }
    let stream = file.resolve(normal).as_stream()?;
    let content = decompress(stream).ok()?;
    let scope = ResourceScope::form(page, normal.as_reference()?);
    let paragraphs = painted::paragraphs(backend, scope, &content);
    let lines: Vec<&str> = paragraphs
        .iter()
        .flatten()
        .map(|line| line.trim())
        .collect();
    let text = lines.join("\n");
    (!text.trim().is_empty()).then_some(text)
}
