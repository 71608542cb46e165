//! Markup for people who write plain text: reStructuredText, AsciiDoc, Org.
//!
//! Read line by line as far as the blocks go: headings, paragraphs, lists, quotes, code, tables, pictures. What is
//! not understood stays as it is written: no word is lost. Nothing is included, expanded or evaluated.

mod asciidoc;
mod inline;
mod org;
mod restructured;
mod writer;

pub(crate) use asciidoc::read as read_asciidoc;
pub(crate) use org::read as read_org;
pub(crate) use restructured::read as read_restructured;
