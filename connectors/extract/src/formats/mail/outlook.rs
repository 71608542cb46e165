//! Messages of Outlook (MS-OXMSG): the same as other messages, as properties in a compound file.

use dpe_connector::content::{Category, Element, Metadata, Page};

use super::attachment::{self, File, Shown};
use super::envelope::Envelope;
use super::message::{self, Read};
use super::part::Part;
use super::storage::Storage;
use super::{alternative, compressed};
use crate::elements::Elements;
use crate::flow::title;
use crate::format::{Format, format_of_type};
use crate::formats::compound::Compound;
use crate::formats::{head, plain, rtf};
use crate::reading::Reading;
use crate::{Document, ExtractError, decode, pages};

/// Tags of properties (MS-OXPROPS), the first of several that is there.
const SUBJECT: u16 = 0x0037;
const SENDER_NAMES: [u16; 2] = [0x0C1A, 0x0042];
const SENDER_ADDRESSES: [u16; 4] = [0x5D01, 0x5D02, 0x0C1F, 0x0065];
const DISPLAYED: [(u32, u16); 3] = [(1, 0x0E04), (2, 0x0E03), (3, 0x0E02)];
const HEADERS: u16 = 0x007D;
const TIMES: [u16; 2] = [0x0039, 0x0E06];
const BODY: u16 = 0x1000;
const PAGE: u16 = 0x1013;
const COMPRESSED_RTF: u16 = 0x1009;
const RECIPIENT_KIND: u16 = 0x0C15;
const RECIPIENT_NAME: [u16; 2] = [0x3001, 0x5FF6];
const RECIPIENT_ADDRESSES: [u16; 2] = [0x39FE, 0x3003];
const ATTACHMENT_NAMES: [u16; 3] = [0x3707, 0x3704, 0x3001];
const ATTACHMENT_DATA: u16 = 0x3701;
const ATTACHMENT_TYPE: u16 = 0x370E;
const ATTACHMENT_ID: u16 = 0x3712;
const ATTACHMENT_LOCATION: u16 = 0x3713;

/// Whether a compound file is a message.
pub(crate) fn is_message(file: &Compound<'_>) -> bool {
    file.is_stream("/__properties_version1.0")
}

/// Reads a message.
///
/// # Errors
///
/// Those that cost the whole file: see [`ExtractError::is_fatal`].
pub(crate) fn read(
    format: Format,
    file: &mut Compound<'_>,
    reading: &mut Reading<'_>,
) -> Result<Document, ExtractError> {
    let format = format_of_type("msg").unwrap_or(format);
    let read = at(file, String::new(), 0, reading)?;
    let mut head = head(format);
    head.doc_metadata = read.envelope.metadata();
    head.title = read.envelope.subject;
    Ok(Document {
        head,
        pages: read.pages,
    })
}

/// What is attached to a message, sorted.
#[derive(Default)]
struct Attached {
    files: Vec<File<'static>>,
    /// Messages as they were signed.
    signed: Vec<Vec<u8>>,
    /// Paths of messages, with the names they were attached by.
    messages: Vec<(Option<String>, String)>,
    /// Names of all but those that were signed.
    names: Vec<String>,
}

impl Attached {
    fn to(
        storage: &Storage,
        depth: u32,
        file: &mut Compound<'_>,
        reading: &mut Reading<'_>,
    ) -> Result<Self, ExtractError> {
        let mut all = Self::default();
        for path in storage.within(file, "__attach_version1.0_#") {
            let attached = Storage::open(file, path, Some(storage), reading)?;
            let name = first(&attached, &ATTACHMENT_NAMES, file, reading)?;
            if let Some(inner) = attached
                .embedded(file)
                .filter(|_| depth < reading.limits().depth)
            {
                all.names.extend(name.clone());
                all.messages.push((name, inner));
                continue;
            }
            match attached_file(&attached, name, file, reading)? {
                Some(one) if one.is_multipart() => all.signed.push(one.bytes.into_owned()),
                Some(one) => {
                    all.names.extend(one.name.clone());
                    all.files.push(one);
                }
                None => {
                    reading.note("left out: an attachment that is an object of another program")
                }
            }
        }
        Ok(all)
    }
}

/// Reads the message in a storage.
fn at(
    file: &mut Compound<'_>,
    base: String,
    depth: u32,
    reading: &mut Reading<'_>,
) -> Result<Read, ExtractError> {
    let storage = Storage::open(file, base, None, reading)?;
    let mut envelope = envelope(&storage, file, reading)?;
    let attached = Attached::to(&storage, depth, file, reading)?;
    envelope.attachments = attached.names;
    let mut text = Elements::of(reading.made());
    envelope.push_to(&mut text);
    let addresses = text.len();
    let mut shown = Shown::new();
    add_body(
        &storage,
        &attached.files,
        &mut shown,
        &mut text,
        file,
        reading,
    )?;
    let is_known = text.len() > addresses;
    let mut further = signed_pages(&attached.signed, is_known, reading)?;
    for (index, file) in attached.files.iter().enumerate() {
        if !shown.contains_key(&index) {
            further.extend(attachment::read(file, &mut text, reading)?);
        }
    }
    for (name, path) in attached.messages {
        further.extend(at(file, path, depth + 1, reading)?.into_titled_pages(name));
    }
    let mut pages = pages::declared(None, Metadata::new(), text.into_vec());
    pages.append(&mut further);
    Ok(Read { envelope, pages })
}

/// Returns the pages of messages as they were signed, of which the text is mostly known as properties.
fn signed_pages(
    signed: &[Vec<u8>],
    is_known: bool,
    reading: &mut Reading<'_>,
) -> Result<Vec<Page>, ExtractError> {
    let mut pages = Vec::new();
    for bytes in signed {
        let message = Part::of_message(bytes, reading)?;
        let inner = message::read(&message, reading)?.pages;
        pages.extend(inner.into_iter().skip(usize::from(is_known)));
    }
    Ok(pages)
}

fn attached_file(
    attached: &Storage,
    name: Option<String>,
    file: &mut Compound<'_>,
    reading: &mut Reading<'_>,
) -> Result<Option<File<'static>>, ExtractError> {
    let Some(bytes) = attached.bytes(file, ATTACHMENT_DATA, reading)? else {
        return Ok(None);
    };
    let mime_type = attached.text(file, ATTACHMENT_TYPE, reading)?;
    Ok(Some(File {
        name,
        mime_type: mime_type.map(|declared| declared.trim().to_ascii_lowercase()),
        id: attached.text(file, ATTACHMENT_ID, reading)?,
        location: attached.text(file, ATTACHMENT_LOCATION, reading)?,
        bytes: bytes.into(),
    }))
}

fn envelope(
    storage: &Storage,
    file: &mut Compound<'_>,
    reading: &mut Reading<'_>,
) -> Result<Envelope, ExtractError> {
    let subject = storage.text(file, SUBJECT, reading)?;
    let mut envelope = as_sent(storage, file, reading)?;
    envelope.subject = subject.as_deref().and_then(title);
    envelope.date = envelope
        .date
        .or_else(|| TIMES.iter().find_map(|id| storage.time(*id)));
    if !envelope.has("from") {
        let name = first(storage, &SENDER_NAMES, file, reading)?;
        let address = first(storage, &SENDER_ADDRESSES, file, reading)?;
        envelope.add("from", written(name, address));
    }
    add_recipients(&mut envelope, storage, file, reading)?;
    Ok(envelope)
}

/// Adds the recipients that the headers do not name: one by one, or as they are displayed.
fn add_recipients(
    envelope: &mut Envelope,
    storage: &Storage,
    file: &mut Compound<'_>,
    reading: &mut Reading<'_>,
) -> Result<(), ExtractError> {
    let mut recipients = Vec::new();
    for path in storage.within(file, "__recip_version1.0_#") {
        let recipient = Storage::open(file, path, Some(storage), reading)?;
        let name = first(&recipient, &RECIPIENT_NAME, file, reading)?;
        let address = first(&recipient, &RECIPIENT_ADDRESSES, file, reading)?;
        let kind = recipient.number(RECIPIENT_KIND).unwrap_or(1);
        recipients.push((kind, written(name, address)));
    }
    for ((kind, displayed), field) in DISPLAYED.into_iter().zip(["to", "cc", "bcc"]) {
        if envelope.has(field) {
            continue;
        }
        let of_kind = recipients
            .iter()
            .filter(|recipient| recipient.0 & 0xF == kind);
        let mut found = false;
        for (_, recipient) in of_kind {
            found |= recipient.is_some();
            envelope.add(field, recipient.clone());
        }
        if !found {
            envelope.add(field, storage.text(file, displayed, reading)?);
        }
    }
    Ok(())
}

/// Returns what the headers say with which a message came; one that was not sent has none.
fn as_sent(
    storage: &Storage,
    file: &mut Compound<'_>,
    reading: &mut Reading<'_>,
) -> Result<Envelope, ExtractError> {
    let Some(headers) = storage.text(file, HEADERS, reading)? else {
        return Ok(Envelope::default());
    };
    // Only its beginning are headers: Outlook keeps those of the parts as well.
    let headers = headers.trim_start();
    let message = Part::of_headers(headers.as_bytes());
    Ok(Envelope::of_message(&message, reading))
}

/// Returns a name with its address; the path in a directory is no address that anybody would know.
fn written(name: Option<String>, address: Option<String>) -> Option<String> {
    let of = |part: Option<String>| part.map(|part| part.trim().to_owned());
    let is_path = |address: &String| {
        address
            .get(..3)
            .is_some_and(|start| start.eq_ignore_ascii_case("/o="))
    };
    let address = address.filter(|address| name.is_none() || !is_path(address));
    match (of(name), of(address)) {
        (Some(name), Some(address)) if name.trim_matches('\'') != address => {
            Some(format!("{name} <{address}>"))
        }
        (name, address) => address.or(name),
    }
}

fn first(
    storage: &Storage,
    ids: &[u16],
    file: &mut Compound<'_>,
    reading: &mut Reading<'_>,
) -> Result<Option<String>, ExtractError> {
    for id in ids {
        if let Some(text) = storage.text(file, *id, reading)? {
            return Ok(Some(text));
        }
    }
    Ok(None)
}

/// Adds what the message says, of the versions that are there the richest with all the words.
fn add_body(
    storage: &Storage,
    files: &[File<'_>],
    shown: &mut Shown,
    text: &mut Elements,
    file: &mut Compound<'_>,
    reading: &mut Reading<'_>,
) -> Result<(), ExtractError> {
    let body = storage.text(file, BODY, reading)?.unwrap_or_default();
    let body = decode::unified_line_ends(body.into()).into_owned();
    let rtf = match storage.bytes(file, COMPRESSED_RTF, reading)? {
        Some(packed) => {
            let rtf = compressed::rtf(&packed, reading);
            reading.tolerated("the formatted text", rtf)?
        }
        None => None,
    };
    let page = declared_page(storage, file, reading)?;
    let page = page.or_else(|| rtf.as_deref().and_then(rtf::encapsulated_page));
    if let Some(page) = page {
        if alternative::covers_page(&page, &body) {
            return message::add_page(&page, files, shown, text, reading);
        }
    } else if let Some(rtf) = rtf {
        let formatted = formatted(&rtf, reading)?;
        let words: Vec<&str> = formatted
            .iter()
            .filter_map(|one| one.text.as_deref())
            .collect();
        if alternative::covers(&words.join(" "), &body) {
            text.append(formatted);
            return Ok(());
        }
    }
    for paragraph in plain::paragraphs(&body) {
        text.push_text(Category::NarrativeText, paragraph, &Metadata::new());
    }
    Ok(())
}

/// Returns the page that is there as such, as text or as bytes.
fn declared_page(
    storage: &Storage,
    file: &mut Compound<'_>,
    reading: &mut Reading<'_>,
) -> Result<Option<String>, ExtractError> {
    if let Some(page) = storage.text(file, PAGE, reading)? {
        return Ok(Some(page));
    }
    let bytes = storage.bytes(file, PAGE, reading)?;
    Ok(bytes.map(|bytes| storage.page(&bytes, reading)))
}

/// Returns the elements of a text in RTF; none, with a note, if it cannot be read.
fn formatted(rtf: &[u8], reading: &mut Reading<'_>) -> Result<Vec<Element>, ExtractError> {
    let document = reading.nested(b"body.rtf", rtf);
    let document = reading.tolerated("the formatted text", document)?;
    let pages = document.into_iter().flat_map(|document| document.pages);
    Ok(pages.flat_map(|page| page.elements).collect())
}
