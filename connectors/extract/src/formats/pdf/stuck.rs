//! What is stuck onto a page (ISO 32000-1 §12.5): form fields, stamps, signatures and boxes with their text, and the
//! comments of readers.

use std::collections::{HashMap, HashSet};

use dpe_connector::content::{Category, Element, Metadata};
use unpdf::parser::backend::{RawBackend, ResourceScope};
use unpdf::parser::raw::stream::decompress;
use unpdf::parser::raw::{PdfDict, PdfObject, PdfStream, RawDocument};

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
    let mut appearances = Appearances {
        file,
        backend,
        page,
        read: HashMap::new(),
    };
    for one in all(file, page) {
        if made.settled().is_err() {
            break;
        }
        let Some((category, text, metadata)) = found(file, one, &mut appearances) else {
            continue;
        };
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        if !text.trim().is_empty() {
            elements.push_text(category, text.trim(), &metadata);
        }
    }
    elements.into_vec()
}

/// Returns what is stuck onto a page, each once.
fn all(file: &RawDocument, page: (u32, u16)) -> Vec<&PdfDict> {
    let dict = file.get_dict(page).ok();
    let all = dict
        .and_then(|dict| entry(file, dict, b"Annots"))
        .and_then(PdfObject::as_array);
    let mut seen = HashSet::new();
    let once = |one: &&PdfObject| one.as_reference().is_none_or(|id| seen.insert(id));
    let all = all.unwrap_or_default().iter().filter(once);
    all.filter_map(|one| file.resolve(one).as_dict()).collect()
}

/// Reads one, if it is shown and may have words.
fn found(file: &RawDocument, one: &PdfDict, appearances: &mut Appearances<'_>) -> Option<Found> {
    let flags = entry(file, one, b"F").and_then(PdfObject::as_i64);
    let kind = entry(file, one, b"Subtype").and_then(PdfObject::as_name);
    let kind = kind.filter(|_| flags.unwrap_or(0) & UNSEEN == 0)?;
    let painted = || appearances.of(one);
    match kind {
        b"Link" | b"Popup" => None,
        b"Widget" => Some(Field::of(file, one).read(painted)),
        _ => Some(note(file, one, kind, painted)),
    }
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

/// The texts that appearances paint on a page; many may share one.
struct Appearances<'d> {
    file: &'d RawDocument,
    backend: &'d RawBackend,
    page: (u32, u16),
    read: HashMap<(u32, u16), Option<String>>,
}

impl Appearances<'_> {
    /// Returns the text that the appearance of something paints; `None` if it has none.
    fn of(&mut self, one: &PdfDict) -> Option<String> {
        let file = self.file;
        let mut normal = entry(file, one, b"AP")?.as_dict()?.get(&b"N"[..])?;
        if let Some(states) = file.resolve(normal).as_dict() {
            let state = entry(file, one, b"AS").and_then(PdfObject::as_name)?;
            normal = states.get(state)?;
        }
        let id = normal.as_reference()?;
        if let Some(text) = self.read.get(&id) {
            return text.clone();
        }
        let text = file.resolve(normal).as_stream();
        let text = text.and_then(|stream| self.painted(id, stream));
        self.read.insert(id, text.clone());
        text
    }

    fn painted(&self, id: (u32, u16), stream: &PdfStream) -> Option<String> {
        let content = decompress(stream).ok()?;
        let scope = ResourceScope::form(self.page, id);
        let paragraphs = painted::paragraphs(self.backend, scope, &content);
        let lines: Vec<&str> = paragraphs
            .iter()
            .flatten()
            .map(|line| line.trim())
            .collect();
        let text = lines.join("\n");
        (!text.trim().is_empty()).then_some(text)
    }
}

#[cfg(test)]
mod tests {
    use unpdf::parser::backend::RawBackend;
    use unpdf::parser::raw::RawDocument;

    use super::texts;
    use crate::made::Made;

    #[test]
    fn what_is_named_again_and_again_is_read_once_and_an_appearance_that_many_share_is_painted_once()
     {
        let appearance = "q Q ".repeat(50_000);
        let note = "<</Subtype/FreeText/Contents(said)/AP<</N 8 0 R>>>>";
        let file = format!(
            "%PDF-1.4\n1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj\n\
             2 0 obj <</Type/Pages/Kids[3 0 R]/Count 1>> endobj\n\
             3 0 obj <</Type/Page/Parent 2 0 R/Annots[{}{}]>> endobj\n\
             8 0 obj <</Subtype/Form/Length {}>>stream\n{appearance}\nendstream endobj\n9 0 obj {note} endobj\n",
            "9 0 R ".repeat(5000),
            note.repeat(5000),
            appearance.len()
        );
        let backend = RawBackend::load_bytes(file.as_bytes()).unwrap();
        let file = RawDocument::load(file.as_bytes()).unwrap();
        let found = texts(&file, &backend, (3, 0), &Made::default());
        assert_eq!(found.len(), 5001);
        assert_eq!(found[0].text.as_deref(), Some("said"));
    }
}
