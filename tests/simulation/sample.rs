//! Documents at random, and what becomes of them when somebody edits them.

use std::collections::HashMap;

use bytes::Bytes;
use dpe::json::Text;
use dpe::model::{BlobRef, Contract, Tree};
use serde_json::{Value, json};

use super::chance::Chance;

/// A document: pages of elements.
#[derive(Clone, Debug, Default)]
pub(super) struct Sample {
    pages: Vec<Vec<Value>>,
    blobs: HashMap<BlobRef, Bytes>,
}

impl Sample {
    pub(super) fn new(chance: &mut Chance) -> Self {
        let mut sample = Self::default();
        for _ in 0..chance.of(0..7) {
            sample.insert_page(chance);
        }
        sample
    }

    /// Edits it in one to four places.
    pub(super) fn edit(&mut self, chance: &mut Chance) {
        for _ in 0..chance.of(1..5) {
            match chance.of(0..5) {
                0 | 1 => self.insert_page(chance),
                2 if !self.pages.is_empty() => {
                    let at = chance.of(0..self.pages.len());
                    self.pages.remove(at);
                }
                3 if !self.pages.is_empty() => {
                    let from = chance.of(0..self.pages.len());
                    let to = chance.of(0..self.pages.len());
                    self.pages.swap(from, to);
                }
                _ if !self.pages.is_empty() => {
                    let at = chance.of(0..self.pages.len());
                    let element = self.element(chance);
                    self.pages[at].push(element);
                }
                _ => {}
            }
        }
    }

    pub(super) fn tree(&self) -> Tree {
        let pages = self
            .pages
            .iter()
            .map(|elements| json!({"elements": elements}));
        let document = json!({"file_type": "txt", "pages": pages.collect::<Vec<_>>()});
        let text = document.to_string();
        let text = Text::parse(text.as_bytes()).unwrap();
        Tree::of_expanded(text.root(), Contract::Dpe1, |_| Ok(None)).unwrap()
    }

    pub(super) fn blobs(&self) -> &HashMap<BlobRef, Bytes> {
        &self.blobs
    }

    fn insert_page(&mut self, chance: &mut Chance) {
        let elements = (0..chance.of(0..6)).map(|_| self.element(chance)).collect();
        let at = chance.of(0..self.pages.len() + 1);
        self.pages.insert(at, elements);
    }

    fn element(&mut self, chance: &mut Chance) -> Value {
        if chance.in_thousand(250) {
            let length = [0, 1, 60, 700, 1500, 2600][chance.of(0..6)];
            // Few different ones, so that some are in the remote already.
            let fill = u8::try_from(chance.of(0..3)).unwrap();
            let bytes = Bytes::from(vec![fill; length]);
            let blob = BlobRef::of(&bytes);
            self.blobs.insert(blob, bytes);
            let text = format!("image {}", chance.of(0..3));
            return json!({"category": "Image", "blob": blob.to_string(), "text": text});
        }
        let length = [5, 40, 300, 900][chance.of(0..4)];
        let word = chance.next() % 40;
        json!({"category": "NarrativeText", "text": format!("{word:0length$}")})
    }
}
