//! Where the bytes of blobs wait between the source and the remote (connector contract §14.2).
//!
//! A blob is read from its source once, in chunks, hashed on the way, and kept until the last
//! document that needs it has landed: a small one in memory, others in temporary files that have
//! no name and vanish with this process. Several blobs share a file, so that a folder of
//! photographs does not need a descriptor for each. Nothing is ever held whole.

use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use bytes::{Bytes, BytesMut};

use crate::model::{BlobHasher, BlobRef};
use crate::sync::assembly::{BlobTrouble, Fetched};
use crate::sync::blobs::BlobBytes;
use crate::sync::byte_source::{ByteSource, Handle};
use crate::sync::failure::Failure;
use crate::sync::ports::{BlobFailure, Source};

/// Chunks are asked for with this length (§14.2).
const CHUNK_BYTES: u64 = 1 << 20;
/// Longest blob that is kept in memory.
const SMALL_BYTES: u64 = 64 << 10;
/// What all blobs in memory may occupy together; others go to the disk whatever their length.
const MEMORY_BYTES: u64 = 8 << 20;
/// A file longer than this takes no further blob.
const FILE_BYTES: u64 = 32 << 20;

/// The blobs of one round.
#[derive(Debug)]
pub(super) struct Spool {
    directory: PathBuf,
    /// Longest blob the remote takes.
    blob_max_bytes: u64,
    kept: HashMap<BlobRef, Weak<dyn BlobBytes>>,
    /// The sizes that this batch announces for its handles, by name. A wrong one fails the handle,
    /// and with it every document that uses it, whichever of them comes first.
    announced: HashMap<String, BTreeSet<u64>>,
    /// What was read of the handles of this batch, by name.
    handles: HashMap<String, Result<BlobRef, BlobTrouble>>,
    /// The file that takes the next blob, and its length.
    file: (Weak<File>, u64),
    in_memory: Arc<AtomicU64>,
    /// Bytes that were taken since somebody asked.
    taken: u64,
}

impl Spool {
    /// Returns an empty spool that keeps its files in `directory`.
    pub(super) fn new(directory: PathBuf, blob_max_bytes: u64) -> Self {
        Self {
            directory,
            blob_max_bytes,
            kept: HashMap::new(),
            announced: HashMap::new(),
            handles: HashMap::new(),
            file: (Weak::new(), 0),
            in_memory: Arc::default(),
            taken: 0,
        }
    }

    /// Begins a new batch: handles are read again.
    pub(super) fn forget_handles(&mut self) {
        self.announced.clear();
        self.handles.clear();
        self.kept.retain(|_, bytes| bytes.strong_count() > 0);
    }

    /// Notes the sizes that byte sources of this batch announce.
    pub(super) fn announce(&mut self, sources: &[ByteSource]) {
        for source in sources {
            if let ByteSource::Handle(Handle { name, size }) = source {
                self.announced.entry(name.clone()).or_default().extend(size);
            }
        }
    }

    /// Returns how many bytes were taken since [`reset_taken`](Self::reset_taken).
    pub(super) fn taken(&self) -> u64 {
        self.taken
    }

    /// Counts from here, and returns what was counted so far.
    pub(super) fn reset_taken(&mut self) -> u64 {
        std::mem::take(&mut self.taken)
    }

    /// Fetches byte sources in order, up to the first trouble.
    ///
    /// # Errors
    ///
    /// When the round is over: the source ended, or there is no place for the bytes.
    pub(super) async fn fetch_all<S: Source>(
        &mut self,
        source: &mut S,
        wanted: &[ByteSource],
    ) -> Result<Vec<Result<Fetched, BlobTrouble>>, Failure> {
        let mut all = Vec::with_capacity(wanted.len());
        for from in wanted {
            let fetched = self.fetch(source, from).await?;
            let is_trouble = fetched.is_err();
            all.push(fetched);
            if is_trouble {
                break;
            }
        }
        Ok(all)
    }

    async fn fetch<S: Source>(
        &mut self,
        source: &mut S,
        from: &ByteSource,
    ) -> Result<Result<Fetched, BlobTrouble>, Failure> {
        let handle = match from {
            ByteSource::Inline(bytes) => return self.inline(bytes).await,
            ByteSource::Handle(handle) => handle,
        };
        if let Some(known) = self.known(handle) {
            return Ok(known);
        }
        let read = match self.size(handle) {
            Ok(size) => self.read(source, &handle.name, size).await?,
            Err(trouble) => Err(trouble),
        };
        let known = read.as_ref().map(|fetched| fetched.blob);
        self.handles
            .insert(handle.name.clone(), known.map_err(BlobTrouble::clone));
        Ok(read)
    }

    /// Returns what a handle of this batch came to, unless its bytes are needed and gone.
    fn known(&self, handle: &Handle) -> Option<Result<Fetched, BlobTrouble>> {
        match self.handles.get(&handle.name)? {
            Err(trouble) => Some(Err(trouble.clone())),
            Ok(blob) => self.still(*blob).map(Ok),
        }
    }

    /// Returns the size that a handle has to have, if any was announced.
    fn size(&self, handle: &Handle) -> Result<Option<u64>, BlobTrouble> {
        let mut sizes = self.announced.get(&handle.name).into_iter().flatten();
        let Some(smallest) = sizes.next() else {
            return Ok(None);
        };
        let largest = sizes.next_back().unwrap_or(smallest);
        if *largest > self.blob_max_bytes {
            Err(self.too_large(*largest))
        } else if largest != smallest {
            Err(BlobTrouble {
                code: "blob_size_mismatch",
                message: format!("both {smallest} and {largest} bytes were announced"),
                retryable: false,
            })
        } else {
            Ok(Some(*smallest))
        }
    }

    fn still(&self, blob: BlobRef) -> Option<Fetched> {
        let bytes = self.kept.get(&blob)?.upgrade()?;
        Some(Fetched { blob, bytes })
    }

    async fn inline(&mut self, bytes: &Bytes) -> Result<Result<Fetched, BlobTrouble>, Failure> {
        let length = bytes.len() as u64;
        if length > self.blob_max_bytes {
            return Ok(Err(self.too_large(length)));
        }
        let intake = self.intake();
        let intake = if length > SMALL_BYTES {
            blocking(intake, bytes.clone()).await
        } else {
            intake.take(bytes)
        };
        let intake = intake.map_err(|error| self.no_place(&error))?;
        Ok(Ok(self.keep(intake)))
    }

    /// Reads a handle from its beginning to its end. The next chunk is read while the last one is
    /// hashed and written.
    async fn read<S: Source>(
        &mut self,
        source: &mut S,
        handle: &str,
        size: Option<u64>,
    ) -> Result<Result<Fetched, BlobTrouble>, Failure> {
        let mut intake = self.intake();
        let mut waiting = Bytes::new();
        let mut length = 0;
        loop {
            let (taken, chunk) = tokio::join!(
                blocking(intake, waiting),
                source.read_blob(handle, length, CHUNK_BYTES)
            );
            intake = taken.map_err(|error| self.no_place(&error))?;
            let chunk = match chunk {
                Ok(chunk) => chunk,
                Err(BlobFailure::Ended(failure)) => return Err(failure),
                Err(BlobFailure::Unread { message, retryable }) => {
                    return Ok(Err(unread(message, retryable)));
                }
            };
            length += chunk.bytes.len() as u64;
            if let Some(trouble) = self.judge_length(size, length, chunk.eof) {
                return Ok(Err(trouble));
            }
            waiting = chunk.bytes;
            if chunk.eof {
                break;
            }
        }
        let intake = blocking(intake, waiting).await;
        let intake = intake.map_err(|error| self.no_place(&error))?;
        Ok(Ok(self.keep(intake)))
    }

    /// Judges the length so far, as soon as it is known to be wrong (§14.2).
    fn judge_length(&self, size: Option<u64>, length: u64, eof: bool) -> Option<BlobTrouble> {
        match size {
            Some(size) if length > size || (eof && length < size) => Some(BlobTrouble {
                code: "blob_size_mismatch",
                message: format!(
                    "{size} bytes were announced, {length}{} came",
                    if eof { "" } else { " or more" }
                ),
                retryable: false,
            }),
            None if length > self.blob_max_bytes => Some(self.too_large(length)),
            _ => None,
        }
    }

    fn too_large(&self, length: u64) -> BlobTrouble {
        BlobTrouble {
            code: "blob_too_large",
            message: format!(
                "{length} bytes, the remote takes {} in one blob",
                self.blob_max_bytes
            ),
            retryable: false,
        }
    }

    /// Returns where the bytes of the next blob go.
    fn intake(&self) -> Intake {
        let used = self.in_memory.load(Ordering::Relaxed);
        Intake {
            hasher: BlobHasher::new(),
            small: BytesMut::new(),
            small_limit: MEMORY_BYTES.saturating_sub(used).min(SMALL_BYTES),
            file: self.file.0.upgrade(),
            start: self.file.1,
            directory: self.directory.clone(),
            is_spilled: false,
        }
    }

    /// Keeps a whole blob, unless its bytes are here already.
    fn keep(&mut self, intake: Intake) -> Fetched {
        let (blob, length) = (intake.hasher.finish(), intake.hasher.length());
        if let Some(same) = self.still(blob) {
            return same;
        }
        self.taken += length;
        let bytes: Arc<dyn BlobBytes> = match intake.file.filter(|_| intake.is_spilled) {
            Some(file) => {
                let end = intake.start + length;
                let next = if end < FILE_BYTES {
                    Arc::downgrade(&file)
                } else {
                    Weak::new()
                };
                self.file = (next, end);
                Arc::new(OnDisk {
                    file,
                    start: intake.start,
                    length,
                })
            }
            None => {
                self.in_memory.fetch_add(length, Ordering::Relaxed);
                Arc::new(InMemory {
                    bytes: intake.small.freeze(),
                    in_memory: Arc::clone(&self.in_memory),
                })
            }
        };
        self.kept.insert(blob, Arc::downgrade(&bytes));
        Fetched { blob, bytes }
    }

    fn no_place(&self, error: &io::Error) -> Failure {
        let directory = self.directory.display();
        let why = format!("cannot keep the bytes of a blob in {directory}: {error}");
        Failure::round("state_unavailable", why).retryable(true)
    }
}

fn unread(message: String, retryable: bool) -> BlobTrouble {
    BlobTrouble {
        code: "blob_read_failed",
        message,
        retryable,
    }
}

/// A blob on its way in.
#[derive(Debug)]
struct Intake {
    hasher: BlobHasher,
    /// All its bytes, as long as they are few.
    small: BytesMut,
    small_limit: u64,
    /// The file for more, opened when it is needed, and where in it the blob begins.
    file: Option<Arc<File>>,
    start: u64,
    directory: PathBuf,
    is_spilled: bool,
}

impl Intake {
    /// Takes the next bytes; may block for as long as a disk takes.
    fn take(mut self, bytes: &[u8]) -> io::Result<Self> {
        let before = self.hasher.length();
        self.hasher.update(bytes);
        if !self.is_spilled && self.hasher.length() <= self.small_limit {
            self.small.extend_from_slice(bytes);
            return Ok(self);
        }
        let file = match self.file.take() {
            Some(file) => file,
            None => {
                self.start = 0;
                Arc::new(tempfile::tempfile_in(&self.directory)?)
            }
        };
        if !self.is_spilled {
            file.write_all_at(&self.small, self.start)?;
            self.small = BytesMut::new();
            self.is_spilled = true;
        }
        file.write_all_at(bytes, self.start + before)?;
        self.file = Some(file);
        Ok(self)
    }
}

/// Lets `intake` take bytes on a thread where that may block.
async fn blocking(intake: Intake, bytes: Bytes) -> io::Result<Intake> {
    if bytes.is_empty() {
        return Ok(intake);
    }
    tokio::task::spawn_blocking(move || intake.take(&bytes))
        .await
        .map_err(io::Error::other)?
}

/// A small blob, counted as long as it lives.
#[derive(Debug)]
struct InMemory {
    bytes: Bytes,
    in_memory: Arc<AtomicU64>,
}

impl BlobBytes for InMemory {
    fn length(&self) -> u64 {
        self.bytes.length()
    }

    fn read(&self, offset: u64, length: usize) -> io::Result<Bytes> {
        BlobBytes::read(&self.bytes, offset, length)
    }
}

impl Drop for InMemory {
    fn drop(&mut self) {
        let length = self.bytes.length();
        self.in_memory.fetch_sub(length, Ordering::Relaxed);
    }
}

/// A part of a file without a name; the last one takes the file with it.
#[derive(Debug)]
struct OnDisk {
    file: Arc<File>,
    start: u64,
    length: u64,
}

impl BlobBytes for OnDisk {
    fn length(&self) -> u64 {
        self.length
    }

    fn read(&self, offset: u64, length: usize) -> io::Result<Bytes> {
        let end = offset.checked_add(length as u64);
        if end.is_none_or(|end| end > self.length) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut bytes = BytesMut::zeroed(length);
        self.file.read_exact_at(&mut bytes, self.start + offset)?;
        Ok(bytes.freeze())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;

    use super::{FILE_BYTES, MEMORY_BYTES, SMALL_BYTES, Spool};
    use crate::model::BlobRef;
    use crate::sync::assembly::Fetched;
    use crate::sync::byte_source::ByteSource;
    use crate::sync::failure::Failure;
    use crate::sync::ports::{
        Batch, BlobChunk, BlobFailure, PluginIdentity, ScanFailure, ScanRequest, Source,
    };

    /// Inline bytes need no source.
    struct Nobody;

    impl Source for Nobody {
        fn identity(&self) -> &PluginIdentity {
            unreachable!("nobody asks")
        }

        async fn scan(&mut self, _: ScanRequest) -> Result<Batch, ScanFailure> {
            unreachable!("nobody asks")
        }

        async fn read_blob(&mut self, _: &str, _: u64, _: u64) -> Result<BlobChunk, BlobFailure> {
            unreachable!("nobody asks")
        }

        async fn close(self) -> Result<(), Failure> {
            Ok(())
        }
    }

    async fn put(spool: &mut Spool, bytes: impl Into<Bytes>) -> Fetched {
        let wanted = [ByteSource::Inline(bytes.into())];
        let mut all = spool.fetch_all(&mut Nobody, &wanted).await.unwrap();
        all.remove(0).unwrap()
    }

    fn place() -> (tempfile::TempDir, Spool) {
        let place = tempfile::tempdir().unwrap();
        let spool = Spool::new(place.path().to_owned(), u64::MAX);
        (place, spool)
    }

    fn of(length: u64, byte: u8) -> Vec<u8> {
        vec![byte; usize::try_from(length).unwrap()]
    }

    #[tokio::test]
    async fn identical_bytes_are_kept_once_while_somebody_needs_them() {
        let (_place, mut spool) = place();
        for length in [3, SMALL_BYTES + 1] {
            let first = put(&mut spool, of(length, 1)).await;
            let second = put(&mut spool, of(length, 1)).await;
            assert!(Arc::ptr_eq(&first.bytes, &second.bytes));
            assert_eq!(first.blob, BlobRef::of(&of(length, 1)));
            drop((first, second));
            spool.forget_handles();
            assert!(spool.kept.is_empty());
        }
        assert_eq!(spool.reset_taken(), 3 + SMALL_BYTES + 1);
    }

    #[tokio::test]
    async fn blobs_share_a_file_that_goes_with_the_last_of_them() {
        let (place, mut spool) = place();
        let first = put(&mut spool, of(SMALL_BYTES + 1, 1)).await;
        let second = put(&mut spool, of(SMALL_BYTES + 2, 2)).await;
        let file = spool.file.0.clone();
        assert_eq!(spool.file.1, 2 * SMALL_BYTES + 3);
        let named = std::fs::read_dir(place.path()).unwrap().count();
        assert_eq!(named, 0, "the file has no name");
        drop(first);
        let read = second.bytes.read(SMALL_BYTES, 2).unwrap();
        assert_eq!(read, [2, 2][..]);
        drop(second);
        assert!(file.upgrade().is_none());
        let third = put(&mut spool, of(SMALL_BYTES + 3, 3)).await;
        assert_eq!(third.bytes.read(0, 1).unwrap(), [3][..]);
        assert_eq!(spool.file.1, SMALL_BYTES + 3, "it begins a file of its own");
    }

    #[tokio::test]
    async fn a_long_file_takes_no_further_blob() {
        let (_place, mut spool) = place();
        let first = put(&mut spool, of(FILE_BYTES, 1)).await;
        let second = put(&mut spool, of(SMALL_BYTES + 1, 2)).await;
        assert_eq!(spool.file.1, SMALL_BYTES + 1);
        assert_eq!(first.bytes.read(FILE_BYTES - 1, 1).unwrap(), [1][..]);
        assert_eq!(second.bytes.read(0, 1).unwrap(), [2][..]);
    }

    #[tokio::test]
    async fn small_blobs_stay_in_memory_as_long_as_they_are_few() {
        let (_place, mut spool) = place();
        let mut all = Vec::new();
        for number in 0..=MEMORY_BYTES / SMALL_BYTES {
            let mut bytes = of(SMALL_BYTES, 0);
            bytes[..8].copy_from_slice(&number.to_be_bytes());
            all.push(put(&mut spool, bytes).await);
        }
        assert_eq!(spool.file.1, SMALL_BYTES, "one did not fit");
        for (number, fetched) in (0u64..).zip(&all) {
            let read = fetched.bytes.read(0, 8).unwrap();
            assert_eq!(read, number.to_be_bytes()[..]);
        }
        all.clear();
        put(&mut spool, of(SMALL_BYTES, 1)).await;
        assert!(spool.file.0.upgrade().is_none());
    }

    #[tokio::test]
    async fn a_place_that_is_gone_ends_the_round() {
        let (place, mut spool) = place();
        drop(place);
        let wanted = [ByteSource::Inline(of(SMALL_BYTES + 1, 1).into())];
        let failure = spool.fetch_all(&mut Nobody, &wanted).await.unwrap_err();
        assert_eq!(failure.code, "state_unavailable");
        assert!(failure.retryable);
    }
}
