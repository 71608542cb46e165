//! Electronic mail: messages (RFC 5322 and MIME), mailboxes full of them, and messages of Outlook.
//!
//! A message becomes pages: one for each text part, then those of what is attached, by the format of
//! each. Of two versions of the same text one is read.

mod alternative;
mod attachment;
mod calendar;
mod compressed;
mod envelope;
mod mailbox;
mod message;
mod outlook;
mod part;
mod storage;

use crate::format::Format;
use crate::formats::head;
use crate::reading::Reading;
use crate::{Document, ExtractError, decode};

use part::Part;

pub(crate) use mailbox::read as read_mailbox;
pub(crate) use outlook::{is_message as is_outlook_message, read as read_outlook};

/// Reads one message.
///
/// # Errors
///
/// `damaged` if it is no message at all. What is encrypted is left out: the envelope is not.
pub(crate) fn read(
    format: Format,
    bytes: &[u8],
    reading: &mut Reading<'_>,
) -> Result<Document, ExtractError> {
    let bytes = mailbox::without_postmark(bytes);
    let message = Part::of_message(bytes, reading)?;
    if !message.has_headers() {
        // A text without headers is a message all the same, but binary data is none.
        decode::any(bytes, reading)?;
    }
    let read = message::read(&message, reading)?;
    let mut head = head(format);
    head.doc_metadata = read.envelope.metadata();
    head.title = read.envelope.subject;
    Ok(Document {
        head,
        pages: read.pages,
    })
}
