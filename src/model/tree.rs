//! A document as a connector delivers it, made into the objects a remote takes.
//!
//! Pages come with their elements inline and in segments (connector contract §12, §13); what
//! leaves is a text and the hash of every distinct object. Where the bytes of blobs
//! are, only the caller knows. A document handed over as one text goes the same way, judged in the
//! order of hash contract §6.4.

use std::collections::HashSet;

use super::blob::BlobRef;
use super::children;
use super::contract::Contract;
use super::depth;
use super::document::{Document, PAGES};
use super::element::{BlobForm, Element};
use super::expanded::{check_pages, element_pointer, first_page_violation, page_pointer};
use super::fields;
use super::hash::Hash;
use super::page::{ELEMENTS, PAGE_START, Page, inline_elements};
use super::preimage::Preimage;
use super::violation::Violation;
use crate::json::canonical::{Nowhere, ReadableText, Sink};
use crate::json::{Items, Value};

/// One object ready for delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// Its hash.
    pub hash: Hash,
    /// Its text: canonical, but readable again (see [`ReadableText`]).
    pub text: Box<str>,
    /// The blob it refers to; only elements can.
    pub blob: Option<BlobRef>,
}

impl Object {
    /// Returns the text of an element in two parts, if it has a metadata member that is empty: what
    /// is before and behind it. Without the member it is the same element (hash contract §3).
    pub fn around_empty_metadata(&self) -> Option<(&str, &str)> {
        // Before it are a reference and a category, which have no such text in them.
        let (before, behind) = self.text.split_once(",\"metadata\":")?;
        Some((before, behind.strip_prefix("{}")?))
    }
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

impl Tree {
    /// Makes the tree of a document that has its pages and elements inline (hash contract §6.4).
    /// The `blob` of an element is a reference, or a byte source that `resolve` gets once the
    /// whole document is known to be valid, see [`TreeBuilder::add_pages`].
    ///
    /// # Errors
    /// The first violation in the order of §6.4, with pointers from the document; then those of
    /// byte sources.
    pub fn of_expanded(
        value: Value<'_>,
        contract: Contract,
        resolve: impl FnMut(Value<'_>) -> Result<Option<BlobRef>, Violation>,
    ) -> Result<Self, Violation> {
        depth::check(value, Some(PAGES))?;
        let (document, pages) = Document::read(value)?;
        document.write_start(&mut Nowhere)?;
        let mut builder = TreeBuilder {
            form: BlobForm::Either,
            ..TreeBuilder::new(contract)
        };
        builder.add_pages(pages, resolve)?;
        builder.close(&document)
    }
}

/// Returns the byte sources in the pages of a segment, in order. Pages without any are not judged.
///
/// # Errors
/// Like [`TreeBuilder::add_pages`], of a segment that begins its document; byte sources
/// themselves are not judged.
pub fn byte_sources<'t>(pages: Value<'t>) -> Result<Vec<Value<'t>>, Violation> {
    let items = pages
        .items()
        .ok_or_else(|| fields::wrong_type(PAGES, "an array"))?;
    let lists = items.clone().filter_map(|page| page.member(ELEMENTS));
    let elements = lists.filter_map(Value::items).flatten();
    let sources = elements.filter_map(|element| element.member("blob"));
    let sources: Vec<_> = sources.filter(|source| !source.is_null()).collect();
    if !sources.is_empty() {
        check_pages(items, 0, BlobForm::Source)?;
    }
    Ok(sources)
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
    /// What `blob` may be.
    form: BlobForm,
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
            form: BlobForm::Source,
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
        resolve: impl FnMut(Value<'_>) -> Result<Option<BlobRef>, Violation>,
    ) -> Result<(), Violation> {
        let items = pages
            .items()
            .ok_or_else(|| fields::wrong_type(PAGES, "an array"))?;
        let mut segment = Segment {
            rest: items,
            form: self.form,
            is_judged: false,
            resolve,
        };
        while let Some(item) = segment.rest.clone().next() {
            self.add_page(item, &mut segment).map_err(|violation| {
                let rest = segment.rest.clone();
                first_page_violation(rest, self.page_list.len()).unwrap_or(violation)
            })?;
            segment.rest.next();
        }
        Ok(())
    }

    /// Makes the tree from the document object, which comes without `pages`.
    ///
    /// # Errors
    /// The first violation of the document's own members, in the order of hash contract §6.1.
    pub fn finish(self, document: Value<'_>) -> Result<Tree, Violation> {
        depth::check(document, None)?;
        self.close(&Document::read_without_pages(document)?)
    }

    fn close(mut self, document: &Document<'_>) -> Result<Tree, Violation> {
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

    /// Judges and adds the page at hand, in the order of its preimages.
    fn add_page<'t, R>(
        &mut self,
        item: Value<'t>,
        segment: &mut Segment<'t, R>,
    ) -> Result<(), Violation>
    where
        R: FnMut(Value<'t>) -> Result<Option<BlobRef>, Violation>,
    {
        let position = self.page_list.len();
        let under_page = |violation: Violation| violation.under(&page_pointer(position));
        depth::check(item, Some(ELEMENTS))?;
        let (page, list) = Page::read(item).map_err(under_page)?;
        let mut elements = Vec::new();
        for item in inline_elements(list).map_err(under_page)? {
            let pointer = || element_pointer(position, elements.len());
            depth::check(item, None)?;
            let element =
                Element::read(item, self.form).map_err(|violation| violation.under(&pointer()))?;
            let blob = match (element.reference(), element.blob()) {
                (None, Some(source)) => segment.reference(source, position, elements.len())?,
                (reference, _) => reference,
            };
            let hash = self
                .add_element(&element, blob)
                .map_err(|violation| violation.under(&pointer()))?;
            elements.push(hash);
        }
        let hash = self.take(|sink| {
            sink.put(PAGE_START);
            children::write_list(&elements, sink);
            page.write_rest(sink)
        });
        let hash = hash.map_err(under_page)?;
        self.page_list.push(hash);
        if self.seen.insert(hash) {
            self.pages.push(self.object(hash, None));
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
            self.elements.push(self.object(hash, blob));
            let new_blob = blob.filter(|&blob| self.seen_blobs.insert(blob));
            self.blobs.extend(new_blob);
        }
        Ok(hash)
    }

    /// Makes an object the one at hand and returns its hash.
    fn take(
        &mut self,
        write: impl FnOnce(&mut ReadableText) -> Result<(), Violation>,
    ) -> Result<Hash, Violation> {
        self.text.clear();
        write(&mut self.text)?;
        self.text.write_canonical(&mut self.preimage);
        Ok(self.preimage.finish())
    }

    /// Returns the object at hand.
    fn object(&self, hash: Hash, blob: Option<BlobRef>) -> Object {
        let text = self.text.as_str().into();
        Object { hash, text, blob }
    }
}

/// The pages of a segment that are not added yet.
struct Segment<'t, R> {
    /// The page at hand and those behind it.
    rest: Items<'t>,
    form: BlobForm,
    /// True once the rest is known to be valid.
    is_judged: bool,
    resolve: R,
}

impl<'t, R> Segment<'t, R>
where
    R: FnMut(Value<'t>) -> Result<Option<BlobRef>, Violation>,
{
    /// Returns the reference of a byte source of the page at hand. Before the first one, all that
    /// has not been seen is judged: byte sources come last in the order of the contract, and
    /// nobody should fetch bytes for a document that is refused anyway.
    fn reference(
        &mut self,
        source: Value<'t>,
        page: usize,
        element: usize,
    ) -> Result<Option<BlobRef>, Violation> {
        if !self.is_judged {
            check_pages(self.rest.clone(), page, self.form)?;
            self.is_judged = true;
        }
        (self.resolve)(source).map_err(|violation| {
            let pointer = element_pointer(page, element);
            violation.under(&format!("{pointer}/blob"))
        })
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

    /// Hash contract §6.4: its example, and the same behind pages of which nothing is wrong.
    #[test]
    fn violations_of_later_pages_come_before_those_of_elements() {
        let image = r#"{"elements":[{"category":"Image","blob":{"handle":"h"}}]}"#;
        let bad_element = r#"{"elements":[{"category":"Nope"}]}"#;
        let bad_numbers = r#"{"elements":[],"page_metadata":{"n":1e400}}"#;
        for (pages, pointer) in [
            (
                vec![bad_element, r#"{"title":1,"elements":[]}"#],
                "/pages/1/title",
            ),
            (vec![image, bad_element, "{}", bad_numbers], "/pages/2"),
            (
                vec![bad_element, image, bad_numbers],
                "/pages/2/page_metadata/n",
            ),
            (vec![image, bad_element], "/pages/1/elements/0/category"),
        ] {
            let text = format!("[{}]", pages.join(","));
            let text = Text::parse(text.as_bytes()).unwrap();
            let no_bytes = |_: crate::json::Value<'_>| panic!("the segment is not valid");
            let result = TreeBuilder::new(Contract::Dpe1).add_pages(text.root(), no_bytes);
            assert_eq!(result.unwrap_err().pointer, pointer);
        }
    }

    #[test]
    fn document_with_pages_of_its_own_is_refused() {
        let head = Text::parse(br#"{"file_type":"md","pages":null}"#).unwrap();
        let violation = TreeBuilder::new(Contract::Dpe1).finish(head.root());
        assert_eq!(violation.unwrap_err().pointer, "/pages");
    }
}
