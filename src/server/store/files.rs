//! The files beside the database: large blobs, and uploads that are not complete yet.
//!
//! `blobs/ab/abcd…` is a blob by its digest; it exists, whole and on disk, before a transaction
//! refers to it. `partial/SESSION.OBJECT` has at least the bytes its row counts. Anything else in
//! there is garbage of a process that was killed.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::model::{BlobHasher, BlobRef};

/// Longest blob that is kept in the database.
pub(super) const INLINE_MAX: u64 = 64 << 10;

const BLOBS: &str = "blobs";
const PARTIAL: &str = "partial";

/// Bytes read at once where a file is hashed again.
const PIECE: usize = 256 << 10;

/// The files of one store.
#[derive(Debug)]
pub(super) struct Files {
    dir: PathBuf,
    /// Blobs that are being placed, and how often: their files are in use without a row.
    pins: Mutex<HashMap<BlobRef, usize>>,
}

/// Where the bytes of a blob come from.
pub(super) enum Source<'a> {
    Bytes(&'a [u8]),
    /// A file of `partial` that holds exactly them.
    Partial(&'a str),
}

impl Files {
    pub(super) fn new(dir: &Path) -> Self {
        Self {
            dir: dir.to_owned(),
            pins: Mutex::default(),
        }
    }

    /// Makes a partial file `at` bytes long and appends `bytes`. False if it is shorter than that,
    /// because something took it away.
    pub(super) fn append(&self, name: &str, at: u64, bytes: &[u8]) -> io::Result<bool> {
        let path = self.partial(name);
        let mut file = match open_to_append(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                fs::create_dir_all(self.dir.join(PARTIAL))?;
                open_to_append(&path)?
            }
            opened => opened?,
        };
        if file.metadata()?.len() < at {
            return Ok(false);
        }
        // What an attempt that was not counted has left is written over.
        file.set_len(at)?;
        file.seek(SeekFrom::Start(at))?;
        file.write_all(bytes)?;
        Ok(true)
    }

    /// Hashes the first `length` bytes of a partial file.
    pub(super) fn hash_partial(&self, name: &str, length: u64) -> io::Result<BlobHasher> {
        let mut file = File::open(self.partial(name))?.take(length);
        let mut hasher = BlobHasher::new();
        let mut piece = vec![0; PIECE];
        loop {
            match file.read(&mut piece)? {
                0 => break,
                read => hasher.update(&piece[..read]),
            }
        }
        if hasher.length() == length {
            Ok(hasher)
        } else {
            Err(ErrorKind::UnexpectedEof.into())
        }
    }

    /// Reads a whole partial file.
    pub(super) fn read_partial(&self, name: &str) -> io::Result<Vec<u8>> {
        fs::read(self.partial(name))
    }

    /// Returns the length of a partial file, 0 if there is none.
    pub(super) fn partial_length(&self, name: &str) -> u64 {
        fs::metadata(self.partial(name)).map_or(0, |found| found.len())
    }

    /// Removes a partial file if it is there.
    pub(super) fn remove_partial(&self, name: &str) {
        // One that stays is garbage, and swept later.
        let _ = fs::remove_file(self.partial(name));
    }

    /// Returns the names of all partial files.
    pub(super) fn partials(&self) -> io::Result<Vec<String>> {
        names(&self.dir.join(PARTIAL))
    }

    /// Puts a blob in its place, whole and on disk. Its file stays until [`Self::release`] at
    /// least. `temporary` is a name in `partial` that nobody else uses.
    pub(super) fn place(
        &self,
        blob: BlobRef,
        source: &Source<'_>,
        temporary: &str,
    ) -> io::Result<()> {
        *self.pins().entry(blob).or_default() += 1;
        let placed = self.place_pinned(blob, source, temporary);
        if placed.is_err() {
            self.unpin(&mut self.pins(), blob);
        }
        placed
    }

    fn place_pinned(&self, blob: BlobRef, source: &Source<'_>, temporary: &str) -> io::Result<()> {
        let from = match source {
            Source::Bytes(bytes) => {
                fs::create_dir_all(self.dir.join(PARTIAL))?;
                let path = self.partial(temporary);
                let mut file = File::create(&path)?;
                file.write_all(bytes)?;
                file.sync_all()?;
                path
            }
            Source::Partial(name) => {
                let path = self.partial(name);
                File::open(&path)?.sync_all()?;
                path
            }
        };
        let to = self.blob(blob);
        let shelf = to.parent().expect("a blob lies in a directory of its own");
        if !shelf.exists() {
            fs::create_dir_all(shelf)?;
            sync_directory(&self.dir.join(BLOBS))?;
            sync_directory(&self.dir)?;
        }
        fs::rename(from, &to)?;
        sync_directory(shelf)
    }

    /// Ends what [`Self::place`] began. Unless somebody refers to the blob, or places it, too, its
    /// file goes: to where it came from, if that has a name.
    pub(super) fn release(
        &self,
        blob: BlobRef,
        is_referred_to: impl Fn() -> bool,
        back: Option<&str>,
    ) {
        let mut pins = self.pins();
        self.unpin(&mut pins, blob);
        if pins.contains_key(&blob) || is_referred_to() {
            return;
        }
        match back {
            Some(name) => self.take_back(blob, name),
            // What stays behind is garbage only.
            None => drop(fs::remove_file(self.blob(blob))),
        }
    }

    /// Makes the file of a blob that nobody refers to a partial one again.
    pub(super) fn take_back(&self, blob: BlobRef, name: &str) {
        // If it is not there, the upload has nothing.
        let _ = fs::rename(self.blob(blob), self.partial(name));
    }

    /// Removes the file of a blob, unless somebody refers to it or places it; false if the file
    /// has to stay or cannot be removed.
    pub(super) fn remove_blob(&self, blob: BlobRef, is_referred_to: impl Fn() -> bool) -> bool {
        let pins = self.pins();
        if pins.contains_key(&blob) || is_referred_to() {
            return false;
        }
        match fs::remove_file(self.blob(blob)) {
            Ok(()) => true,
            Err(error) => error.kind() == ErrorKind::NotFound,
        }
    }

    /// Opens the file of a blob.
    pub(super) fn open_blob(&self, blob: BlobRef) -> io::Result<File> {
        File::open(self.blob(blob))
    }

    /// Returns the blobs that have a file.
    pub(super) fn blobs(&self) -> io::Result<Vec<BlobRef>> {
        let root = self.dir.join(BLOBS);
        let mut blobs = Vec::new();
        for shelf in names(&root)? {
            let files = names(&root.join(shelf))?;
            let known = files
                .iter()
                .map(|name| BlobRef::parse(&format!("sha256:{name}")));
            blobs.extend(known.filter_map(Result::ok));
        }
        Ok(blobs)
    }

    fn unpin(&self, pins: &mut MutexGuard<'_, HashMap<BlobRef, usize>>, blob: BlobRef) {
        if let Some(count) = pins.get_mut(&blob) {
            *count -= 1;
            if *count == 0 {
                pins.remove(&blob);
            }
        }
    }

    fn pins(&self) -> MutexGuard<'_, HashMap<BlobRef, usize>> {
        // Counts are changed in one step, so they hold even after a panic.
        self.pins.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn partial(&self, name: &str) -> PathBuf {
        self.dir.join(PARTIAL).join(name)
    }

    /// Returns the path of the file of a blob.
    pub(super) fn blob(&self, blob: BlobRef) -> PathBuf {
        let text = blob.to_string();
        let digits = &text["sha256:".len()..];
        self.dir.join(BLOBS).join(&digits[..2]).join(digits)
    }
}

fn open_to_append(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).open(path)
}

/// Names in a directory; none if it does not exist.
fn names(dir: &Path) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut names = Vec::new();
    for entry in entries {
        // A name that is not text is none of ours.
        names.extend(entry?.file_name().into_string());
    }
    Ok(names)
}

/// Makes the names in a directory durable.
fn sync_directory(dir: &Path) -> io::Result<()> {
    if cfg!(unix) {
        File::open(dir)?.sync_all()
    } else {
        // Elsewhere a directory cannot be opened as a file, and renaming is durable by itself.
        Ok(())
    }
}
