//! A document as a connector delivers it, made into the objects a remote takes.
//!
//! Pages come with their elements inline and in segments (connector contract §12, §13); what
//! leaves is a text and the hash of every distinct object. Where the bytes of blobs
//! are, only the caller knows.

use std::collections::HashSet;

use super::blob::BlobRef;
use super::children;
use super::contract::Contract;
use super::depth;
use super::document::Document;
use super::element::{BlobForm, Element};
use super::expanded::{element_pointer, first_violation};
use super::fields;
use super::hash::Hash;
use super::page::{PAGE_START, Page, inline_elements};
use super::preimage::Preimage;
use super::violation::Violation;
use crate::json::Value;
use crate::json::canonical::{ReadableText, Sink};

/// One object ready for delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// Its hash.
    pub hash: Hash,
    /// Its text: canonical, but readable again (see [`ReadableText`]).
    pub text: Box<str>,
}

/// A whole document ready for delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    /// The doc_hash.
    pub doc_hash: Hash,
    /// Text of the document object: canonical, but readable again (see [`ReadableText`]).
    pub document: Box<str>,
    /// The page_hash of every page in reading order, repetition kept.
    pub page_list: Vec<Hash>,
    /// Distinct page objects in order of first appearance.
    pub pages: Vec<Object>,
    /// Distinct element objects in order of first appearance.
    pub elements: Vec<Object>,
    /// Distinct blobs in order of first appearance.
    pub blobs: Vec<BlobRef>,
    /// Number of elements, repetition counted.
    pub element_count: u64,
}

/// Collects the pages of a document, then makes its tree.
///
/// After a violation the builder is of no further use.
#[derive(Debug)]
pub struct TreeBuilder {
    page_list: Vec<Hash>,
    pages: Vec<Object>,
    elements: Vec<Object>,
    blobs: Vec<BlobRef>,
    seen: HashSet<Hash>,
    seen_blobs: HashSet<BlobRef>,
    element_count: u64,
    /// Text of the object at hand.
    text: ReadableText,
    preimage: Preimage,
}

impl TreeBuilder {
    /// Returns a builder without pages.
    pub fn new(contract: Contract) -> Self {
        Self {
            page_list: Vec::new(),
            pages: Vec::new(),
            elements: Vec::new(),
            blobs: Vec::new(),
            seen: HashSet::new(),
            seen_blobs: HashSet::new(),
            element_count: 0,
            text: ReadableText::default(),
            preimage: Preimage::new(contract),
        }
    }

    /// Adds the pages of one segment: an array of pages with their elements inline. `resolve`
    /// gets each byte source once all of the segment is known to be valid, and gives the reference
    /// of its bytes, or nothing if the element is to go without; its violations are relative to
    /// the byte source.
    ///
    /// # Errors
    /// The first violation in the order of connector contract §12: pages, elements, byte sources.
    /// Pointers are those of the expanded document.
    pub fn add_pages(
        &mut self,
        pages: Value<'_>,
        mut resolve: impl FnMut(Value<'_>) -> Result<Option<BlobRef>, Violation>,
    ) -> Result<(), Violation> {
        let items = pages
            .items()
            .ok_or_else(|| fields::wrong_type("pages", "an array"))?;
        let violation = first_violation(items.clone(), self.page_list.len(), BlobForm::Source);
        if let Some(violation) = violation {
            return Err(violation);
        }
        for item in items {
            self.add_page(item, &mut resolve)?;
        }
        Ok(())
    }

    /// Makes the tree from the document object, which comes without `pages`.
    ///
    /// # Errors
    /// The first violation of the document's own members, in the order of hash contract §6.1.
    pub fn finish(mut self, document: Value<'_>) -> Result<Tree, Violation> {
        depth::check(document, None)?;
        let document = Document::read_without_pages(document)?;
        let page_list = std::mem::take(&mut self.page_list);
        let doc_hash = self.take(|sink| {
            document.write_start(sink)?;
            children::write_list(&page_list, sink);
            document.write_end(sink);
            Ok(())
        })?;
        Ok(Tree {
            doc_hash,
            document: self.text.as_str().into(),
            page_list,
            pages: self.pages,
            elements: self.elements,
            blobs: self.blobs,
            element_count: self.element_count,
        })
    }

    fn add_page(
        &mut self,
        item: Value<'_>,
        resolve: &mut impl FnMut(Value<'_>) -> Result<Option<BlobRef>, Violation>,
    ) -> Result<(), Violation> {
        let (page, list) = Page::read(item)?;
        let mut elements = Vec::new();
        for (position, item) in inline_elements(list)?.enumerate() {
            let element = Element::read(item, BlobForm::Source)?;
            let blob = match element.blob() {
                Some(source) => resolve(source).map_err(|violation| {
                    let pointer = element_pointer(self.page_list.len(), position);
                    violation.under(&format!("{pointer}/blob"))
                })?,
                None => None,
            };
            elements.push(self.add_element(&element, blob)?);
        }
        let hash = self.take(|sink| {
            sink.put(PAGE_START);
            children::write_list(&elements, sink);
            page.write_rest(sink)
        })?;
        self.page_list.push(hash);
        if self.seen.insert(hash) {
            self.pages.push(self.object(hash));
        }
        Ok(())
    }

    fn add_element(
        &mut self,
        element: &Element<'_>,
        blob: Option<BlobRef>,
    ) -> Result<Hash, Violation> {
        let hash = self.take(|sink| element.write(blob, sink))?;
        self.element_count += 1;
        if self.seen.insert(hash) {
            self.elements.push(self.object(hash));
            let new_blob = blob.filter(|&blob| self.seen_blobs.insert(blob));
            self.blobs.extend(new_blob);
        }
        Ok(hash)
    }

    /// Makes an object the one at hand and returns its hash.
    fn take(
        &mut self,
        write: impl Fn(&mut dyn Sink) -> Result<(), Violation>,
    ) -> Result<Hash, Violation> {
        self.text.clear();
        write(&mut self.text)?;
        match self.text.canonical() {
            Some(text) => self.preimage.put(text),
            None => write(&mut self.preimage)?,
        }
        Ok(self.preimage.finish())
    }

    /// Returns the object at hand.
    fn object(&self, hash: Hash) -> Object {
        let text = self.text.as_str().into();
        Object { hash, text }
    }
}

#[cfg(test)]
mod tests {
    use super::TreeBuilder;
    use crate::json::Text;
    use crate::model::{BlobRef, Code, Contract, Contracts, Violation, document, page};

    const PAGES: &str = r#"[
        {"title":"One","elements":[
            {"category":"Title","text":"Q3 report"},
            {"category":"NarrativeText","text":"Revenue grew 4.50 %.",
             "metadata":{"lang":"en","score":1.0,"skip":null,"list":[null,{"k":null}]}}]},
        {"page_metadata":{"page_label":"i"},"elements":[
            {"category":"Image","mime_type":"image/png","blob":{"inline":"aGVsbG8="}}]}
    ]"#;
    const DOCUMENT: &str = r#"{"file_type":"md","title":"Q3","doc_metadata":{"author":"ann"}}"#;

    fn hello(_source: crate::json::Value<'_>) -> Result<Option<BlobRef>, Violation> {
        Ok(Some(BlobRef::of(b"hello")))
    }

    /// The document of hash contract §16.
    #[test]
    fn tree_of_a_delivered_document_has_the_hashes_of_the_specification() {
        let pages = Text::parse(PAGES.as_bytes()).unwrap();
        let head = Text::parse(DOCUMENT.as_bytes()).unwrap();
        let mut builder = TreeBuilder::new(Contract::Dpe1);
        builder.add_pages(pages.root(), hello).unwrap();
        let tree = builder.finish(head.root()).unwrap();
        assert_eq!(
            tree.doc_hash.to_string(),
            "dpe1:14c895cb99ad0de20d9640c5267bbcc561b626ce39974eaa110354f8d369145f"
        );
        assert_eq!(
            &*tree.elements[0].text,
            r#"{"category":"Title","metadata":{},"text":"Q3 report"}"#
        );
        assert_eq!(tree.blobs, [BlobRef::of(b"hello")]);
        assert_eq!(tree.element_count, 3);
        for object in &tree.pages {
            let text = Text::parse(object.text.as_bytes()).unwrap();
            let judged = page(text.root(), Contract::Dpe1, Contracts::SUPPORTED).unwrap();
            assert_eq!(judged.hash, object.hash);
        }
        let text = Text::parse(tree.document.as_bytes()).unwrap();
        let judged = document(text.root(), Contract::Dpe1, Contracts::SUPPORTED).unwrap();
        assert_eq!(judged.hash, tree.doc_hash);
        assert_eq!(judged.pages, tree.page_list);
    }

    /// The canonical form of this float is an integer literal out of range (hash contract §4.3).
    #[test]
    fn text_of_an_object_with_a_wide_float_is_a_valid_object_with_the_same_hash() {
        let pages =
            br#"[{"page_metadata":{"n":[9007199254740992.0,-1e20,1e21,0.5e1]},"elements":[]}]"#;
        let pages = Text::parse(pages).unwrap();
        let mut builder = TreeBuilder::new(Contract::Dpe1);
        builder.add_pages(pages.root(), hello).unwrap();
        let head = Text::parse(br#"{"file_type":"md"}"#).unwrap();
        let tree = builder.finish(head.root()).unwrap();
        let object = &tree.pages[0];
        assert_eq!(
            &*object.text,
            r#"{"elements":[],"page_metadata":{"n":[9007199254740992.0,-100000000000000000000.0,1e+21,5]}}"#
        );
        let text = Text::parse(object.text.as_bytes()).unwrap();
        let judged = page(text.root(), Contract::Dpe1, Contracts::SUPPORTED).unwrap();
        assert_eq!(judged.hash, object.hash);
    }

    #[test]
    fn repeated_objects_are_kept_once_and_segments_make_the_same_tree() {
        let page = r#"{"elements":[{"category":"Title"},{"category":"Title"}]}"#;
        let two = Text::parse_owned(format!("[{page},{page}]").into_bytes()).unwrap();
        let one = Text::parse_owned(format!("[{page}]").into_bytes()).unwrap();
        let head = Text::parse(br#"{"file_type":"md"}"#).unwrap();
        let mut whole = TreeBuilder::new(Contract::Dpex);
        whole.add_pages(two.root(), hello).unwrap();
        let mut segments = TreeBuilder::new(Contract::Dpex);
        segments.add_pages(one.root(), hello).unwrap();
        segments.add_pages(one.root(), hello).unwrap();
        let whole = whole.finish(head.root()).unwrap();
        assert_eq!(whole, segments.finish(head.root()).unwrap());
        assert_eq!((whole.pages.len(), whole.elements.len()), (1, 1));
        assert_eq!((whole.page_list.len(), whole.element_count), (2, 4));
    }

    #[test]
    fn byte_sources_are_asked_for_only_after_the_whole_segment_is_valid() {
        let judge = |pages: &str| {
            let text = Text::parse(pages.as_bytes()).unwrap();
            let refuse = |_: crate::json::Value<'_>| Err(Violation::here("no bytes"));
            let result = TreeBuilder::new(Contract::Dpe1).add_pages(text.root(), refuse);
            result.unwrap_err()
        };
        let image = r#"{"category":"Image","blob":{"handle":"h"}}"#;
        let violation = judge(&format!(r#"[{{"elements":[{image}]}}]"#));
        assert_eq!(violation.pointer, "/pages/0/elements/0/blob");
        let violation = judge(&format!(
            r#"[{{"elements":[{image},{{"category":"Nope"}}]}},{{"elements":[]}}]"#
        ));
        assert_eq!(violation.code, Code::CategoryUnknown);
        assert_eq!(violation.pointer, "/pages/0/elements/1/category");
        let reference = BlobRef::of(b"").to_string();
        let violation = judge(&format!(
            r#"[{{"elements":[{{"category":"Image","blob":"{reference}"}}]}}]"#
        ));
        assert_eq!(violation.pointer, "/pages/0/elements/0/blob");
    }

    #[test]
    fn document_with_pages_of_its_own_is_refused() {
        let head = Text::parse(br#"{"file_type":"md","pages":null}"#).unwrap();
        let violation = TreeBuilder::new(Contract::Dpe1).finish(head.root());
        assert_eq!(violation.unwrap_err().pointer, "/pages");
    }
}
