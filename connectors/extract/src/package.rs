//! Packages: ZIP archives whose entries are the parts of one document (OOXML, OpenDocument, EPUB) or files of
//! their own.
//!
//! Every byte that comes out is counted against the limits. Knows nothing of what the parts mean.

use std::collections::HashMap;
use std::io::{Cursor, Read};

use zip::ZipArchive;
use zip::result::ZipError;

use crate::ExtractError;
use crate::reading::Reading;
use crate::reason::Reason;

/// An open package.
#[derive(Debug)]
pub(crate) struct Package<'a> {
    archive: ZipArchive<Cursor<&'a [u8]>>,
    /// Names of the entries, by their number.
    names: Vec<String>,
    /// The first entry of each name, as written and in lowercase.
    numbers: HashMap<String, usize>,
    folded: HashMap<String, usize>,
}

impl<'a> Package<'a> {
    /// Opens a package.
    ///
    /// # Errors
    ///
    /// `damaged` if there is no directory of entries, `bomb` if there are too many.
    pub(crate) fn open(bytes: &'a [u8], reading: &mut Reading<'_>) -> Result<Self, ExtractError> {
        let archive = ZipArchive::new(Cursor::new(bytes)).map_err(|error| not_opened(&error))?;
        if archive.is_empty() && bytes.starts_with(b"PK\x03\x04") {
            let message = "its directory has lost the entries that are in the archive";
            return Err(ExtractError::damaged(message));
        }
        let mut names = Vec::new();
        let (mut numbers, mut folded) = (HashMap::new(), HashMap::new());
        for number in 0..archive.len() {
            reading.entry()?;
            let name = archive.name_for_index(number).and_then(Result::ok);
            let name = name.unwrap_or_default();
            let name = name.trim_start_matches('/').to_owned();
            numbers.entry(name.clone()).or_insert(number);
            folded.entry(name.to_ascii_lowercase()).or_insert(number);
            names.push(name);
        }
        Ok(Self {
            archive,
            names,
            numbers,
            folded,
        })
    }

    /// Returns the names of all entries, in the order of the archive.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the name of an entry as its bytes stand in the archive.
    pub(crate) fn raw_name(&mut self, number: usize) -> Vec<u8> {
        let entry = self.archive.by_index_raw(number);
        entry.map_or_else(|_| Vec::new(), |entry| entry.name_raw().to_vec())
    }

    /// Returns whether there is an entry of this name; case counts only if two names differ in nothing else.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.number(name).is_some()
    }

    /// Reads an entry; `None` if there is none of this name.
    ///
    /// # Errors
    ///
    /// `encrypted`, `damaged`, `bomb`, `unsupported_version` (compression).
    pub(crate) fn part(
        &mut self,
        name: &str,
        reading: &mut Reading<'_>,
    ) -> Result<Option<Vec<u8>>, ExtractError> {
        let number = self.number(name);
        number.map(|number| self.entry(number, reading)).transpose()
    }

    /// As [`part`](Self::part), of an entry that has to be there.
    ///
    /// # Errors
    ///
    /// As there, and `damaged` if it is missing.
    pub(crate) fn needed(
        &mut self,
        name: &str,
        reading: &mut Reading<'_>,
    ) -> Result<Vec<u8>, ExtractError> {
        self.part(name, reading)?
            .ok_or_else(|| ExtractError::damaged(format!("the package has no part {name}")))
    }

    /// Reads an entry by its number.
    ///
    /// # Errors
    ///
    /// As [`part`](Self::part).
    pub(crate) fn entry(
        &mut self,
        number: usize,
        reading: &mut Reading<'_>,
    ) -> Result<Vec<u8>, ExtractError> {
        let name = &self.names[number];
        let entry = self
            .archive
            .by_index(number)
            .map_err(|error| within(name, refused(&error)))?;
        // A size that the directory states for less than there is ends the reading early.
        let stated = entry.size();
        let bytes = reading
            .unpack(entry.take(stated.saturating_add(1)))
            .map_err(|error| within(name, error))?;
        Ok(bytes)
    }

    fn number(&self, name: &str) -> Option<usize> {
        let name = name.trim_start_matches('/');
        let exact = self.numbers.get(name);
        let found = exact.or_else(|| self.folded.get(&name.to_ascii_lowercase()));
        found.copied()
    }
}

fn within(name: &str, error: ExtractError) -> ExtractError {
    ExtractError::new(error.reason, format!("{name}: {}", error.message))
}

/// The directory of an archive stands at its end.
fn not_opened(error: &ZipError) -> ExtractError {
    match error {
        ZipError::InvalidArchive(_) => ExtractError::damaged(
            "it has no directory of its parts: it is cut off, or no ZIP archive",
        ),
        other => refused(other),
    }
}

fn refused(error: &ZipError) -> ExtractError {
    match error {
        ZipError::UnsupportedArchive(ZipError::PASSWORD_REQUIRED) | ZipError::InvalidPassword => {
            ExtractError::new(Reason::Encrypted, "the archive wants a password")
        }
        ZipError::UnsupportedArchive(_) | ZipError::CompressionMethodNotSupported(_) => {
            ExtractError::new(Reason::UnsupportedVersion, format!("the archive: {error}"))
        }
        _ => ExtractError::damaged(format!("the archive: {error}")),
    }
}
