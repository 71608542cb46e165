//! What a reader has at hand beside the bytes: the limits and what is spent of them, a place for
//! the pictures it finds, and a way to read a file within the file.
//!
//! Knows no format.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::io::Read;

use dpe_connector::content::{BlobSource, Page};

use crate::limits::UNSUSPICIOUS_BYTES;
use crate::made::Made;
use crate::reason::Reason;
use crate::{ExtractError, Limits, WHOLE_INPUT};

/// One extraction under way.
#[derive(Debug)]
pub(crate) struct Reading<'a> {
    limits: &'a Limits,
    input_bytes: u64,
    unpacked: u64,
    entries: u64,
    pages: u64,
    depth: u32,
    made: Made,
    blobs: Vec<Vec<u8>>,
    /// Where blobs of a hash are in `blobs`.
    known: HashMap<u64, Vec<usize>>,
    notes: Vec<String>,
}

/// Notes for people are no second document.
const MAX_NOTES: usize = 16;

impl<'a> Reading<'a> {
    pub(crate) fn new(limits: &'a Limits, input_bytes: u64) -> Self {
        let unpacked = most_unpacked(limits, input_bytes);
        // What the file holds at most, and as much again for the HTML of tables and texts that are shared by
        // intention.
        let most_bytes = unpacked.saturating_mul(2).saturating_add(input_bytes);
        Self {
            limits,
            input_bytes,
            unpacked: 0,
            entries: 0,
            pages: 0,
            depth: 0,
            made: Made::up_to(limits.elements as u64, most_bytes),
            blobs: Vec::new(),
            known: HashMap::new(),
            notes: Vec::new(),
        }
    }

    pub(crate) fn limits(&self) -> &'a Limits {
        self.limits
    }

    /// What is made of the file so far; elements that belong to it are made with this.
    pub(crate) fn made(&self) -> &Made {
        &self.made
    }

    /// Keeps the bytes of a picture, once however often they come, and returns how an element
    /// refers to them.
    pub(crate) fn blob(&mut self, bytes: Vec<u8>) -> BlobSource {
        let size = bytes.len() as u64;
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        let alike = self.known.entry(hasher.finish()).or_default();
        let number = match alike.iter().find(|number| self.blobs[**number] == bytes) {
            Some(number) => *number,
            None => {
                alike.push(self.blobs.len());
                self.blobs.push(bytes);
                self.blobs.len() - 1
            }
        };
        BlobSource::Handle {
            handle: number.to_string(),
            size: Some(size),
        }
    }

    /// Notes something that people should know of the file and that is no reason to refuse it.
    pub(crate) fn note(&mut self, note: impl Into<String>) {
        let note = note.into();
        if self.notes.len() < MAX_NOTES && !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Takes what a part gave; one that is refused costs that part only and is noted.
    ///
    /// # Errors
    ///
    /// Those that [are fatal](ExtractError::is_fatal).
    pub(crate) fn tolerated<T>(
        &mut self,
        part: &str,
        result: Result<T, ExtractError>,
    ) -> Result<Option<T>, ExtractError> {
        match result {
            Ok(found) => Ok(Some(found)),
            Err(error) if error.is_fatal() => Err(error),
            Err(error) => {
                self.note(format!("left out: {part}: {error}"));
                Ok(None)
            }
        }
    }

    /// Counts an entry of an archive, a part of a message or the like.
    ///
    /// # Errors
    ///
    /// `bomb` when there are more than are taken.
    pub(crate) fn entry(&mut self) -> Result<(), ExtractError> {
        self.entries += 1;
        if self.entries > self.limits.entries {
            let most = self.limits.entries;
            return Err(bomb(format!("more than {most} entries")));
        }
        Ok(())
    }

    /// Counts a page that the file declares.
    ///
    /// # Errors
    ///
    /// `too_large` when there are more than are taken.
    pub(crate) fn page(&mut self) -> Result<(), ExtractError> {
        self.pages += 1;
        let most = self.limits.pages as u64;
        if self.pages > most {
            let message = format!("more than {most} pages");
            return Err(ExtractError::new(Reason::TooLarge, message));
        }
        self.settled()
    }

    /// Counts bytes that came out of something packed.
    ///
    /// # Errors
    ///
    /// `bomb` when they are too many, or out of proportion to the file.
    pub(crate) fn unpacked(&mut self, bytes: u64) -> Result<(), ExtractError> {
        self.unpacked = self.unpacked.saturating_add(bytes);
        self.settled()
    }

    /// Whether no limit was exceeded: readers may have got over the loss of a part, but not over a bomb.
    ///
    /// # Errors
    ///
    /// `bomb`; `too_large` for elements.
    pub(crate) fn settled(&self) -> Result<(), ExtractError> {
        match self.unpacked > self.most_unpacked() {
            true => Err(self.too_much()),
            false => self.made.settled(),
        }
    }

    /// Returns how many bytes more may come out.
    pub(crate) fn room(&self) -> u64 {
        self.most_unpacked().saturating_sub(self.unpacked)
    }

    /// Reads everything that `packed` unpacks to, and counts it.
    ///
    /// # Errors
    ///
    /// `bomb` as soon as it is too much; `damaged` when it cannot be unpacked.
    pub(crate) fn unpack(&mut self, packed: impl Read) -> Result<Vec<u8>, ExtractError> {
        let room = self.room();
        let mut bytes = Vec::new();
        packed
            .take(room + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| ExtractError::damaged(format!("cannot be unpacked: {error}")))?;
        self.unpacked(bytes.len() as u64)?;
        Ok(bytes)
    }

    /// Returns the pages of a file within the file, with their pictures kept here, and what it says
    /// about itself.
    ///
    /// # Errors
    ///
    /// Why it gives no document; a bomb anywhere is one everywhere, see
    /// [`is_fatal`](ExtractError::is_fatal).
    pub(crate) fn nested(
        &mut self,
        name: &[u8],
        bytes: &[u8],
    ) -> Result<crate::Document, ExtractError> {
        if self.depth >= self.limits.depth {
            let most = self.limits.depth;
            return Err(bomb(format!("files within files more than {most} deep")));
        }
        self.depth += 1;
        let read = crate::read(name, bytes, self);
        self.depth -= 1;
        let mut body = read?;
        self.keep_whole(&mut body.pages, bytes);
        Ok(body)
    }

    /// Returns the pictures and the notes.
    pub(crate) fn finish(self) -> (Vec<Vec<u8>>, Vec<String>) {
        (self.blobs, self.notes)
    }

    /// Keeps the nested file itself where it is the content.
    fn keep_whole(&mut self, pages: &mut [Page], bytes: &[u8]) {
        let elements = pages.iter_mut().flat_map(|page| &mut page.elements);
        for blob in elements.filter_map(|element| element.blob.as_mut()) {
            if matches!(blob, BlobSource::Handle { handle, .. } if handle == WHOLE_INPUT) {
                *blob = self.blob(bytes.to_vec());
            }
        }
    }

    fn most_unpacked(&self) -> u64 {
        most_unpacked(self.limits, self.input_bytes)
    }

    fn too_much(&self) -> ExtractError {
        let most = self.most_unpacked();
        bomb(format!("it unpacks to more than {most} bytes"))
    }
}

/// Returns how many bytes may come out of a file.
fn most_unpacked(limits: &Limits, input_bytes: u64) -> u64 {
    let by_ratio = input_bytes.saturating_mul(limits.unpacked_ratio);
    let suspicious = by_ratio.max(UNSUSPICIOUS_BYTES);
    suspicious.min(limits.unpacked_bytes)
}

fn bomb(message: String) -> ExtractError {
    ExtractError::new(Reason::Bomb, message)
}

#[cfg(test)]
mod tests {
    use dpe_connector::content::BlobSource;

    use super::Reading;
    use crate::limits::UNSUSPICIOUS_BYTES;
    use crate::{Limits, Reason};

    #[test]
    fn equal_pictures_are_kept_once() {
        let limits = Limits::default();
        let mut reading = Reading::new(&limits, 10);
        let first = reading.blob(vec![1, 2]);
        assert_ne!(reading.blob(vec![1]), first);
        assert_eq!(reading.blob(vec![1, 2]), first);
        let expected = BlobSource::Handle {
            handle: "0".to_owned(),
            size: Some(2),
        };
        assert_eq!(first, expected);
        assert_eq!(reading.finish().0, [vec![1, 2], vec![1]]);
    }

    #[test]
    fn unpacking_stops_where_the_file_is_out_of_proportion() {
        let limits = Limits {
            unpacked_bytes: UNSUSPICIOUS_BYTES + 5,
            ..Limits::default()
        };
        let small = Reading::new(&limits, 1).unpack(std::io::repeat(0));
        assert_eq!(small.unwrap_err().reason, Reason::Bomb);
        let mut large = Reading::new(&limits, 1 << 30);
        assert!(large.unpacked(UNSUSPICIOUS_BYTES + 5).is_ok());
        assert_eq!(large.unpacked(1).unwrap_err().reason, Reason::Bomb);
    }

    #[test]
    fn nothing_more_comes_out_once_it_was_too_much() {
        let limits = Limits::default();
        let mut reading = Reading::new(&limits, 1);
        assert!(reading.unpack(std::io::repeat(0)).is_err());
        assert_eq!(reading.room(), 0);
        assert_eq!(reading.unpack(&b"a"[..]).unwrap_err().reason, Reason::Bomb);
    }

    #[test]
    fn texts_may_be_twice_what_the_file_may_unpack_to() {
        let limits = Limits::default();
        let reading = Reading::new(&limits, 10);
        assert!(reading.made().bytes(2 * UNSUSPICIOUS_BYTES + 10));
        assert!(reading.settled().is_ok());
        assert!(!reading.made().bytes(1));
        assert_eq!(reading.settled().unwrap_err().reason, Reason::Bomb);
    }

    #[test]
    fn pages_are_counted() {
        let limits = Limits {
            pages: 1,
            ..Limits::default()
        };
        let mut reading = Reading::new(&limits, 1);
        assert!(reading.page().is_ok());
        assert_eq!(reading.page().unwrap_err().reason, Reason::TooLarge);
    }

    #[test]
    fn entries_are_counted() {
        let limits = Limits {
            entries: 2,
            ..Limits::default()
        };
        let mut reading = Reading::new(&limits, 1);
        assert!(reading.entry().is_ok() && reading.entry().is_ok());
        assert_eq!(reading.entry().unwrap_err().reason, Reason::Bomb);
    }
}
