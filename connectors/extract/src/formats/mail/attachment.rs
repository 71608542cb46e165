//! What is attached to a message: files by their own formats, pictures as such.

use dpe_connector::content::{Category, Element, Metadata, Page};

use super::message;
use super::part::{Kind, Part};
use crate::elements::Elements;
use crate::format::format_by_name;
use crate::formats::plain;
use crate::reading::Reading;
use crate::{Document, ExtractError, pages};

/// Whether a text part is a file that was attached, and not what somebody wrote.
pub(super) fn is_file(part: &Part<'_>) -> bool {
    let is_message_text =
        part.mime_type().is_none() || part.is("text", "plain") || part.is("text", "html");
    part.file_name().is_some() && (part.is_attachment() || !is_message_text)
}

/// Whether an address in a page beside it means this part (RFC 2392, RFC 2557).
pub(super) fn is_at(part: &Part<'_>, url: &str) -> bool {
    match url.get(..4) {
        Some(scheme) if scheme.eq_ignore_ascii_case("cid:") => {
            let id = url[4..].trim();
            let known = part.header("content-id").unwrap_or_default();
            known.trim_matches(['<', '>']) == id
        }
        _ => part.header("content-location") == Some(url),
    }
}

/// Reads an attachment into pages of its own; a picture goes to the end of the message's text.
///
/// # Errors
///
/// Those that cost the whole file: see [`ExtractError::is_fatal`].
pub(super) fn read(
    part: &Part<'_>,
    text: &mut Elements,
    reading: &mut Reading<'_>,
) -> Result<Vec<Page>, ExtractError> {
    let bytes = part.bytes();
    if bytes.trim_ascii().is_empty() {
        return Ok(Vec::new());
    }
    let own_name = part.file_name();
    let mime_type = part.mime_type().unwrap_or_default();
    let file_name = file_name(own_name.as_deref().unwrap_or_default(), &mime_type);
    let document = reading.nested(file_name.as_bytes(), &bytes);
    if let Err(error) = &document
        && !error.is_fatal()
        && matches!(part.kind(), Kind::Text | Kind::Html)
    {
        return Ok(text_pages(part, own_name, reading));
    }
    let is_image = mime_type.starts_with("image/");
    if document.as_ref().is_err_and(|error| !error.is_fatal()) && is_image {
        text.push(Element {
            blob: Some(reading.blob(bytes.into_owned())),
            mime_type: Some(mime_type),
            metadata: named(own_name),
            ..Element::empty(Category::Image)
        });
        return Ok(Vec::new());
    }
    let label = format!(
        "attachment {}",
        own_name.as_deref().unwrap_or("without a name")
    );
    let Some(document) = reading.tolerated(&label, document)? else {
        return Ok(Vec::new());
    };
    Ok(placed(document, own_name, text))
}

/// Returns the pages of an attached document; a picture is no page.
pub(super) fn placed(
    document: Document,
    own_name: Option<String>,
    text: &mut Elements,
) -> Vec<Page> {
    let Document { head, mut pages } = document;
    let mut elements = pages.iter().flat_map(|page| &page.elements);
    if elements.all(|element| element.category == Category::Image) && pages.len() == 1 {
        for mut element in pages.remove(0).elements {
            element.metadata.extend(named(own_name.clone()));
            text.push(element);
        }
        return Vec::new();
    }
    if let Some(first) = pages.first_mut() {
        let mut metadata = head.doc_metadata;
        metadata.extend(head.title.map(|title| ("title".to_owned(), title.into())));
        metadata.extend(named(own_name.clone()));
        metadata.insert("file_type".to_owned(), head.file_type.into());
        metadata.append(&mut first.page_metadata);
        first.page_metadata = metadata;
        first.title = first.title.take().or(own_name);
    }
    pages
}

/// A text that no format claims is a text all the same.
fn text_pages(part: &Part<'_>, own_name: Option<String>, reading: &mut Reading<'_>) -> Vec<Page> {
    let mut elements = Elements::default();
    for paragraph in plain::paragraphs(&message::text(part, reading)) {
        elements.push_text(Category::NarrativeText, paragraph, &Metadata::new());
    }
    pages::declared(own_name.clone(), named(own_name), elements.into_vec())
}

fn named(name: Option<String>) -> Metadata {
    let mut metadata = Metadata::new();
    metadata.extend(name.map(|name| ("attachment".to_owned(), name.into())));
    metadata
}

/// Returns a name by which the format is found: that of the attachment, with an extension by the declared type
/// if it says nothing itself.
pub(super) fn file_name(name: &str, mime_type: &str) -> String {
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
