//! XML that is too large for a tree: sheets have millions of cells.
//!
//! Names are without their namespaces, as in [`crate::xml`]. External entities are never read; the file's own
//! entities, which sheets have no use for, are left out.

use std::borrow::Cow;

use quick_xml::escape;
use quick_xml::events::{BytesStart, Event};
use quick_xml::reader::Reader;

use crate::ExtractError;

/// One piece of a document.
#[derive(Debug)]
pub(super) enum Piece<'t> {
    /// A tag opens; one that is empty closes next.
    Open(Tag<'t>),
    /// A tag of this local name closes.
    Close(String),
    Text(Cow<'t, str>),
}

/// An opening tag.
#[derive(Debug)]
pub(super) struct Tag<'t>(BytesStart<'t>);

/// The pieces of a document.
#[derive(Debug)]
pub(super) struct Pieces<'t>(Reader<&'t [u8]>);

impl<'t> Pieces<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let mut reader = Reader::from_str(text);
        let config = reader.config_mut();
        config.expand_empty_elements = true;
        config.check_end_names = false;
        config.allow_unmatched_ends = true;
        config.allow_dangling_amp = true;
        Self(reader)
    }

    /// Returns the next piece; `None` at the end.
    ///
    /// # Errors
    ///
    /// `damaged`.
    pub(super) fn next(&mut self) -> Result<Option<Piece<'t>>, ExtractError> {
        loop {
            let event = self.0.read_event();
            let event = event.map_err(|error| ExtractError::damaged(format!("XML: {error}")))?;
            let piece = match event {
                Event::Start(tag) | Event::Empty(tag) => Piece::Open(Tag(tag)),
                Event::End(tag) => Piece::Close(tag.local_name().as_ref().to_owned()),
                Event::Text(text) => Piece::Text(text.xml10_content()),
                Event::CData(text) => Piece::Text(text.xml10_content()),
                Event::GeneralRef(name) => Piece::Text(Cow::Owned(resolved(&name.xml10_content()))),
                Event::Eof => return Ok(None),
                _ => continue,
            };
            return Ok(Some(piece));
        }
    }
}

fn resolved(name: &str) -> String {
    let reference = format!("&{name};");
    escape::unescape(&reference)
        .map(Cow::into_owned)
        .unwrap_or_default()
}

impl Tag<'_> {
    pub(super) fn name(&self) -> &str {
        self.0.local_name().into_inner()
    }

    pub(super) fn is(&self, name: &str) -> bool {
        self.name() == name
    }

    /// Returns the value of an attribute by its local name.
    pub(super) fn attribute(&self, name: &str) -> Option<String> {
        let mut attributes = self.0.attributes();
        let found = attributes.with_checks(false).filter_map(Result::ok);
        let mut found = found.filter(|found| found.key.local_name().into_inner() == name);
        let raw = found.next()?;
        let text = escape::unescape(&raw.value).map(Cow::into_owned);
        Some(text.unwrap_or_else(|_| raw.value.clone().into_owned()))
    }

    /// Returns the number that an attribute is.
    pub(super) fn number(&self, name: &str) -> Option<u32> {
        self.attribute(name)?.trim().parse().ok()
    }

    /// Whether an attribute says that something is so.
    pub(super) fn is_on(&self, name: &str) -> bool {
        matches!(self.attribute(name).as_deref(), Some("1" | "true" | "on"))
    }
}
