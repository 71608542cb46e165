//! `dpe extract`: what files become, without any remote.
//!
//! The same readers, limits and worker processes as those of the connectors for folders and repositories.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

pub use dpe_connector::content::{BlobSource, Element, Page};
pub use dpe_connector_files::Extraction;
use dpe_connector_files::{
    Bounds, Extractor, MAX_FILE_BYTES, NoDocument, Program, Reason, Shown, WHOLE_INPUT, file_name,
    picture_type, show_neighbours,
};

use super::regular_file;

/// Why a file gives no document although none of the reasons of the extraction applies: it could not be read
/// at all, or not be given to the extraction.
const UNREADABLE: &str = "unreadable";

/// Most bytes of all pictures beside one text; they are in memory together.
const BESIDE_BYTES: u64 = 4 * MAX_FILE_BYTES;

/// A file to be extracted.
#[derive(Clone, Debug)]
pub enum Input {
    /// What stands on standard input, under a name that may say its format.
    Stdin(OsString),
    /// A file.
    File(PathBuf),
}

/// What became of a file.
#[derive(Debug)]
pub struct Extracted {
    /// The file, as it was named.
    pub file: String,
    /// Its document, or why there is none.
    pub made: Result<Made, Refused>,
}

/// A document, and the bytes it was made of.
#[derive(Debug)]
pub struct Made {
    /// The document, its pictures and what was noted.
    pub extraction: Extraction,
    bytes: Vec<u8>,
}

/// Why a file gives no document.
#[derive(Debug)]
pub struct Refused {
    /// One word: a reason of the extraction, or `unreadable`.
    pub reason: &'static str,
    /// For people.
    pub message: String,
}

impl Made {
    /// Returns the bytes of the blob that an element refers to.
    pub fn blob(&self, source: &BlobSource) -> Option<&[u8]> {
        match source {
            BlobSource::Handle { handle, .. } if handle == WHOLE_INPUT => Some(&self.bytes),
            BlobSource::Handle { handle, .. } => {
                let number: usize = handle.parse().ok()?;
                self.extraction.blobs.get(number).map(Vec::as_slice)
            }
            BlobSource::Inline { .. } => None,
        }
    }
}

/// Returns what extracts files, as the connectors do it.
///
/// # Errors
///
/// When this program cannot find its own file.
pub fn extractor() -> io::Result<Extractor> {
    Ok(Bounds::default().extractor(MAX_FILE_BYTES, Some(worker()?)))
}

/// Extracts a file.
pub fn extract(extractor: &Extractor, input: &Input) -> Extracted {
    let (file, name) = match input {
        Input::Stdin(name) => ("-".to_owned(), Some(name.as_os_str())),
        Input::File(path) => (path.display().to_string(), path.file_name()),
    };
    let name = name.unwrap_or_default().as_encoded_bytes();
    let made = read(input).and_then(|bytes| {
        let mut extraction = extractor.extract(name, &bytes).map_err(Refused::of)?;
        if let Input::File(path) = input {
            show_pictures_beside(path, &mut extraction);
        }
        Ok(Made { extraction, bytes })
    });
    Extracted { file, made }
}

/// Reads the pictures that a text shows of the files around it. Whoever names a file has it read with all that it
/// shows, wherever in the file system that is; a push keeps below its folder.
fn show_pictures_beside(path: &Path, extraction: &mut Extraction) {
    let Ok(path) = std::path::absolute(path) else {
        return;
    };
    let Extraction {
        head,
        pages,
        blobs,
        notes,
    } = extraction;
    let mut room = BESIDE_BYTES;
    let find = |beside: &[u8], _| {
        let place = Path::new("/").join(OsStr::from_bytes(beside));
        let bytes = read_file(&place).ok()?;
        let mime_type = picture_type(file_name(beside), &bytes)?;
        let size = bytes.len() as u64;
        let Some(rest) = room.checked_sub(size) else {
            let place = place.display();
            notes.push(format!(
                "the picture {place} is left out: there are too many bytes of others"
            ));
            return None;
        };
        room = rest;
        let (handle, size) = (blobs.len().to_string(), Some(size));
        blobs.push(bytes);
        let blob = BlobSource::Handle { handle, size };
        Some(Shown { blob, mime_type })
    };
    show_neighbours(&head.file_type, path.as_os_str().as_bytes(), pages, find);
}

fn read(input: &Input) -> Result<Vec<u8>, Refused> {
    match input {
        Input::Stdin(_) => read_all(io::stdin().lock()),
        Input::File(path) if path.is_dir() => Err(Refused::unreadable(
            "it is a folder; name the files in it, or push it with -n",
        )),
        Input::File(path) => read_file(path),
    }
}

fn read_file(path: &Path) -> Result<Vec<u8>, Refused> {
    let file = regular_file::open(path).map_err(|why| Refused::unreadable(why.to_string()))?;
    read_all(file)
}

fn read_all(source: impl Read) -> Result<Vec<u8>, Refused> {
    let mut bytes = Vec::new();
    source
        .take(MAX_FILE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|why| Refused::unreadable(why.to_string()))?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(Refused {
            reason: Reason::TooLarge.name(),
            message: format!("the file has more than {MAX_FILE_BYTES} bytes"),
        });
    }
    Ok(bytes)
}

impl Refused {
    fn unreadable(message: impl Into<String>) -> Self {
        Self {
            reason: UNREADABLE,
            message: message.into(),
        }
    }

    fn of(why: NoDocument) -> Self {
        match why {
            NoDocument::Refused(error) => Self {
                reason: error.reason.name(),
                message: error.message,
            },
            NoDocument::Failed(failure) => Self::unreadable(failure.message),
        }
    }
}

/// Where Linux says which file a process was started from. A process started from there is the same
/// program, even if the file was replaced or removed meanwhile.
#[cfg(target_os = "linux")]
const OWN_FILE: &str = "/proc/self/exe";

/// Returns how this program is started as a process that extracts files.
///
/// # Errors
///
/// When its own file cannot be found.
pub fn worker() -> io::Result<Program> {
    Ok(Program {
        path: own_file()?,
        args: ["connector", "extract-worker"].map(OsString::from).into(),
    })
}

#[cfg(target_os = "linux")]
fn own_file() -> io::Result<PathBuf> {
    std::fs::read_link(OWN_FILE)?;
    Ok(OWN_FILE.into())
}

#[cfg(not(target_os = "linux"))]
fn own_file() -> io::Result<PathBuf> {
    std::env::current_exe()
}
