//! Content for tests, with hashes from hash contract §16 or from `dpe-hash`.

use dpe_hash::ObjectKind;
use serde_json::{Value, json};

/// E1 to E3, P0, P1 and the document of hash contract §16.
pub(super) const E1: &str = "dpe1:f6c07f23ea1e95bd57002b5a8e94c96864a152a5d0706a684275ed8b4cd39ba4";
pub(super) const E2: &str = "dpe1:49301115a7a9a8905ff5b0e3e3995f7932c20ac633158b52ead81bf7151e06de";
pub(super) const E3: &str = "dpe1:804fd452b92f97185e0e9fe38f8e6b9c710e27c9029d61bc134e0c991b1848e3";
pub(super) const P0: &str = "dpe1:c3d1321cfbba81fd099bdb1c2d3db1a71184d47b8368d62758a7f11998a11e93";
pub(super) const P1: &str = "dpe1:1039d367fba29f59e0fb22ce51e2f3553cf041d33a783883c8352ce805fc15d6";
pub(super) const D: &str = "dpe1:14c895cb99ad0de20d9640c5267bbcc561b626ce39974eaa110354f8d369145f";
/// Document `{"file_type":"empty","pages":[]}`.
pub(super) const EMPTY: &str =
    "dpe1:5044788699fbc5362d08cae535a0c6ba274b6d6c9a8d7e8179366163b22f05ee";
/// Blob of the bytes `hello` (hash contract §12).
pub(super) const HELLO: &str =
    "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";

pub(super) fn e1() -> Value {
    json!({"category": "Title", "text": "Q3 report"})
}

pub(super) fn e2() -> Value {
    // Parsed, so that `1.0` keeps its spelling.
    json!({"category": "NarrativeText", "text": "Revenue grew 4.50 %.",
           "metadata": {"lang": "en", "score": 1.0, "skip": null, "list": [null, {"k": null}]}})
}

pub(super) fn e3() -> Value {
    json!({"category": "Image", "mime_type": "image/png", "blob": HELLO})
}

pub(super) fn p0() -> Value {
    json!({"title": "One", "elements": [E1, E2]})
}

pub(super) fn p1() -> Value {
    json!({"page_metadata": {"page_label": "i"}, "elements": [E3]})
}

pub(super) fn document() -> Value {
    json!({"file_type": "md", "title": "Q3", "doc_metadata": {"author": "ann"}, "pages": [P0, P1]})
}

pub(super) fn empty() -> Value {
    json!({"file_type": "empty", "pages": []})
}

/// An element with this text, and its hash.
pub(super) fn text(text: &str) -> (Value, String) {
    let element = json!({"category": "NarrativeText", "text": text});
    let hash = hash(&element, ObjectKind::Element, "dpe1");
    (element, hash)
}

/// A page with these elements, and its hash.
pub(super) fn page(elements: &[&str]) -> (Value, String) {
    let page = json!({"elements": elements});
    let hash = hash(&page, ObjectKind::Page, "dpe1");
    (page, hash)
}

/// A document with these pages, and its hash.
pub(super) fn doc(pages: &[&str]) -> (Value, String) {
    let document = json!({"file_type": "md", "pages": pages});
    let hash = hash(&document, ObjectKind::Document, "dpe1");
    (document, hash)
}

/// Hash of an object by the independent implementation.
pub(super) fn hash(object: &Value, kind: ObjectKind, contract: &str) -> String {
    dpe_hash::object_hash_with(object, kind, contract, &["dpe1", "dpex"]).expect("a valid object")
}

/// A whole inline commit body of one page per list of texts, the hash of the document and the
/// number of elements.
pub(super) fn inline(pages: &[&[&str]]) -> (Value, String) {
    let mut objects = Vec::new();
    let mut page_objects = Vec::new();
    let mut page_hashes = Vec::new();
    for texts in pages {
        let (elements, hashes): (Vec<_>, Vec<_>) = texts.iter().map(|each| text(each)).unzip();
        let hashes: Vec<_> = hashes.iter().map(String::as_str).collect();
        let (object, hash) = page(&hashes);
        objects.extend(elements);
        page_objects.push(object);
        page_hashes.push(hash);
    }
    let page_hashes: Vec<_> = page_hashes.iter().map(String::as_str).collect();
    let (document, hash) = doc(&page_hashes);
    let body = json!({"document": document, "pages": page_objects, "objects": objects});
    (body, hash)
}
