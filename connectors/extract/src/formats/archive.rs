//! ZIP archives of files: each entry that is a document gives its pages.
//!
//! Entries keep the order of the archive. What is no document is counted, not shown.

use std::collections::HashMap;

use dpe_connector::content::Page;
use encoding_rs::{BIG5, EUC_JP, EUC_KR, Encoding, GBK, IBM866, SHIFT_JIS};

use crate::addressed::{is_relative, resolved};
use crate::format::{Format, HEAD_BYTES, Reader, format_of};
use crate::formats::{head, html, markdown};
use crate::inline::Picture;
use crate::package::Package;
use crate::reading::Reading;
use crate::reason::Reason;
use crate::{Document, ExtractError, pictures};

/// Reads an archive.
///
/// # Errors
///
/// Why the first document is refused, if all are; `bomb` or `too_large` if one of them is.
pub(crate) fn read(
    format: Format,
    package: &mut Package<'_>,
    reading: &mut Reading<'_>,
) -> Result<Document, ExtractError> {
    let mut files = Files::of(package);
    let mut refused = None;
    let (mut pages, mut documents, mut others) = (Vec::new(), 0, 0u64);
    for number in 0..files.names.len() {
        let name = files.names[number].clone();
        if is_of_the_system(&name) {
            continue;
        }
        match entry(number, &name, &mut files, package, reading) {
            Ok(Some(document)) => {
                documents += 1;
                let (head, found) = (document.head, document.pages.into_iter());
                pages.extend(found.map(|page| named(page, &name, &head)));
            }
            Ok(None) => others += 1,
            Err(error) if error.is_fatal() => return Err(error),
            Err(error) => {
                let error = within(&name, error);
                reading.note(error.message.clone());
                refused.get_or_insert(error);
            }
        }
    }
    if others > 0 {
        let note = format!("entries left out that are no documents read here: {others}");
        reading.note(note);
    }
    match refused {
        Some(error) if documents == 0 => Err(error),
        _ => Ok(Document {
            head: head(format),
            pages,
        }),
    }
}

/// The files of an archive, and its pictures as far as texts beside them have shown them.
struct Files {
    names: Vec<String>,
    /// The first file of each name, with the slashes of addresses.
    numbers: HashMap<String, usize>,
    shown: HashMap<String, Option<Picture>>,
}

impl Files {
    fn of(package: &mut Package<'_>) -> Self {
        let names = names(package);
        let mut numbers = HashMap::new();
        for (number, name) in names.iter().enumerate() {
            numbers.entry(name.replace('\\', "/")).or_insert(number);
        }
        Self {
            names,
            numbers,
            shown: HashMap::new(),
        }
    }

    /// Returns the picture at an address in the text of a path.
    fn picture(
        &mut self,
        path: &str,
        url: &str,
        package: &mut Package<'_>,
        reading: &mut Reading<'_>,
    ) -> Option<Picture> {
        if !is_relative(url) {
            return None;
        }
        let name = resolved(&path.replace('\\', "/"), url);
        let number = *self.numbers.get(&name)?;
        let load = |name: &String| {
            if !pictures::is_named_as_one(name) {
                return None;
            }
            let bytes = package.entry(number, reading);
            let bytes = reading.tolerated("a picture", bytes).ok().flatten()?;
            let media_type = pictures::media_type(&bytes, name);
            Some(Picture::of_bytes(reading.blob(bytes), media_type))
        };
        self.shown.entry(name).or_insert_with_key(load).clone()
    }
}

/// Reads an entry; `None` if it is of no format that is read.
fn entry(
    number: usize,
    path: &str,
    files: &mut Files,
    package: &mut Package<'_>,
    reading: &mut Reading<'_>,
) -> Result<Option<Document>, ExtractError> {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path).as_bytes();
    // What the name alone speaks against need not be unpacked.
    if format_of(name, b"").is_none() {
        return Ok(None);
    }
    let bytes = package.entry(number, reading)?;
    let format = format_of(name, &bytes[..bytes.len().min(HEAD_BYTES)]);
    let format = format.filter(|format| format.has_pictures_beside() && !bytes.is_empty());
    let is_guess = format.is_some_and(|format| format.is_guess());
    let read = match format {
        Some(format) => {
            let mut beside =
                |url: &str, reading: &mut Reading<'_>| files.picture(path, url, package, reading);
            match format.reader() {
                Reader::Markdown => markdown::read_beside(format, &bytes, &mut beside, reading),
                _ => html::read_beside(format, &bytes, &mut beside, reading),
            }
        }
        None => reading.nested(name, &bytes),
    };
    match read {
        Ok(document) => Ok(Some(document)),
        Err(error) if error.reason == Reason::UnsupportedFormat => Ok(None),
        // Nobody claimed that it is a text: it only began like one.
        Err(error) if is_guess && error.reason == Reason::Damaged => Ok(None),
        Err(error) => Err(error),
    }
}

/// Writes into a page which document of the archive it is of.
fn named(mut page: Page, path: &str, document: &dpe_connector::content::DocumentHead) -> Page {
    let title = page.title.take().or_else(|| document.title.clone());
    page.title = Some(title.unwrap_or_else(|| path.to_owned()));
    // A page of an archive in the archive has them already, and they are beneath this path.
    let inner = page
        .page_metadata
        .get("path")
        .and_then(|inner| inner.as_str());
    let (path, file_type) = match inner {
        Some(inner) => (format!("{path}/{inner}"), None),
        None => (path.to_owned(), Some(document.file_type.as_str())),
    };
    let mut facts = document.doc_metadata.clone();
    // Front matter is noted whole.
    facts.remove("title");
    facts.append(&mut page.page_metadata);
    facts.insert("path".to_owned(), path.into());
    if let Some(file_type) = file_type {
        facts.insert("file_type".to_owned(), file_type.into());
    }
    page.page_metadata = facts;
    page
}

fn within(path: &str, error: ExtractError) -> ExtractError {
    let message = match error.message.starts_with(path) {
        true => error.message,
        false => format!("{path}: {}", error.message),
    };
    ExtractError::new(error.reason, message)
}

/// Folders, and files that file managers leave behind.
fn is_of_the_system(path: &str) -> bool {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    name.is_empty()
        || matches!(name, ".DS_Store" | "Thumbs.db" | "desktop.ini")
        || path.starts_with("__MACOSX/")
}

/// Returns the names of all entries. Archives that do not mark them as UTF-8 have them in the code page of the
/// machine they were made on; all names together tell which.
fn names(package: &mut Package<'_>) -> Vec<String> {
    let mut raw = Vec::new();
    for number in 0..package.names().len() {
        raw.push(package.raw_name(number));
    }
    let mut detector = chardetng::EncodingDetector::new(chardetng::Iso2022JpDetection::Deny);
    for name in &raw {
        detector.feed(name, false);
        detector.feed(b"\n", false);
    }
    detector.feed(b"", true);
    let guess = detector.guess(None, chardetng::Utf8Detection::Deny);
    let known: [&Encoding; 6] = [SHIFT_JIS, GBK, BIG5, EUC_JP, EUC_KR, IBM866];
    let guess = known.into_iter().find(|encoding| *encoding == guess);
    let mut names = Vec::new();
    for (raw, as_given) in raw.iter().zip(package.names()) {
        names.push(match (std::str::from_utf8(raw), guess) {
            (Ok(name), _) => name.to_owned(),
            (Err(_), Some(encoding)) => encoding.decode_without_bom_handling(raw).0.into_owned(),
            // Code page 437, as the archive's format says.
            (Err(_), None) => as_given.clone(),
        });
    }
    names
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Write};

    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use crate::{Input, Limits, extract};

    #[test]
    fn entry_that_only_began_like_a_page_is_no_document() {
        let mut page = b"<!DOCTYPE html><p>a</p>".to_vec();
        page.extend([b' '; 10_000]);
        page.extend([0xff, 0, 0xff, 0].repeat(2000));
        let made = |name: &str| {
            let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
            archive
                .start_file(name, SimpleFileOptions::default())
                .unwrap();
            archive.write_all(&page).unwrap();
            let bytes = archive.finish().unwrap().into_inner();
            let name = b"a.zip";
            extract(
                &Input {
                    name,
                    bytes: &bytes,
                },
                &Limits::default(),
            )
        };
        let extraction = made("page").unwrap();
        assert!(extraction.pages.is_empty());
        let notes = extraction.notes;
        assert!(
            notes.iter().any(|note| note.contains("no documents")),
            "{notes:?}"
        );
        assert!(made("page.html").is_err());
    }
}
