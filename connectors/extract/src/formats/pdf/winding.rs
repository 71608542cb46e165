//! Outlines and trees of form fields that the parser of pages would follow until its stack ends.
//!
//! It goes from entry to entry, and from field to field, by calling itself, and reads both before any page. A file in
//! which that is too far is handed to it with a catalog (ISO 32000-1 §7.7.2) that has neither.

use std::borrow::Cow;
use std::collections::HashSet;

use unpdf::parser::raw::xref::find_startxref;
use unpdf::parser::raw::{PdfDict, PdfObject, RawDocument};

use super::facts::entry;
use crate::ExtractError;
use crate::reason::Reason;

/// Entries that follow each other, and fields within fields.
const MOST_ENTRIES: usize = 1000;
const MOST_LEVELS: usize = 100;

/// The number and generation of an object.
type Id = (u32, u16);

/// Returns the file as the parser of pages can take it.
///
/// # Errors
///
/// `parser_failed` if it cannot be told without its lists.
pub(super) fn straight<'b>(
    bytes: &'b [u8],
    file: &RawDocument,
) -> Result<Cow<'b, [u8]>, ExtractError> {
    if !is_long(file) && !is_tangled(file) {
        return Ok(Cow::Borrowed(bytes));
    }
    let plain = update(bytes, file).map(|update| [bytes, update.as_bytes()].concat());
    plain.map(Cow::Owned).ok_or_else(|| {
        let message = "its outline, or its form, goes on further than its parser does";
        ExtractError::new(Reason::ParserFailed, message)
    })
}

/// Whether entries of the outline follow each other further than the parser should go.
fn is_long(file: &RawDocument) -> bool {
    let catalog = file.catalog().ok();
    let outline = catalog.and_then(|catalog| entry(file, catalog, b"Outlines")?.as_dict());
    let next = |dict: &PdfDict, name: &[u8]| dict.get(name).and_then(PdfObject::as_reference);
    let first = outline.and_then(|outline| next(outline, b"First"));
    let mut open: Vec<(Id, usize)> = first.map(|first| (first, 1)).into_iter().collect();
    let mut seen = HashSet::new();
    while let Some((id, depth)) = open.pop() {
        if depth > MOST_ENTRIES {
            return true;
        }
        if let Some(dict) = file.get_dict(id).ok().filter(|_| seen.insert(id)) {
            open.extend(next(dict, b"Next").map(|next| (next, depth + 1)));
            open.extend(next(dict, b"First").map(|below| (below, depth + 1)));
        }
    }
    false
}

/// Whether fields are within fields further than the parser should go, or more than once.
fn is_tangled(file: &RawDocument) -> bool {
    let catalog = file.catalog().ok();
    let form = catalog.and_then(|catalog| entry(file, catalog, b"AcroForm")?.as_dict());
    let list = |dict: &PdfDict, name: &[u8]| -> Vec<Id> {
        let list = entry(file, dict, name).and_then(PdfObject::as_array);
        let list = list.unwrap_or_default().iter();
        list.filter_map(PdfObject::as_reference).collect()
    };
    let mut open: Vec<(Id, usize)> = Vec::new();
    let fields = form.map(|form| list(form, b"Fields")).unwrap_or_default();
    open.extend(fields.into_iter().map(|id| (id, 1)));
    let mut seen = HashSet::new();
    while let Some((id, depth)) = open.pop() {
        let Ok(dict) = file.get_dict(id) else {
            continue;
        };
        let kids = list(dict, b"Kids");
        // A field that is listed twice costs nothing unless others are within.
        if depth > MOST_LEVELS || (!seen.insert(id) && !kids.is_empty()) {
            return true;
        }
        open.extend(kids.into_iter().map(|id| (id, depth + 1)));
    }
    false
}

/// Returns an update (§7.5.6) that is to stand behind the file: a catalog of nothing but its pages.
fn update(bytes: &[u8], file: &RawDocument) -> Option<String> {
    let (number, generation) = file.trailer().get(&b"Root"[..])?.as_reference()?;
    let (pages, of_pages) = file.catalog().ok()?.get(&b"Pages"[..])?.as_reference()?;
    let object = format!(
        "{number} {generation} obj\n<</Type/Catalog/Pages {pages} {of_pages} R>>\nendobj\n"
    );
    if file.xref_reconstructed() {
        // Objects are looked for from the beginning to the end; the last one counts.
        return Some(format!("\n{object}"));
    }
    let mut trailer = format!(
        "/Root {number} {generation} R/Prev {}",
        find_startxref(bytes).ok()?
    );
    match file.trailer().get(&b"Encrypt"[..]) {
        None => {}
        Some(PdfObject::Reference(number, generation)) => {
            trailer += &format!("/Encrypt {number} {generation} R");
        }
        Some(_) => return None,
    }
    let id = file.trailer().get(&b"ID"[..]).and_then(PdfObject::as_array);
    if let Some(first) = id.and_then(|parts| parts.first()?.as_str_bytes()) {
        let digits: String = first.iter().map(|byte| format!("{byte:02X}")).collect();
        trailer += &format!("/ID[<{digits}><{digits}>]");
    }
    let at = bytes.len() + 1;
    let table = at + object.len();
    Some(format!(
        "\n{object}xref\n{number} 1\n{at:010} {generation:05} n \ntrailer\n<<{trailer}>>\nstartxref\n{table}\n%%EOF\n"
    ))
}
