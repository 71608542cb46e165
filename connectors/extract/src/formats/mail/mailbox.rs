//! Mailboxes: messages one after another, each behind a line that begins with `From `.

use super::message;
use super::part::Part;
use crate::format::Format;
use crate::formats::head;
use crate::reading::Reading;
use crate::{Document, ExtractError, sniff};

/// The line before a message begins with it.
const POSTMARK: &[u8] = b"From ";

/// Reads a mailbox: the pages of its messages in their order, the first of each with the subject as
/// title.
///
/// # Errors
///
/// `damaged` if there is no message in it.
pub(crate) fn read(
    format: Format,
    bytes: &[u8],
    reading: &mut Reading<'_>,
) -> Result<Document, ExtractError> {
    let mut document = Document::new(head(format));
    for message in messages(bytes) {
        let message = Part::of_message(message, reading)?;
        let read = message::read(&message, reading)?;
        document.pages.extend(read.into_titled_pages(None));
    }
    if document.pages.is_empty() {
        return Err(ExtractError::damaged("there is no message in the mailbox"));
    }
    Ok(document)
}

/// Returns a message without the line that a mailbox has before it, and that some programs save with it.
pub(super) fn without_postmark(bytes: &[u8]) -> &[u8] {
    let bare = bytes.strip_prefix(b">").unwrap_or(bytes);
    match bare.starts_with(POSTMARK) {
        true => after_line(bare),
        false => bytes,
    }
}

/// Cuts a mailbox at every postmark; what comes before the first is a message too, unless it is blank.
fn messages(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(bytes);
    std::iter::from_fn(move || {
        let whole = rest?;
        let message = match is_postmark(whole) {
            true => after_line(whole),
            false => whole,
        };
        let next = next_postmark(message);
        rest = next.map(|at| &message[at..]);
        Some(&message[..next.unwrap_or(message.len())])
    })
    .filter(|message| !message.trim_ascii().is_empty())
}

fn next_postmark(message: &[u8]) -> Option<usize> {
    if is_postmark(message) {
        return Some(0);
    }
    let lines = memchr::memmem::find_iter(message, b"\nFrom ").map(|at| at + 1);
    lines.into_iter().find(|at| is_postmark(&message[*at..]))
}

/// Whether a line is one between messages. A line of text that begins with the same word has no time of day.
fn is_postmark(line: &[u8]) -> bool {
    let end = memchr::memchr(b'\n', line).unwrap_or(line.len());
    line.starts_with(POSTMARK) && sniff::has_time_of_day(&line[..end])
}

fn after_line(bytes: &[u8]) -> &[u8] {
    memchr::memchr(b'\n', bytes).map_or(&[], |end| &bytes[end + 1..])
}

#[cfg(test)]
mod tests {
    use super::{messages, without_postmark};

    #[test]
    fn mailbox_is_cut_at_postmarks_and_not_at_lines_that_begin_alike() {
        let cut = |text: &'static str| -> Vec<_> {
            messages(text.as_bytes())
                .map(|message| std::str::from_utf8(message).unwrap())
                .collect()
        };
        let text = "From a Mon 1:00\nTo: b\n\n>From here\n\nFrom c Tue 2:00\nTo: d\n\nFromage\nFrom there\n";
        assert_eq!(
            cut(text),
            ["To: b\n\n>From here\n\n", "To: d\n\nFromage\nFrom there\n"]
        );
        assert_eq!(cut("\nTo: a\nFrom b 1:00\n"), ["\nTo: a\n"]);
        assert_eq!(cut("From a 1:00\nFrom b 1:00\nTo: c"), ["To: c"]);
        assert!(cut("").is_empty() && cut("From 1:00").is_empty());
    }

    #[test]
    fn saved_postmark_is_no_part_of_the_message() {
        assert_eq!(without_postmark(b"From a Mon\nTo: b\n"), b"To: b\n");
        assert_eq!(without_postmark(b">From a Mon\nTo: b\n"), b"To: b\n");
        assert_eq!(without_postmark(b"From: a\n"), b"From: a\n");
    }
}
