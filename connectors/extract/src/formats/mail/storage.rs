//! Properties in a storage of an Outlook message (MS-OXMSG 2.1, 2.4).
//!
//! Values of fixed length are together in one stream, every other value is a stream named by its tag. A
//! value that cannot be read is missing and noted.

use std::collections::BTreeMap;

use crate::codepage;
use crate::formats::compound::{self, Compound};
use crate::reading::Reading;
use crate::times;
use crate::{ExtractError, decode};

/// Types of property (MS-OXCDATA 2.11.1).
const INTEGER: u16 = 0x0003;
const TIME: u16 = 0x0040;
const STRING8: u16 = 0x001E;
const UNICODE: u16 = 0x001F;
const BINARY: u16 = 0x0102;

/// Tags of the code pages of a message and of its page.
const MESSAGE_CODE_PAGE: u16 = 0x3FFD;
const INTERNET_CODE_PAGE: u16 = 0x3FDE;

/// A storage: a message, a recipient or an attachment.
pub(super) struct Storage {
    base: String,
    fixed: BTreeMap<(u16, u16), [u8; 8]>,
    code_page: Option<u16>,
}

impl Storage {
    /// Opens the storage at a path, which is empty or has no `/` at its end. What a recipient or an attachment does
    /// not say of its code page is that of its message.
    ///
    /// # Errors
    ///
    /// Those that cost the whole file: see [`ExtractError::is_fatal`].
    pub(super) fn open(
        file: &mut Compound<'_>,
        base: String,
        message: Option<&Self>,
        reading: &mut Reading<'_>,
    ) -> Result<Self, ExtractError> {
        let mut storage = Self {
            base,
            fixed: BTreeMap::new(),
            code_page: message.and_then(|message| message.code_page),
        };
        let properties = storage.stream(file, "__properties_version1.0", reading)?;
        let properties = properties.unwrap_or_default();
        // The header has 8, 24 or 32 bytes; entries have 16.
        let header = match (message, storage.base.is_empty()) {
            (Some(_), _) => 8,
            (None, true) => 32,
            (None, false) => 24,
        };
        for entry in properties
            .get(header..)
            .unwrap_or_default()
            .chunks_exact(16)
        {
            let half = |at: usize| u16::from_le_bytes([entry[at], entry[at + 1]]);
            let value = entry[8..].try_into().expect("sixteen bytes less eight");
            storage.fixed.insert((half(2), half(0)), value);
        }
        let code_page = storage
            .number(MESSAGE_CODE_PAGE)
            .or_else(|| storage.number(INTERNET_CODE_PAGE));
        storage.code_page = code_page
            .and_then(|number| u16::try_from(number).ok())
            .or(storage.code_page);
        Ok(storage)
    }

    /// Returns the paths of the storages in this one whose names begin alike, in the order of their numbers.
    pub(super) fn within(&self, file: &Compound<'_>, prefix: &str) -> Vec<String> {
        let root = if self.base.is_empty() {
            "/"
        } else {
            &self.base
        };
        let Ok(entries) = file.read_storage(root) else {
            return Vec::new();
        };
        let mut paths: Vec<String> = entries
            .filter(|entry| entry.is_storage() && entry.name().starts_with(prefix))
            .map(|entry| format!("{}/{}", self.base, entry.name()))
            .collect();
        paths.sort();
        paths
    }

    /// Returns the path of the message within an attachment.
    pub(super) fn embedded(&self, file: &Compound<'_>) -> Option<String> {
        let path = format!("{}/__substg1.0_3701000D", self.base);
        file.is_storage(&path).then_some(path)
    }

    /// Returns a text that is not blank.
    pub(super) fn text(
        &self,
        file: &mut Compound<'_>,
        id: u16,
        reading: &mut Reading<'_>,
    ) -> Result<Option<String>, ExtractError> {
        let mut text = None;
        if let Some(bytes) = self.value(file, id, UNICODE, reading)? {
            text = Some(
                encoding_rs::UTF_16LE
                    .decode_without_bom_handling(&bytes)
                    .0
                    .into_owned(),
            );
        } else if let Some(bytes) = self.value(file, id, STRING8, reading)? {
            text = Some(self.decoded(&bytes, self.code_page, reading));
        }
        let text = text.map(|text| text.trim_end_matches('\0').to_owned());
        Ok(text.filter(|text| !text.trim().is_empty()))
    }

    /// Returns bytes, unless there are none.
    pub(super) fn bytes(
        &self,
        file: &mut Compound<'_>,
        id: u16,
        reading: &mut Reading<'_>,
    ) -> Result<Option<Vec<u8>>, ExtractError> {
        let bytes = self.value(file, id, BINARY, reading)?;
        Ok(bytes.filter(|bytes| !bytes.is_empty()))
    }

    /// Returns the text of a page that is there as bytes, in the code page that the message has for it.
    pub(super) fn page(&self, bytes: &[u8], reading: &mut Reading<'_>) -> String {
        let code_page = self.number(INTERNET_CODE_PAGE);
        self.decoded(
            bytes,
            code_page.and_then(|page| u16::try_from(page).ok()),
            reading,
        )
    }

    /// Returns a number.
    pub(super) fn number(&self, id: u16) -> Option<u32> {
        let value = self.fixed.get(&(id, INTEGER))?;
        Some(u32::from_le_bytes([value[0], value[1], value[2], value[3]]))
    }

    /// Returns a time as RFC 3339.
    pub(super) fn time(&self, id: u16) -> Option<String> {
        let value = self.fixed.get(&(id, TIME))?;
        times::of_file_time(u64::from_le_bytes(*value))
    }

    fn decoded(&self, bytes: &[u8], code_page: Option<u16>, reading: &mut Reading<'_>) -> String {
        const ASCII: u16 = 20127;
        const UTF8: u16 = 65001;
        let text = match code_page {
            None | Some(ASCII | UTF8) => decode::any(bytes, reading).map(|text| text.into_owned()),
            Some(code_page) => Ok(codepage::decode(code_page, bytes)),
        };
        text.unwrap_or_else(|_| String::from_utf8_lossy(bytes).into_owned())
    }

    fn value(
        &self,
        file: &mut Compound<'_>,
        id: u16,
        kind: u16,
        reading: &mut Reading<'_>,
    ) -> Result<Option<Vec<u8>>, ExtractError> {
        self.stream(file, &format!("__substg1.0_{id:04X}{kind:04X}"), reading)
    }

    fn stream(
        &self,
        file: &mut Compound<'_>,
        name: &str,
        reading: &mut Reading<'_>,
    ) -> Result<Option<Vec<u8>>, ExtractError> {
        let path = format!("{}/{name}", self.base);
        let read = compound::stream(file, &path, reading);
        Ok(reading.tolerated("a property", read)?.flatten())
    }
}
