//! One message: its parts in their order, the messages within it included.

use dpe_connector::content::{Category, Metadata, Page};
use mail_parser::decoders::charsets::map::charset_decoder;

use super::attachment::{self, Addresses, File, Shown};
use super::envelope::Envelope;
use super::part::{Kind, Part};
use super::{alternative, calendar};
use crate::addressed::Addressed;
use crate::elements::Elements;
use crate::format::{Format, format_of_type};
use crate::formats::{html, plain};
use crate::inline::Picture;
use crate::reading::Reading;
use crate::{ExtractError, decode, pages};

/// What a message becomes.
pub(super) struct Read {
    pub(super) envelope: Envelope,
    pub(super) pages: Vec<Page>,
}

impl Read {
    /// Returns the pages, the first of them with what is on the envelope, for a file of several messages; `name` is
    /// that of the file which the message was attached as.
    pub(super) fn into_titled_pages(mut self, name: Option<String>) -> Vec<Page> {
        if let Some(first) = self.pages.first_mut() {
            first.page_metadata = self.envelope.metadata();
            first.page_metadata.extend(attachment::named(name.clone()));
            first.title = self.envelope.subject.or(name);
        }
        self.pages
    }
}

/// The leaves of a message's tree of parts, sorted.
#[derive(Default)]
struct Leaves<'p, 'm> {
    texts: Vec<&'p Part<'m>>,
    files: Vec<File<'p>>,
    /// What is beside the text, in order.
    others: Vec<Other<'p, 'm>>,
}

/// What is beside a message's text.
enum Other<'p, 'm> {
    /// One of the files.
    File(usize),
    Message {
        name: Option<String>,
        message: &'p Part<'m>,
    },
}

/// Reads a message.
///
/// # Errors
///
/// Those that cost the whole file: see [`ExtractError::is_fatal`].
pub(super) fn read(message: &Part<'_>, reading: &mut Reading<'_>) -> Result<Read, ExtractError> {
    let mut leaves = Leaves::default();
    leaves.gather(message, reading);
    let mut envelope = Envelope::of_message(message, reading);
    envelope.attachments = leaves.names().collect();
    let mut shown = Shown::new();
    let mut bodies = leaves.bodies(&mut shown, reading)?;
    let mut first = Elements::of(reading.made());
    envelope.push_to(&mut first);
    if !bodies.is_empty() {
        first.append(bodies.remove(0).into_vec());
    }
    let mut attached = Vec::new();
    for other in &leaves.others {
        match other {
            Other::Message { name, message } => {
                attached.extend(read(message, reading)?.into_titled_pages(name.clone()));
            }
            Other::File(index) if shown.contains_key(index) => {}
            Other::File(index) => {
                let last = bodies.last_mut().unwrap_or(&mut first);
                attached.extend(attachment::read(&leaves.files[*index], last, reading)?);
            }
        }
    }
    let bodies = std::iter::once(first).chain(bodies);
    let mut pages: Vec<Page> = bodies
        .flat_map(|body| pages::declared(None, Metadata::new(), body.into_vec()))
        .collect();
    pages.extend(attached);
    Ok(Read { envelope, pages })
}

impl<'p, 'm> Leaves<'p, 'm> {
    fn gather(&mut self, part: &'p Part<'m>, reading: &mut Reading<'_>) {
        if is_encryption(part) {
            reading.note("left out: a part that is encrypted to its recipients");
            return;
        }
        if is_signature(part) {
            return;
        }
        match part.kind() {
            Kind::Multipart if part.is("multipart", "alternative") => {
                let chosen = alternative::chosen(part.parts(), reading);
                for (version, is_read) in part.parts().iter().zip(chosen) {
                    match is_read {
                        true => self.gather(version, reading),
                        false => self.gather_files(version, reading),
                    }
                }
            }
            Kind::Multipart if part.parts().is_empty() => self.texts.push(part),
            Kind::Multipart => {
                for child in part.parts() {
                    self.gather(child, reading);
                }
            }
            Kind::Text | Kind::Html if !attachment::is_file(part) => self.texts.push(part),
            _ => match part.parts().first() {
                Some(message) => self.others.push(Other::Message {
                    name: part.file_name(),
                    message,
                }),
                None => {
                    self.others.push(Other::File(self.files.len()));
                    self.files.push(File::of_part(part));
                }
            },
        }
    }

    /// Gathers what is no text from a version of the text that is not read.
    fn gather_files(&mut self, part: &'p Part<'m>, reading: &mut Reading<'_>) {
        match part.kind() {
            Kind::Multipart => {
                for child in part.parts() {
                    self.gather_files(child, reading);
                }
            }
            Kind::Html => {}
            Kind::Text if is_version_of_text(part) => {}
            _ => self.gather(part, reading),
        }
    }

    /// Returns the names of what is attached, in order.
    fn names(&self) -> impl Iterator<Item = String> {
        self.others.iter().filter_map(|other| match other {
            Other::File(index) => self.files[*index].name.clone(),
            Other::Message { name, .. } => name.clone(),
        })
    }

    /// Reads the texts, those that say something.
    fn bodies(
        &self,
        shown: &mut Shown,
        reading: &mut Reading<'_>,
    ) -> Result<Vec<Elements>, ExtractError> {
        let mut bodies = Vec::new();
        for part in &self.texts {
            let mut body = Elements::of(reading.made());
            add_text(part, &self.files, shown, &mut body, reading)?;
            if !body.is_empty() {
                bodies.push(body);
            }
        }
        Ok(bodies)
    }
}

/// Whether a part is the message's text in some notation, and says nothing of its own beside another version.
fn is_version_of_text(part: &Part<'_>) -> bool {
    let notations = [
        "plain",
        "enriched",
        "richtext",
        "rtf",
        "markdown",
        "x-amp-html",
        "watch-html",
    ];
    part.mime_type().is_none() || notations.iter().any(|notation| part.is("text", notation))
}

/// Whether a part can be read by its recipients only (RFC 1847, RFC 3156, RFC 8551).
fn is_encryption(part: &Part<'_>) -> bool {
    let is_smime = part.is("application", "pkcs7-mime") || part.is("application", "x-pkcs7-mime");
    let kind = part.attribute("smime-type");
    let is_enveloped = kind.is_none_or(|kind| kind.to_ascii_lowercase().contains("enveloped"));
    part.is("multipart", "encrypted")
        || part.is("application", "pgp-encrypted")
        || (is_smime && is_enveloped)
}

fn is_signature(part: &Part<'_>) -> bool {
    ["pgp-signature", "pkcs7-signature", "x-pkcs7-signature"]
        .iter()
        .any(|subtype| part.is("application", subtype))
}

/// Adds the elements of a text part.
fn add_text(
    part: &Part<'_>,
    files: &[File<'_>],
    shown: &mut Shown,
    elements: &mut Elements,
    reading: &mut Reading<'_>,
) -> Result<(), ExtractError> {
    let text = text(part, reading);
    if part.kind() == Kind::Html {
        return add_page(&text, files, shown, elements, reading);
    }
    if part.is("text", "calendar") && calendar::add(&text, elements) {
        return Ok(());
    }
    for paragraph in plain::paragraphs(&text) {
        elements.push_text(Category::NarrativeText, paragraph, &Metadata::new());
    }
    Ok(())
}

/// Adds the elements of a page; pictures that it shows are taken from the files beside it, whose indexes are noted.
pub(super) fn add_page(
    page: &str,
    files: &[File<'_>],
    shown: &mut Shown,
    elements: &mut Elements,
    reading: &mut Reading<'_>,
) -> Result<(), ExtractError> {
    let addresses = Addresses::new(files);
    let mut find = |url: &str, reading: &mut Reading<'_>| {
        let index = addresses.find(url)?;
        let file = &files[index];
        let blob = shown
            .entry(index)
            .or_insert_with(|| reading.blob(file.bytes.to_vec()));
        Some(Picture::of_bytes(blob.clone(), file.mime_type.as_deref()))
    };
    let page = html::page(page, page_format(), &mut Addressed::new(reading, &mut find));
    let page = reading.tolerated("a text part", page)?;
    for page in page.into_iter().flat_map(|document| document.pages) {
        for element in page.elements {
            elements.push(element);
        }
    }
    Ok(())
}

fn page_format() -> Format {
    format_of_type("html").expect("it is in the table of formats")
}

/// Returns the text of a part in the encoding it declares, or that its bytes are in if they cannot be what
/// it declares.
pub(super) fn text(part: &Part<'_>, reading: &mut Reading<'_>) -> String {
    let bytes = part.bytes();
    let label = part
        .attribute("charset")
        .map(|label| label.trim().to_ascii_lowercase());
    let declared = label.as_deref().filter(|label| !is_any(label));
    if let Some(decode) = declared.and_then(|label| charset_decoder(label.as_bytes())) {
        let text = decode(&bytes);
        let is_damaged = text.contains(char::REPLACEMENT_CHARACTER);
        if is_damaged {
            reading.note("bytes of its text that are no characters became U+FFFD");
        }
        if !is_damaged || std::str::from_utf8(&bytes).is_err() {
            return decode::unified_line_ends(text.into()).into_owned();
        }
    }
    let decoded = match part.kind() {
        Kind::Html if label.is_none() => html::text(&bytes, reading),
        _ => decode::any(&bytes, reading),
    };
    match decoded {
        Ok(text) => text.into_owned(),
        Err(_) => {
            reading.note("bytes of its text that are no characters became U+FFFD");
            decode::unified_line_ends(String::from_utf8_lossy(&bytes)).into_owned()
        }
    }
}

/// Labels of encodings that the bytes themselves tell better, or that nobody decodes.
fn is_any(label: &str) -> bool {
    let labels = [
        "",
        "utf-8",
        "utf8",
        "us-ascii",
        "ascii",
        "ansi_x3.4-1968",
        "unknown-8bit",
    ];
    labels.contains(&label) || label.starts_with("iso-2022-kr") || label.starts_with("hz-")
}
