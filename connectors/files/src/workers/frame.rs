//! What a worker is asked and what it answers, on pipes.
//!
//! A message is a head of JSON behind its length, and then the bytes that the head speaks of. Lengths of
//! heads are four bytes, least first. What a worker says is not believed: it may have been taken over by
//! the file it reads. Nothing is reserved on its word, and what it says at most is for the reader to say.

use std::io::{self, Read, Write};

use dpe_connector::content::{DocumentHead, Page};
use dpe_extract::{ExtractError, Extraction, Limits, Reason};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// A file to be extracted. Its name and its bytes follow.
#[derive(Debug, Serialize, Deserialize)]
struct Request {
    limits: Limits,
    answer_bytes: u64,
    name_bytes: u64,
    file_bytes: u64,
}

/// A request with what follows it.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) limits: Limits,
    /// How many bytes the answer may have.
    pub(super) answer_bytes: u64,
    pub(super) name: Vec<u8>,
    pub(super) bytes: Vec<u8>,
}

/// What became of it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Reply {
    /// The pictures follow, one after another.
    Document(Document),
    /// Nothing, and the worker goes on.
    Refused(ExtractError),
    /// Nothing, and the worker ends: its parser has a defect.
    Broken(ExtractError),
}

/// An [`Extraction`] without the bytes of its pictures.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Document {
    head: DocumentHead,
    pages: Vec<Page>,
    notes: Vec<String>,
    /// Length of each picture.
    blobs: Vec<u64>,
}

/// Writes a request.
///
/// # Errors
///
/// Those of the writer.
pub(super) fn ask(
    mut to: impl Write,
    limits: &Limits,
    answer_bytes: u64,
    name: &[u8],
    bytes: &[u8],
) -> io::Result<()> {
    let request = Request {
        limits: limits.clone(),
        answer_bytes,
        name_bytes: name.len() as u64,
        file_bytes: bytes.len() as u64,
    };
    let mut start = head(&request)?;
    start.extend_from_slice(name);
    to.write_all(&start)?;
    to.write_all(bytes)?;
    to.flush()
}

/// Reads a request, and the name and the bytes with it; nothing at the end of the input.
///
/// # Errors
///
/// Those of the reader; `InvalidData` for anything else than a request.
pub(super) fn asked(mut from: impl Read) -> io::Result<Option<Asked>> {
    let Some(request) = read_head::<Request>(&mut from, u64::MAX)? else {
        return Ok(None);
    };
    Ok(Some(Asked {
        limits: request.limits,
        answer_bytes: request.answer_bytes,
        name: exactly(&mut from, request.name_bytes)?,
        bytes: exactly(&mut from, request.file_bytes)?,
    }))
}

/// Writes what became of a file, in at most so many bytes: whoever reads it has to hold it.
///
/// # Errors
///
/// Those of the writer.
pub(super) fn answer(
    mut to: impl Write,
    made: Result<Extraction, ExtractError>,
    is_broken: bool,
    most: u64,
) -> io::Result<()> {
    let (reply, blobs) = match made {
        Ok(extraction) => {
            let document = Document {
                head: extraction.head,
                pages: extraction.pages,
                notes: extraction.notes,
                blobs: lengths(&extraction.blobs),
            };
            (Reply::Document(document), extraction.blobs)
        }
        Err(error) if is_broken => (Reply::Broken(error), Vec::new()),
        Err(error) => (Reply::Refused(error), Vec::new()),
    };
    let start = head(&reply)?;
    let length = (start.len() as u64).saturating_add(lengths(&blobs).iter().sum());
    if length > most && !matches!(reply, Reply::Broken(_)) {
        to.write_all(&head(&Reply::Refused(too_large(length, most)))?)?;
        return to.flush();
    }
    to.write_all(&start)?;
    for blob in blobs {
        to.write_all(&blob)?;
    }
    to.flush()
}

fn too_large(length: u64, most: u64) -> ExtractError {
    ExtractError {
        reason: Reason::TooLarge,
        message: format!("the document has {length} bytes, more than {most}"),
    }
}

fn lengths(blobs: &[Vec<u8>]) -> Vec<u64> {
    blobs.iter().map(|blob| blob.len() as u64).collect()
}

/// What was answered, and by how many bytes.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) made: Result<Extraction, ExtractError>,
    /// Whether the worker is of no more use.
    pub(super) is_last: bool,
    pub(super) bytes: u64,
}

/// Reads an answer of at most so many bytes.
///
/// # Errors
///
/// Those of the reader; `UnexpectedEof` if there is none or not all of it; `InvalidData` for anything
/// else than an answer.
pub(super) fn answered(mut from: impl Read, most: u64) -> io::Result<Answer> {
    let counted = &mut (&mut from).take(most);
    let reply = read_head::<Reply>(&mut *counted, most)?;
    let (made, is_last) = match reply.ok_or(io::ErrorKind::UnexpectedEof)? {
        Reply::Document(document) => (Ok(extraction(&mut *counted, document)?), false),
        Reply::Refused(error) => (Err(error), false),
        Reply::Broken(error) => (Err(error), true),
    };
    Ok(Answer {
        made,
        is_last,
        bytes: most - counted.limit(),
    })
}

fn extraction(mut from: impl Read, document: Document) -> io::Result<Extraction> {
    let lengths = document.blobs.iter();
    let blobs = lengths.map(|length| exactly(&mut from, *length));
    Ok(Extraction {
        blobs: blobs.collect::<io::Result<_>>()?,
        head: document.head,
        pages: document.pages,
        notes: document.notes,
    })
}

/// Returns a head behind its length.
fn head(value: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; 4];
    serde_json::to_writer(&mut bytes, value).map_err(io::Error::other)?;
    let length = u32::try_from(bytes.len() - 4).map_err(io::Error::other)?;
    bytes[..4].copy_from_slice(&length.to_le_bytes());
    Ok(bytes)
}

fn read_head<T: DeserializeOwned>(mut from: impl Read, most: u64) -> io::Result<Option<T>> {
    let mut first = [0];
    if from.read(&mut first)? == 0 {
        return Ok(None);
    }
    let mut rest = [0; 3];
    from.read_exact(&mut rest)?;
    let length = u64::from(u32::from_le_bytes([first[0], rest[0], rest[1], rest[2]]));
    if length > most {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let bytes = exactly(from, length)?;
    let value = serde_json::from_slice(&bytes);
    value.map_err(|why| io::Error::new(io::ErrorKind::InvalidData, why))
}

/// Reads so many bytes, however few there are.
fn exactly(from: impl Read, length: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(length).read_to_end(&mut bytes)?;
    if bytes.len() as u64 == length {
        return Ok(bytes);
    }
    Err(io::ErrorKind::UnexpectedEof.into())
}

#[cfg(test)]
mod tests {
    use dpe_connector::content::{Category, Element};
    use serde_json::json;

    use super::*;

    fn extraction() -> Extraction {
        let mut element = Element::text(Category::Title, "\u{2028} \"é\" \u{10ffff}");
        element.metadata = json!({"v": [0.1, 1.1e-300, 123456789012345680.0, -0.0, true, null]})
            .as_object()
            .unwrap()
            .clone();
        let page = Page {
            title: Some("1".to_owned()),
            elements: vec![element],
            ..Page::default()
        };
        Extraction {
            head: DocumentHead {
                file_type: "docx".to_owned(),
                ..DocumentHead::default()
            },
            pages: vec![page, Page::default()],
            blobs: vec![vec![1, 2, 3], Vec::new(), vec![4]],
            notes: vec!["a".to_owned()],
        }
    }

    fn written(made: Result<Extraction, ExtractError>, is_broken: bool) -> Vec<u8> {
        let mut bytes = Vec::new();
        answer(&mut bytes, made, is_broken, u64::MAX).unwrap();
        bytes
    }

    #[test]
    fn what_is_asked_is_what_was_asked() {
        let mut bytes = Vec::new();
        let limits = Limits {
            entries: 7,
            ..Limits::default()
        };
        ask(&mut bytes, &limits, 9, b"a\xff.md", b"# A").unwrap();
        ask(&mut bytes, &limits, 9, b"", b"").unwrap();
        let mut from = &*bytes;
        let found = asked(&mut from).unwrap().unwrap();
        assert_eq!((&found.limits, found.answer_bytes), (&limits, 9));
        assert_eq!(
            (&*found.name, &*found.bytes),
            (&b"a\xff.md"[..], &b"# A"[..])
        );
        assert!(asked(&mut from).unwrap().is_some());
        assert!(asked(&mut from).unwrap().is_none());
    }

    #[test]
    fn an_answer_is_what_was_made_to_the_last_bit() {
        let bytes = written(Ok(extraction()), false);
        let answer = answered(&*bytes, 10_000).unwrap();
        assert_eq!(answer.made, Ok(extraction()));
        assert_eq!((answer.is_last, answer.bytes), (false, bytes.len() as u64));
        let error = ExtractError {
            reason: Reason::Bomb,
            message: "b".to_owned(),
        };
        for is_broken in [false, true] {
            let bytes = written(Err(error.clone()), is_broken);
            let answer = answered(&*bytes, 10_000).unwrap();
            assert_eq!(
                (answer.made, answer.is_last),
                (Err(error.clone()), is_broken)
            );
        }
    }

    #[test]
    fn a_document_that_would_be_too_long_an_answer_is_too_large() {
        let whole = written(Ok(extraction()), false).len() as u64;
        let reason = |most| {
            let mut bytes = Vec::new();
            answer(&mut bytes, Ok(extraction()), false, most).unwrap();
            let made = answered(&*bytes, whole).unwrap().made;
            made.err().map(|error| error.reason)
        };
        assert_eq!(reason(whole), None);
        assert_eq!(reason(whole - 1), Some(Reason::TooLarge));
    }

    #[test]
    fn half_an_answer_and_one_without_end_are_none() {
        let bytes = written(Ok(extraction()), false);
        for length in 0..bytes.len() {
            assert!(answered(&bytes[..length], 10_000).is_err(), "{length}");
            assert!(answered(&*bytes, length as u64).is_err(), "{length}");
        }
        assert!(answered(&b"\xff\xff\xff\x7f{"[..], u64::MAX).is_err());
        assert!(answered(&b"\x02\0\0\0{}"[..], 100).is_err());
        let huge = br#"{"document":{"head":{"file_type":"a"},"pages":[],"notes":[],"blobs":[18446744073709551615]}}"#;
        let mut bytes = u32::try_from(huge.len()).unwrap().to_le_bytes().to_vec();
        bytes.extend_from_slice(huge);
        assert!(answered(&*bytes, u64::MAX).is_err());
    }
}
