//! PPT: presentations of PowerPoint 97 to 2003 ([MS-PPT]), and the texts of those of PowerPoint 95.
//!
//! A page per slide, in the order of the presentation. What a slide takes from its master is not on it.

mod book;
mod earlier;
mod slide;
mod table;
mod text;

use dpe_connector::content::{Metadata, Page};

use crate::format::Format;
use crate::formats::compound::{self, Compound};
use crate::formats::{head, summary};
use crate::reading::Reading;
use crate::reason::Reason;
use crate::{Document, ExtractError, pages};

use book::Book;

/// What `CurrentUserAtom` says of an encrypted presentation.
const ENCRYPTED: [u8; 4] = [0xDF, 0xC4, 0xD1, 0xF3];

/// Where a file for two versions has the later one.
const BOTH_VERSIONS: &str = "/PP97_DUALSTORAGE";

/// Why a presentation from before PowerPoint 95 is not read.
pub(crate) fn older() -> ExtractError {
    let message = "a presentation from before PowerPoint 95";
    ExtractError::new(Reason::UnsupportedVersion, message)
}

/// Reads a presentation.
///
/// # Errors
///
/// `encrypted`, `unsupported_version` (before PowerPoint 95), `damaged`, `bomb`.
pub(crate) fn read(
    format: Format,
    file: &mut Compound<'_>,
    reading: &mut Reading<'_>,
) -> Result<Document, ExtractError> {
    let mut head = head(format.as_type("ppt"));
    summary::declare(&mut head, file, reading)?;
    // A file for PowerPoint 95 too has what the later ones read in a storage of its own.
    let root = match file.is_storage(BOTH_VERSIONS) {
        true => BOTH_VERSIONS,
        false => "",
    };
    let user = compound::stream(file, &format!("{root}/Current User"), reading);
    let user = reading.tolerated("the current user", user)?.flatten();
    let user = user.unwrap_or_default();
    let encrypted = || ExtractError::new(Reason::Encrypted, "the presentation wants a password");
    if user.get(12..16) == Some(&ENCRYPTED) || file.exists("/EncryptedSummary") {
        return Err(encrypted());
    }
    let stream = compound::stream(file, &format!("{root}/PowerPoint Document"), reading)?;
    let stream = stream.unwrap_or_default();
    let pictures = compound::stream(file, &format!("{root}/Pictures"), reading);
    let pictures = reading.tolerated("the pictures", pictures)?.flatten();
    let book = Book::read(&user, &stream);
    if book.is_encrypted {
        return Err(encrypted());
    }
    if book.slides.is_empty() && !book.has_document {
        let Some(slides) = earlier::slides(&stream) else {
            return Err(match file.is_stream("/PersistentStorage Directory") {
                true => older(),
                false => ExtractError::damaged("there is no presentation"),
            });
        };
        let pages = earlier_slides(&slides, reading)?;
        return Ok(Document { head, pages });
    }
    let pages = slides(&book, &stream, &pictures.unwrap_or_default(), reading)?;
    Ok(Document { head, pages })
}

fn earlier_slides(
    slides: &[earlier::Slide],
    reading: &mut Reading<'_>,
) -> Result<Vec<Page>, ExtractError> {
    let mut found = Vec::new();
    for slide in slides {
        reading.page()?;
        let (title, elements) = slide::of_texts(&slide.texts, &slide.notes, reading);
        found.append(&mut pages::declared(title, Metadata::new(), elements));
    }
    Ok(found)
}

fn slides(
    book: &Book<'_>,
    stream: &[u8],
    pictures: &[u8],
    reading: &mut Reading<'_>,
) -> Result<Vec<Page>, ExtractError> {
    let mut found = Vec::new();
    let mut stored = slide::Stored {
        bytes: pictures,
        ..slide::Stored::default()
    };
    let mut read = 0;
    for number in 0..book.slides.len() {
        reading.page()?;
        // Slides may be listed again and again, and have the same notes.
        let slide = book.slides[number].data;
        let length = slide.len() + book.notes(slide).map_or(0, |notes| notes.len());
        read += length;
        if read > stream.len() {
            reading.unpacked(length as u64)?;
        }
        let (title, elements) = slide::read(book, number, &mut stored, reading);
        found.append(&mut pages::declared(title, Metadata::new(), elements));
    }
    Ok(found)
}
