//! What a commit is to carry inline: objects that are missing and not staged.

use std::collections::{BTreeSet, HashSet};

use crate::model::{BlobRef, Hash, Object, Tree};
use crate::protocol::Staged;
use crate::protocol::delivery::places::Places;
use crate::protocol::delivery::size::Lists;

/// Pages and elements by their place in the tree, so that they travel in reading order.
#[derive(Debug, Default)]
pub(super) struct Inline {
    pub(super) pages: BTreeSet<usize>,
    pub(super) elements: BTreeSet<usize>,
}

impl Inline {
    pub(super) fn everything(tree: &Tree) -> Self {
        Self {
            pages: (0..tree.pages.len()).collect(),
            elements: (0..tree.elements.len()).collect(),
        }
    }

    /// Returns those of `hashes` that are part of the tree.
    pub(super) fn of(hashes: &HashSet<Hash>, places: &Places) -> Self {
        let pages = hashes.iter().filter_map(|hash| places.page(hash));
        let elements = hashes.iter().filter_map(|hash| places.element(hash));
        Self {
            pages: pages.collect(),
            elements: elements.collect(),
        }
    }

    /// Takes an object out, because it is staged instead.
    pub(super) fn remove(&mut self, object: Staged, places: &Places) {
        match object {
            Staged::Page(hash) => {
                let place = places.page(&hash);
                place.map(|place| self.pages.remove(&place));
            }
            Staged::Element(hash) => {
                let place = places.element(&hash);
                place.map(|place| self.elements.remove(&place));
            }
            Staged::Blob(_) => {}
        }
    }

    pub(super) fn pages<'t>(&self, tree: &'t Tree) -> impl Iterator<Item = &'t Object> {
        self.pages.iter().map(|place| &tree.pages[*place])
    }

    pub(super) fn elements<'t>(&self, tree: &'t Tree) -> impl Iterator<Item = &'t Object> {
        self.elements.iter().map(|place| &tree.elements[*place])
    }

    pub(super) fn hashes(&self, tree: &Tree) -> HashSet<Hash> {
        let all = self.pages(tree).chain(self.elements(tree));
        all.map(|object| object.hash).collect()
    }

    /// Returns the bytes they add to an envelope.
    pub(super) fn length(&self, tree: &Tree) -> u64 {
        let mut lists = Lists::default();
        self.pages(tree)
            .for_each(|page| lists.add_page(page.text.len()));
        let elements = self.elements(tree);
        elements.for_each(|element| lists.add_object(element.text.len()));
        lists.length()
    }

    /// Returns the largest objects that have to be staged so that the rest adds no more than `room`
    /// bytes, the largest first.
    pub(super) fn overflow(&self, tree: &Tree, room: u64) -> Vec<Staged> {
        if self.length(tree) <= room {
            return Vec::new();
        }
        let pages = self.pages(tree);
        let pages = pages.map(|page| (page.text.len(), Staged::Page(page.hash)));
        let elements = self.elements(tree);
        let elements = elements.map(|element| (element.text.len(), Staged::Element(element.hash)));
        let mut all: Vec<(usize, Staged)> = pages.chain(elements).collect();
        all.sort_by_key(|(length, _)| *length);
        let mut lists = Lists::default();
        let fits = |(length, object): &&(usize, Staged)| {
            match object {
                Staged::Page(_) => lists.add_page(*length),
                _ => lists.add_object(*length),
            }
            lists.length() <= room
        };
        let inline = all.iter().take_while(fits).count();
        all[inline..]
            .iter()
            .rev()
            .map(|(_, object)| *object)
            .collect()
    }

    /// Returns one element for each blob of which `is_unsure` holds.
    pub(super) fn of_blobs(&self, tree: &Tree, is_unsure: impl Fn(BlobRef) -> bool) -> Vec<Staged> {
        let mut asked = HashSet::new();
        let unsure = self.elements(tree).filter(|element| {
            let blob = element.blob.filter(|blob| is_unsure(*blob));
            blob.is_some_and(|blob| asked.insert(blob))
        });
        unsure
            .map(|element| Staged::Element(element.hash))
            .collect()
    }
}
