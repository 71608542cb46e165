//! The outline of the document, as the file declares it (ISO 32000-1 §12.3.3).
//!
//! Which of the texts on a page an entry means is not known here.

use std::collections::{HashMap, HashSet};

use unpdf::parser::raw::{PdfDict, PdfObject, RawDocument};

use super::facts::{entry, taken};
use super::text_string::text_string;
use crate::flow::title;

/// Entries, and names of places; damaged lists go in circles.
const MOST_ENTRIES: usize = 20_000;
const MOST_NAMES: usize = 200_000;

/// Nobody has deeper outlines.
const MOST_DEPTH: usize = 32;

/// The number and generation of an object.
type Id = (u32, u16);

/// An entry whose page is known.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) title: String,
    /// Index of its page.
    pub(super) page: usize,
    /// Counts from 1.
    pub(super) level: usize,
}

/// Returns the entries in order; `ids` are the pages.
pub(super) fn entries(file: &RawDocument, ids: &[Id]) -> Vec<Entry> {
    let catalog = file.catalog().ok();
    let root = catalog.and_then(|catalog| entry(file, catalog, b"Outlines")?.as_dict());
    let mut places = Places::new(file, ids);
    let mut entries = Vec::new();
    let mut seen = HashSet::new();
    let mut open: Vec<(Id, usize)> = Vec::new();
    let first = |dict: &PdfDict, name: &[u8]| dict.get(name).and_then(PdfObject::as_reference);
    open.extend(root.and_then(|root| Some((first(root, b"First")?, 1))));
    while let Some((id, level)) = open.pop() {
        if seen.len() >= MOST_ENTRIES || !seen.insert(id) {
            continue;
        }
        let Ok(dict) = file.get_dict(id) else {
            continue;
        };
        open.extend(first(dict, b"Next").map(|next| (next, level)));
        if level < MOST_DEPTH {
            open.extend(first(dict, b"First").map(|below| (below, level + 1)));
        }
        let text = entry(file, dict, b"Title").and_then(PdfObject::as_str_bytes);
        let title = text.and_then(|text| title(&text_string(text)));
        if let Some(title) = title
            && let Some(page) = places.of(dict)
        {
            entries.push(Entry { title, page, level });
        }
    }
    entries
}

/// Where entries lead to.
struct Places<'d> {
    file: &'d RawDocument,
    pages: HashMap<Id, usize>,
    /// Places with names, once one is asked for.
    names: Option<HashMap<&'d [u8], &'d PdfObject>>,
}

impl<'d> Places<'d> {
    fn new(file: &'d RawDocument, ids: &[Id]) -> Self {
        let pages = ids.iter().enumerate().map(|(page, id)| (*id, page));
        Self {
            file,
            pages: pages.collect(),
            names: None,
        }
    }

    /// Returns the page to which an entry leads.
    fn of(&mut self, dict: &'d PdfDict) -> Option<usize> {
        let file = self.file;
        let place = entry(file, dict, b"Dest").or_else(|| {
            let action = entry(file, dict, b"A")?.as_dict()?;
            entry(file, action, b"D")
        })?;
        let name = place.as_name().or_else(|| place.as_str_bytes());
        let place = match name {
            Some(name) => *self.names().get(name)?,
            None => place,
        };
        let place = match place.as_dict() {
            Some(dict) => entry(file, dict, b"D")?,
            None => place,
        };
        let page = place.as_array()?.first()?.as_reference()?;
        self.pages.get(&page).copied()
    }

    fn names(&mut self) -> &HashMap<&'d [u8], &'d PdfObject> {
        let file = self.file;
        self.names.get_or_insert_with(|| names(file))
    }
}

/// Returns all places with names (§12.3.2.3).
fn names(file: &RawDocument) -> HashMap<&[u8], &PdfObject> {
    let mut names = HashMap::new();
    let Ok(catalog) = file.catalog() else {
        return names;
    };
    let old = entry(file, catalog, b"Dests").and_then(PdfObject::as_dict);
    for (name, place) in old.into_iter().flat_map(PdfDict::iter).take(MOST_NAMES) {
        names.insert(name.as_slice(), file.resolve(place));
    }
    let tree = entry(file, catalog, b"Names").and_then(PdfObject::as_dict);
    let mut open: Vec<&PdfObject> = Vec::new();
    open.extend(tree.and_then(|tree| tree.get(&b"Dests"[..])));
    let mut seen = HashSet::new();
    let (mut nodes, mut pairs) = (MOST_NAMES, MOST_NAMES * 2);
    while let Some(node) = open.pop() {
        let Some(node) = file.resolve(node).as_dict() else {
            continue;
        };
        let kids = taken(file, node, b"Kids", &mut nodes);
        let new = |kid: &&PdfObject| kid.as_reference().is_none_or(|id| seen.insert(id));
        open.extend(kids.iter().filter(new));
        for pair in taken(file, node, b"Names", &mut pairs).chunks_exact(2) {
            if let Some(name) = file.resolve(&pair[0]).as_str_bytes() {
                names.insert(name, file.resolve(&pair[1]));
            }
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use unpdf::parser::raw::RawDocument;

    use super::names;

    #[test]
    fn node_of_names_that_is_named_again_and_again_is_read_once() {
        let kids = "4 0 R ".repeat(20_000);
        let file = format!(
            "%PDF-1.4\n1 0 obj <</Type/Catalog/Names<</Dests 4 0 R>>>> endobj\n\
             4 0 obj <</Kids 5 0 R/Names[(a)[7 0 R]]>> endobj\n5 0 obj [{kids}<</Kids 5 0 R>>] endobj\n"
        );
        let file = RawDocument::load(file.as_bytes()).unwrap();
        assert_eq!(names(&file).len(), 1);
    }
}
