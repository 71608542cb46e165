//! What is attached to a message: files by their own formats, pictures as such.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use dpe_connector::content::{BlobSource, Category, Element, Metadata, Page};

use super::calendar;
use super::part::Part;
use crate::elements::Elements;
use crate::format::format_by_name;
use crate::formats::plain;
use crate::reading::Reading;
use crate::{Document, ExtractError, decode, pages};

/// Whether a text part is a file that was attached, and not what somebody wrote.
pub(super) fn is_file(part: &Part<'_>) -> bool {
    let is_message_text =
        part.mime_type().is_none() || part.is("text", "plain") || part.is("text", "html");
    part.file_name().is_some() && (part.is_attachment() || !is_message_text)
}

/// An attached file.
pub(super) struct File<'f> {
    pub(super) name: Option<String>,
    /// The declared media type in lowercase.
    pub(super) mime_type: Option<String>,
    /// By which a page beside it means it.
    pub(super) id: Option<String>,
    pub(super) location: Option<String>,
    pub(super) bytes: Cow<'f, [u8]>,
}

impl<'f> File<'f> {
    pub(super) fn of_part(part: &'f Part<'_>) -> Self {
        Self {
            name: part.file_name(),
            mime_type: part.mime_type(),
            id: part.header("content-id").map(str::to_owned),
            location: part.header("content-location").map(str::to_owned),
            bytes: part.bytes(),
        }
    }

    /// Whether it holds parts of a message.
    pub(super) fn is_multipart(&self) -> bool {
        let declared = self.mime_type.as_deref().unwrap_or_default();
        declared.starts_with("multipart/")
    }
}

/// The files that a page shows, by their index, with their bytes as they are kept.
pub(super) type Shown = BTreeMap<usize, BlobSource>;

/// Files by the addresses that a page beside them has for them (RFC 2392, RFC 2557).
pub(super) struct Addresses<'f>(HashMap<&'f str, usize>);

impl<'f> Addresses<'f> {
    /// Of two files with one address the first has it.
    pub(super) fn new(files: &'f [File<'_>]) -> Self {
        let mut addresses = HashMap::new();
        for (index, file) in files.iter().enumerate() {
            let id = file.id.as_deref().map(|id| id.trim_matches(['<', '>']));
            for address in [id, file.location.as_deref()].into_iter().flatten() {
                addresses.entry(address).or_insert(index);
            }
        }
        Self(addresses)
    }

    /// Returns the index of the file at an address.
    pub(super) fn find(&self, url: &str) -> Option<usize> {
        let scheme = url
            .get(..4)
            .filter(|scheme| scheme.eq_ignore_ascii_case("cid:"));
        let address = scheme.map_or(url, |_| url[4..].trim());
        (!address.is_empty())
            .then(|| self.0.get(address).copied())
            .flatten()
    }
}

/// Reads an attachment into pages of its own; a picture goes to the end of the message's text.
///
/// # Errors
///
/// Those that cost the whole file: see [`ExtractError::is_fatal`].
pub(super) fn read(
    file: &File<'_>,
    text: &mut Elements,
    reading: &mut Reading<'_>,
) -> Result<Vec<Page>, ExtractError> {
    if file.bytes.trim_ascii().is_empty() {
        return Ok(Vec::new());
    }
    let mime_type = file.mime_type.as_deref().unwrap_or_default();
    if is_calendar(mime_type)
        && let Some(pages) = calendar_pages(file, reading)
    {
        return Ok(pages);
    }
    let file_name = file_name(file.name.as_deref().unwrap_or_default(), mime_type);
    let document = reading.nested(file_name.as_bytes(), &file.bytes);
    if document.as_ref().is_err_and(|error| !error.is_fatal()) {
        if mime_type.starts_with("text/") {
            return Ok(text_pages(file, reading));
        }
        if mime_type.starts_with("image/") {
            text.push(Element {
                blob: Some(reading.blob(file.bytes.to_vec())),
                mime_type: Some(mime_type.to_owned()),
                metadata: named(file.name.clone()),
                ..Element::empty(Category::Image)
            });
            return Ok(Vec::new());
        }
    }
    let name = file.name.as_deref().unwrap_or("without a name");
    let document = reading.tolerated(&format!("attachment {name}"), document)?;
    Ok(document.map_or_else(Vec::new, |document| placed(document, &file.name, text)))
}

/// Returns the pages of an attached document; a picture is no page.
fn placed(document: Document, name: &Option<String>, text: &mut Elements) -> Vec<Page> {
    let Document { head, mut pages } = document;
    let mut elements = pages.iter().flat_map(|page| &page.elements);
    if elements.all(|element| element.category == Category::Image) && pages.len() == 1 {
        for mut element in pages.remove(0).elements {
            element.metadata.extend(named(name.clone()));
            text.push(element);
        }
        return Vec::new();
    }
    if let Some(first) = pages.first_mut() {
        let mut metadata = head.doc_metadata;
        metadata.extend(head.title.map(|title| ("title".to_owned(), title.into())));
        metadata.extend(named(name.clone()));
        metadata.insert("file_type".to_owned(), head.file_type.into());
        metadata.append(&mut first.page_metadata);
        first.page_metadata = metadata;
        first.title = first.title.take().or_else(|| name.clone());
    }
    pages
}

fn is_calendar(mime_type: &str) -> bool {
    matches!(mime_type, "text/calendar" | "application/ics")
}

fn calendar_pages(file: &File<'_>, reading: &mut Reading<'_>) -> Option<Vec<Page>> {
    let mut elements = Elements::of(reading.made());
    let text = decode::any(&file.bytes, reading).ok()?;
    calendar::add(&text, &mut elements).then(|| {
        pages::declared(
            file.name.clone(),
            named(file.name.clone()),
            elements.into_vec(),
        )
    })
}

/// A text that no format claims is a text all the same.
fn text_pages(file: &File<'_>, reading: &mut Reading<'_>) -> Vec<Page> {
    let mut elements = Elements::of(reading.made());
    let text = match decode::any(&file.bytes, reading) {
        Ok(text) => text,
        Err(_) => String::from_utf8_lossy(&file.bytes),
    };
    for paragraph in plain::paragraphs(&text) {
        elements.push_text(Category::NarrativeText, paragraph, &Metadata::new());
    }
    pages::declared(
        file.name.clone(),
        named(file.name.clone()),
        elements.into_vec(),
    )
}

/// What says of a page or a picture as which file it was attached.
pub(super) fn named(name: Option<String>) -> Metadata {
    let mut metadata = Metadata::new();
    metadata.extend(name.map(|name| ("attachment".to_owned(), name.into())));
    metadata
}

/// Returns a name by which the format is found: that of the attachment, with an extension by the declared type
/// if it says nothing itself.
fn file_name(name: &str, mime_type: &str) -> String {
    let base = name.rsplit(['/', '\\']).next().unwrap_or_default();
    if format_by_name(base.as_bytes()).is_some() {
        return base.to_owned();
    }
    let extension = match mime_type {
        "text/html" => "html",
        "text/csv" => "csv",
        "text/tab-separated-values" => "tsv",
        "text/markdown" => "md",
        "text/xml" | "application/xml" => "xml",
        "application/json" => "json",
        "application/mbox" => "mbox",
        "message/rfc822" => "eml",
        "image/svg+xml" => "svg",
        _ if mime_type.starts_with("text/") || mime_type.starts_with("message/") => "txt",
        _ => return base.to_owned(),
    };
    format!("{base}.{extension}")
}
