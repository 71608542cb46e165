//! Footnotes, endnotes and comments: marked where the text refers to them, and read after that.

use std::collections::HashMap;

use dpe_connector::content::Metadata;
use roxmltree::{Document, Node};

use super::fields::Fields;
use super::{Reader, Surroundings};
use crate::flow::Container;
use crate::formats::ooxml::relations::Relations;
use crate::package::Package;
use crate::reading::Reading;
use crate::{ExtractError, times, xml};

/// Notes that texts referred to, by their ids: to be read, and read already.
#[derive(Debug, Default)]
pub(super) struct Notes {
    footnotes: Marks,
    endnotes: Marks,
    comments: Marks,
}

#[derive(Debug, Default)]
pub(super) struct Marks {
    labels: HashMap<String, String>,
    waiting: Vec<String>,
}

impl Marks {
    /// Returns the label of a note, a new one if it was not met before.
    pub(super) fn label(&mut self, id: &str, label_of: impl FnOnce(usize) -> String) -> &str {
        if !self.labels.contains_key(id) {
            let label = label_of(self.labels.len() + 1);
            self.labels.insert(id.to_owned(), label);
            self.waiting.push(id.to_owned());
        }
        &self.labels[id]
    }
}

/// The kinds of notes; each has a part of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Footnote,
    Endnote,
    Comment,
}

impl Reader<'_, '_, '_, '_> {
    /// Reads the footnotes and comments of a block, and those in them.
    pub(super) fn notes_of_block(&mut self) -> Result<(), ExtractError> {
        while self.in_body && !self.notes.are_read() {
            self.read_notes(Kind::Footnote)?;
            self.read_notes(Kind::Comment)?;
        }
        Ok(())
    }

    /// Reads the notes that were referred to since the last time.
    pub(super) fn read_notes(&mut self, kind: Kind) -> Result<(), ExtractError> {
        let waiting = std::mem::take(&mut self.notes.of(kind).waiting);
        let Some(mut source) = self.sources.of(kind).take() else {
            return Ok(());
        };
        std::mem::swap(&mut self.here, &mut source.surroundings);
        let result = self.beside_text(|reader| {
            for id in waiting {
                if let Some(note) = source.notes.get(id.as_str()) {
                    let label = reader.notes.of(kind).labels[&id].clone();
                    reader.flow.open(kind.container(label, *note));
                    reader.blocks(*note)?;
                    reader.flow.close();
                }
            }
            Ok(())
        });
        std::mem::swap(&mut self.here, &mut source.surroundings);
        *self.sources.of(kind) = Some(source);
        result
    }
}

/// The texts of the parts with notes, as long as they are needed.
#[derive(Debug, Default)]
pub(super) struct Texts(Vec<(Kind, String, String)>);

/// Their trees.
pub(super) struct Trees<'t>(Vec<(Kind, &'t str, Document<'t>)>);

/// Where the notes of each kind are.
#[derive(Debug, Default)]
pub(super) struct Sources<'t> {
    footnotes: Option<Source<'t>>,
    endnotes: Option<Source<'t>>,
    comments: Option<Source<'t>>,
}

#[derive(Debug)]
pub(super) struct Source<'t> {
    notes: HashMap<&'t str, Node<'t, 't>>,
    surroundings: Surroundings,
}

impl Texts {
    /// Reads the parts that a document has; one that cannot be read is noted.
    pub(super) fn of(
        relations: &Relations,
        package: &mut Package<'_>,
        reading: &mut Reading<'_>,
    ) -> Result<Self, ExtractError> {
        let mut texts = Vec::new();
        for kind in [Kind::Footnote, Kind::Endnote, Kind::Comment] {
            let Some(part) = relations.of_kind(kind.name()).next() else {
                continue;
            };
            let bytes = package.needed(part, reading);
            let text = bytes.and_then(|bytes| xml::text(&bytes));
            if let Some(text) = reading.tolerated(part, text)? {
                texts.push((kind, part.to_owned(), text));
            }
        }
        Ok(Self(texts))
    }

    pub(super) fn trees(&self, reading: &mut Reading<'_>) -> Result<Trees<'_>, ExtractError> {
        let mut trees = Vec::new();
        for (kind, part, text) in &self.0 {
            let tree = xml::parse(text, reading);
            if let Some(tree) = reading.tolerated(part, tree)? {
                trees.push((*kind, part.as_str(), tree));
            }
        }
        Ok(Trees(trees))
    }
}

impl<'t> Sources<'t> {
    pub(super) fn in_trees(
        trees: &'t Trees<'t>,
        package: &mut Package<'_>,
        reading: &mut Reading<'_>,
    ) -> Result<Self, ExtractError> {
        let mut sources = Self::default();
        for (kind, part, tree) in &trees.0 {
            let root = tree.root_element();
            let notes = root.children().filter(Node::is_element);
            let notes = notes.filter_map(|note| Some((xml::attribute(note, "id")?, note)));
            *sources.of(*kind) = Some(Source {
                notes: notes.collect(),
                surroundings: Surroundings {
                    relations: Relations::of(part, package, reading)?,
                    fields: Fields::of_part(root),
                },
            });
        }
        Ok(sources)
    }

    fn of(&mut self, kind: Kind) -> &mut Option<Source<'t>> {
        match kind {
            Kind::Footnote => &mut self.footnotes,
            Kind::Endnote => &mut self.endnotes,
            Kind::Comment => &mut self.comments,
        }
    }
}

impl Notes {
    fn are_read(&self) -> bool {
        self.footnotes.waiting.is_empty() && self.comments.waiting.is_empty()
    }

    pub(super) fn has_endnotes(&self) -> bool {
        !self.endnotes.waiting.is_empty()
    }

    pub(super) fn of(&mut self, kind: Kind) -> &mut Marks {
        match kind {
            Kind::Footnote => &mut self.footnotes,
            Kind::Endnote => &mut self.endnotes,
            Kind::Comment => &mut self.comments,
        }
    }
}

impl Kind {
    /// Returns the kind that an element of a text refers to.
    pub(super) fn of_reference(name: &str) -> Option<Self> {
        match name {
            "footnoteReference" => Some(Self::Footnote),
            "endnoteReference" => Some(Self::Endnote),
            "commentReference" => Some(Self::Comment),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Footnote => "footnotes",
            Self::Endnote => "endnotes",
            Self::Comment => "comments",
        }
    }

    fn container(self, label: String, note: Node<'_, '_>) -> Container {
        if self != Self::Comment {
            return Container::Footnote { label };
        }
        let author = xml::attribute(note, "author").map(str::to_owned);
        let created = xml::attribute(note, "date").and_then(times::rfc3339);
        Container::Aside(comment(author, created))
    }
}

/// Metadata of a comment.
pub(in crate::formats) fn comment(author: Option<String>, created: Option<String>) -> Metadata {
    let mut metadata = Metadata::new();
    metadata.insert("comment".to_owned(), true.into());
    for (name, value) in [("author", author), ("created", created)] {
        if let Some(value) = value.filter(|value| (1..=1024).contains(&value.len())) {
            metadata.insert(name.to_owned(), value.into());
        }
    }
    metadata
}
