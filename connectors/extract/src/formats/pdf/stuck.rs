//! What is stuck onto a page (ISO 32000-1 §12.5): form fields, stamps, signatures and boxes with their text, and the
//! comments of readers.

use dpe_connector::content::{Category, Element, Metadata};
use unpdf::parser::backend::{RawBackend, ResourceScope};
use unpdf::parser::raw::stream::decompress;
use unpdf::parser::raw::{PdfDict, PdfObject, RawDocument};

use super::facts::entry;
use super::painted;
use super::text_string::text_string;
use crate::elements::Elements;
use crate::made::Made;

/// Flags of what is not shown: hidden, no view (table 165).
const UNSEEN: i64 = 1 << 1 | 1 << 5;

/// Nothing has more levels of fields.
const MOST_FIELDS: usize = 32;

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
        add(file, backend, page, one, kind, &mut elements);
    }
    elements.into_vec()
}

fn add(
    file: &RawDocument,
    backend: &RawBackend,
    page: (u32, u16),
    one: &PdfDict,
    kind: &[u8],
    elements: &mut Elements,
) {
    let contents = || {
        let contents = entry(file, one, b"Contents").and_then(PdfObject::as_str_bytes);
        contents.map(text_string).unwrap_or_default()
    };
    let mut metadata = Metadata::new();
    let (category, text) = match kind {
        b"Link" | b"Popup" => return,
        b"Widget" => {
            let painted = appearance(file, backend, page, one);
            let text = painted.unwrap_or_else(|| value(file, one).unwrap_or_default());
            (Category::FormKeysValues, text)
        }
        b"FreeText" | b"Stamp" => {
            let painted = appearance(file, backend, page, one);
            (Category::NarrativeText, painted.unwrap_or_else(contents))
        }
        _ => {
            metadata.insert("comment".to_owned(), true.into());
            (Category::NarrativeText, contents())
        }
    };
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    // The tick of a box is a letter of a font of pictures.
    if text.trim().chars().nth(1).is_some() || (kind != b"Widget" && !text.trim().is_empty()) {
        elements.push_text(category, text.trim(), &metadata);
    }
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

/// Returns the value of a field that is still to be painted.
fn value(file: &RawDocument, one: &PdfDict) -> Option<String> {
    let mut field = one;
    for _ in 0..MOST_FIELDS {
        let kind = entry(file, field, b"FT").and_then(PdfObject::as_name);
        if let Some(value) = entry(file, field, b"V") {
            let is_text = matches!(kind, None | Some(b"Tx" | b"Ch"));
            return value.as_str_bytes().filter(|_| is_text).map(text_string);
        }
        field = entry(file, field, b"Parent")?.as_dict()?;
    }
    None
}
