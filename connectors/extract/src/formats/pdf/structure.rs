//! The structure of the document, as the file declares it (ISO 32000-1 §14.7, §14.8): which marked content is a heading,
//! a paragraph, an item or a cell, and in which order it is to be read.
//!
//! What the content says is not known here: it is named by the page and the number of its mark.

mod objects;
mod roles;
mod walk;

use std::rc::Rc;

use unpdf::parser::raw::RawDocument;

/// The number and generation of an object.
type Id = (u32, u16);

/// Blocks in reading order.
#[derive(Default)]
pub(super) struct Structure {
    /// Of each page.
    pub(super) pages: Vec<Vec<Block>>,
    /// Whether any block is a heading.
    pub(super) has_headings: bool,
}

impl Structure {
    /// Whether it has anything on the page of an index.
    pub(super) fn is_on(&self, page: usize) -> bool {
        self.pages
            .get(page)
            .is_some_and(|blocks| !blocks.is_empty())
    }
}

/// Something to be read.
#[derive(Debug, PartialEq)]
pub(super) enum Block {
    Text(Kind, Vec<Part>),
    Table(Vec<Row>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Paragraph,
    /// A heading of a level, from 1.
    Heading(usize),
    /// The first text of an item of a list this deep, from 1.
    Item(usize),
}

#[derive(Debug, Default, PartialEq)]
pub(super) struct Row {
    pub(super) is_header: bool,
    pub(super) cells: Vec<Cell>,
}

#[derive(Debug, PartialEq)]
pub(super) struct Cell {
    pub(super) names: bool,
    pub(super) columns: u32,
    pub(super) rows: u32,
    pub(super) parts: Vec<Part>,
}

/// A part of a text.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Part {
    Content {
        /// Index of its page.
        page: usize,
        /// Number of its mark on the page.
        number: i64,
        link: Option<Rc<str>>,
        /// Whether it is the number or bullet of an item.
        is_label: bool,
    },
    /// A paragraph of the same cell or heading ends.
    Break,
}

/// Returns the structure, if the file of these bytes declares one; `ids` are the pages.
pub(super) fn read(file: &RawDocument, bytes: &[u8], ids: &[Id]) -> Option<Structure> {
    walk::structure(file, bytes, ids)
}
