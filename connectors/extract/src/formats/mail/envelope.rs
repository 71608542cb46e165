//! What is written on a message: who wrote it to whom, when and about what.
//!
//! Mail and Outlook declare it in their own ways; here it is made elements and metadata alike.

use std::borrow::Cow;

use dpe_connector::content::{Category, Metadata};
use mail_parser::parsers::MessageStream;
use mail_parser::{Addr, Address, DateTime, HeaderValue};

use super::part::{Part, unstructured};
use crate::decode;
use crate::elements::{Elements, VALUE_BYTES};
use crate::flow::title;
use crate::reading::Reading;

/// A message's envelope. Nothing in it is made up: what the source does not declare is empty.
#[derive(Debug, Default)]
pub(super) struct Envelope {
    pub(super) subject: Option<String>,
    /// The fields that hold addresses, by the names that metadata has for them, each address as written.
    pub(super) addresses: Vec<(&'static str, Vec<String>)>,
    /// RFC 3339.
    pub(super) date: Option<String>,
    pub(super) keywords: Option<String>,
    /// Names of what is attached.
    pub(super) attachments: Vec<String>,
}

/// Fields of addresses, in the order in which they are read.
const FIELDS: [(&str, &str); 5] = [
    ("from", "from"),
    ("reply_to", "reply-to"),
    ("to", "to"),
    ("cc", "cc"),
    ("bcc", "bcc"),
];

impl Envelope {
    /// Reads the headers of a message.
    pub(super) fn of_message(message: &Part<'_>, reading: &mut Reading<'_>) -> Self {
        let mut envelope = Self::default();
        for (field, name) in FIELDS {
            let mut all = Vec::new();
            for value in message.headers(name) {
                push_addresses(&mut all, &repaired(value, reading));
            }
            if !all.is_empty() {
                envelope.addresses.push((field, all));
            }
        }
        let mut text = |name| {
            let value = message.headers(name).next()?;
            unstructured(&repaired(value, reading))
        };
        envelope.subject = text("subject").and_then(|subject| title(&subject));
        envelope.keywords = text("keywords");
        let date = message.headers("date").next().and_then(date);
        envelope.date = date
            .filter(DateTime::is_valid)
            .map(|date| date.to_rfc3339());
        envelope
    }

    /// Whether a field has addresses.
    pub(super) fn has(&self, field: &str) -> bool {
        let known = self.addresses.iter().find(|known| known.0 == field);
        known.is_some_and(|(_, addresses)| !addresses.is_empty())
    }

    /// Adds an address to those of a field.
    pub(super) fn add(&mut self, field: &'static str, address: Option<String>) {
        match self.addresses.iter_mut().find(|known| known.0 == field) {
            Some((_, known)) => known.extend(address),
            None => self.addresses.push((field, address.into_iter().collect())),
        }
    }

    /// Adds the addresses, each as an element.
    pub(super) fn push_to(&self, elements: &mut Elements) {
        for (field, addresses) in &self.addresses {
            let mut metadata = Metadata::new();
            metadata.insert("field".to_owned(), (*field).into());
            for address in addresses {
                elements.push_text(Category::EmailAddress, address, &metadata);
            }
        }
    }

    /// Returns everything but the subject, which is a title.
    pub(super) fn metadata(&self) -> Metadata {
        let mut metadata = Metadata::new();
        let attachments = ("attachments", self.attachments.clone());
        for (field, values) in self.addresses.iter().chain([&attachments]) {
            let mut room = VALUE_BYTES;
            let fits = |value: &&String| {
                let fits = value.len() <= room;
                room -= value.len().min(room);
                fits
            };
            let values: Vec<&str> = values.iter().take_while(fits).map(String::as_str).collect();
            if !values.is_empty() {
                metadata.insert((*field).to_owned(), values.into());
            }
        }
        for (name, value) in [("date", &self.date), ("keywords", &self.keywords)] {
            if let Some(value) = value.as_ref().filter(|value| value.len() <= VALUE_BYTES) {
                metadata.insert(name.to_owned(), value.as_str().into());
            }
        }
        metadata
    }
}

fn date(value: &[u8]) -> Option<DateTime> {
    let line = [value.trim_ascii(), b"\n"].concat();
    match MessageStream::new(&line).parse_date() {
        HeaderValue::DateTime(date) => Some(date),
        _ => None,
    }
}

/// Returns the value of a header; one with bytes that are no UTF-8 in whatever encoding they are in, unless they
/// are inside of an encoded word, which says it.
fn repaired<'v>(raw: &'v [u8], reading: &mut Reading<'_>) -> Cow<'v, [u8]> {
    if std::str::from_utf8(raw).is_ok() || memchr::memmem::find(raw, b"=?").is_some() {
        return Cow::Borrowed(raw);
    }
    match decode::any(raw, reading) {
        Ok(text) => Cow::Owned(text.into_owned().into_bytes()),
        Err(_) => Cow::Borrowed(raw),
    }
}

fn push_addresses(all: &mut Vec<String>, value: &[u8]) {
    let before = all.len();
    let line = [value.trim_ascii(), b"\n"].concat();
    match MessageStream::new(&line).parse_address() {
        HeaderValue::Address(Address::List(list)) => all.extend(list.iter().filter_map(written)),
        HeaderValue::Address(Address::Group(groups)) => {
            for group in &groups {
                all.extend(group.name.as_deref().map(str::to_owned));
                all.extend(group.addresses.iter().filter_map(written));
            }
        }
        _ => {}
    }
    if all.len() == before {
        all.extend(unstructured(value));
    }
}

fn written(address: &Addr<'_>) -> Option<String> {
    let of = |part: Option<&str>| {
        let part = part.map(str::trim).filter(|part| !part.is_empty());
        part.map(str::to_owned)
    };
    match (of(address.name.as_deref()), of(address.address.as_deref())) {
        (Some(name), Some(address)) => Some(format!("{name} <{address}>")),
        (name, address) => name.or(address),
    }
}
