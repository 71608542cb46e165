//! Files encrypted with an empty password (ISO 32000-1 §7.6): their keys, and what the parser of the file misses.
//!
//! The parser takes the length of a key from one place only, where other programs look into three, and hashes of
//! passwords as long as they are written. Such a file is handed to it with these entries as it expects them.

use std::borrow::Cow;
use std::ops::Range;

use unpdf::parser::raw::crypt::{self, Cipher, EncryptionParams};
use unpdf::parser::raw::xref::{self, XrefEntry, XrefTable};
use unpdf::parser::raw::{PdfDict, PdfObject, PdfStream};

use super::nesting::Nesting;
use crate::ExtractError;

/// Bytes of the hash of a password, up to revision 4.
const HASH: usize = 32;

/// Returns the file with the entries of its encryption as its parser expects them.
///
/// Objects behind their headers and trailers must have been looked at for their depth.
///
/// # Errors
///
/// `bomb` if what stands where the encryption should be is nested too deep.
pub(super) fn mended(bytes: &[u8]) -> Result<Cow<'_, [u8]>, ExtractError> {
    let Some((table, trailer)) = references(bytes) else {
        return Ok(Cow::Borrowed(bytes));
    };
    let Some((dict, place)) = dictionary(bytes, &table, &trailer)? else {
        return Ok(Cow::Borrowed(bytes));
    };
    let mended = || {
        let text = Entries::of(&dict)?.mended()?;
        // Nothing may move: whatever is left of the place becomes space.
        let room = place.len().checked_sub(text.len())?;
        let after = bytes.get(place.end..)?;
        Some([&bytes[..place.start], &text, &vec![b' '; room], after].concat())
    };
    Ok(mended().map_or(Cow::Borrowed(bytes), Cow::Owned))
}

/// What opens the streams of a file.
pub(super) struct Key {
    key: Vec<u8>,
    cipher: Cipher,
}

impl Key {
    /// Returns the key that the empty password gives; `None` if it gives none, or if nothing is encrypted.
    ///
    /// # Errors
    ///
    /// `bomb`, as [`mended`].
    pub(super) fn of(bytes: &[u8]) -> Result<Option<Self>, ExtractError> {
        let Some((table, trailer)) = references(bytes) else {
            return Ok(None);
        };
        let dictionary = dictionary(bytes, &table, &trailer)?;
        Ok(dictionary.and_then(|(dict, _)| Self::by(&dict, &trailer)))
    }

    fn by(dict: &PdfDict, trailer: &PdfDict) -> Option<Self> {
        let id = trailer.get(&b"ID"[..]).and_then(PdfObject::as_array);
        let id = id.and_then(|parts| parts.first()?.as_str_bytes());
        let params = Entries::of(dict)?.params(id.unwrap_or_default());
        let key = match params.revision {
            5 | 6 => crypt::authenticate_aes256(&params, b""),
            _ => crypt::authenticate_user_password(&params, b""),
        };
        Some(Self {
            key: key?,
            cipher: params.cipher,
        })
    }

    /// Opens a stream, as far as it can be opened.
    pub(super) fn open(&self, id: (u32, u16), stream: &mut PdfStream) {
        let key = crypt::object_key(&self.key, id.0, id.1, self.cipher);
        let opened = match self.cipher {
            Cipher::Rc4 => Some(crypt::decrypt_rc4(&key, &stream.raw_data)),
            Cipher::Aes128 | Cipher::Aes256 => crypt::decrypt_aes(&key, &stream.raw_data),
        };
        if let Some(opened) = opened {
            stream.raw_data = opened;
        }
    }
}

/// Returns the references of a file and its trailer as the parser finds them: where a table points besides its
/// objects, these are looked for.
fn references(bytes: &[u8]) -> Option<(XrefTable, PdfDict)> {
    let Ok((table, mut trailer)) = xref::parse_xref_chain(bytes) else {
        return xref::reconstruct(bytes).ok();
    };
    let mut entries = table.entries.iter();
    let is_true = entries.all(|(&(number, generation), entry)| match *entry {
        XrefEntry::Uncompressed(at) => {
            xref::object_header_at(bytes, at.min(bytes.len()), number, generation)
        }
        XrefEntry::Compressed(..) => true,
    });
    if is_true {
        return Some((table, trailer));
    }
    match xref::reconstruct(bytes) {
        Ok((rebuilt, found)) => {
            for (name, value) in found {
                trailer.entry(name).or_insert(value);
            }
            Some((rebuilt, trailer))
        }
        Err(_) => Some((table, trailer)),
    }
}

type Found = Option<(PdfDict, Range<usize>)>;

/// Returns the dictionary of the encryption and where it stands.
fn dictionary(bytes: &[u8], table: &XrefTable, trailer: &PdfDict) -> Result<Found, ExtractError> {
    let mut nesting = Nesting::of(bytes);
    match trailer.get(&b"Encrypt"[..]) {
        Some(&PdfObject::Reference(number, generation)) => {
            match table.entries.get(&(number, generation)) {
                Some(&XrefEntry::Uncompressed(at)) => dictionary_behind(bytes, at, &mut nesting),
                _ => Ok(None),
            }
        }
        Some(PdfObject::Dict(dict)) => {
            for at in memchr::memmem::rfind_iter(bytes, b"/Encrypt") {
                let found = dictionary_behind(bytes, at, &mut nesting)?;
                if found.as_ref().is_some_and(|(found, _)| found == dict) {
                    return Ok(found);
                }
            }
            Ok(None)
        }
        _ => Ok(None),
    }
}

/// Reads the first dictionary behind a place. Nobody needs to have looked at it before.
fn dictionary_behind(
    bytes: &[u8],
    at: usize,
    nesting: &mut Nesting<'_>,
) -> Result<Found, ExtractError> {
    let rest = bytes.get(at..).unwrap_or_default();
    let start = memchr::memmem::find(rest, b"<<");
    nesting.pass(start.unwrap_or(rest.len()))?;
    let Some(start) = start.map(|start| at + start) else {
        return Ok(None);
    };
    Ok(match nesting.object(start)? {
        Some((PdfObject::Dict(dict), end)) => Some((dict, start..end)),
        _ => None,
    })
}

/// The entries that matter (tables 20, 21 and 25).
struct Entries<'d> {
    dict: &'d PdfDict,
    version: i64,
    revision: i64,
    owner: &'d [u8],
    user: &'d [u8],
    filter: Option<&'d PdfDict>,
}

impl<'d> Entries<'d> {
    fn of(dict: &'d PdfDict) -> Option<Self> {
        let name = ["StmF", "StrF"]
            .iter()
            .find_map(|name| dict.get(name.as_bytes())?.as_name());
        let filters = dict.get(&b"CF"[..]).and_then(PdfObject::as_dict);
        Some(Self {
            dict,
            version: number(dict, b"V").unwrap_or(0),
            revision: number(dict, b"R").unwrap_or(0),
            owner: string(dict, b"O")?,
            user: string(dict, b"U")?,
            filter: filters.and_then(|filters| filters.get(name?)?.as_dict()),
        })
    }

    fn cipher(&self) -> Cipher {
        let method = self
            .filter
            .and_then(|filter| filter.get(&b"CFM"[..])?.as_name());
        match method {
            _ if self.revision < 4 => Cipher::Rc4,
            Some(b"AESV3") => Cipher::Aes256,
            Some(b"AESV2") => Cipher::Aes128,
            None if self.revision > 4 && self.filter.is_none() => Cipher::Aes256,
            _ => Cipher::Rc4,
        }
    }

    /// Returns the bits of the key; some programs write bytes.
    fn bits(&self) -> i64 {
        let declared = number(self.dict, b"Length");
        let bits = match self.version {
            1 => 40,
            4 if self.cipher() == Cipher::Aes128 => 128,
            4 => {
                let of_filter = self.filter.and_then(|filter| number(filter, b"Length"));
                of_filter.or(declared).unwrap_or(128)
            }
            _ => declared.unwrap_or(40),
        };
        match bits {
            5..=16 => bits * 8,
            _ => bits,
        }
    }

    /// Returns the dictionary as the parser expects it; `None` if that is what it is.
    fn mended(&self) -> Option<Vec<u8>> {
        let declared = number(self.dict, b"Length").unwrap_or(40);
        let is_long = self.owner.len() > HASH || self.user.len() > HASH;
        if !(2..=4).contains(&self.revision) || (declared == self.bits() && !is_long) {
            return None;
        }
        let permissions = number(self.dict, b"P").unwrap_or(0) as i32;
        let (version, revision, bits) = (self.version, self.revision, self.bits());
        let mut text =
            format!("<</V {version}/R {revision}/Length {bits}/P {permissions}/O").into_bytes();
        write_string(&mut text, self.owner);
        text.extend(b"/U");
        write_string(&mut text, self.user);
        if self.cipher() == Cipher::Aes128 {
            text.extend(b"/CF<</S<</CFM/AESV2>>>>/StmF/S");
        }
        if self.is_metadata_plain() {
            text.extend(b"/EncryptMetadata false");
        }
        text.extend(b">>");
        Some(text)
    }

    fn is_metadata_plain(&self) -> bool {
        self.dict.get(&b"EncryptMetadata"[..]) == Some(&PdfObject::Bool(false))
    }

    fn params(&self, file_id: &[u8]) -> EncryptionParams {
        let bytes = |name| string(self.dict, name).unwrap_or_default().to_vec();
        EncryptionParams {
            version: self.version as u32,
            revision: self.revision as u32,
            key_length: number(self.dict, b"Length").unwrap_or(40) as u32,
            owner_hash: self.owner.to_vec(),
            user_hash: self.user.to_vec(),
            permissions: number(self.dict, b"P").unwrap_or(0) as i32,
            file_id: file_id.to_vec(),
            cipher: self.cipher(),
            owner_key: bytes(b"OE"),
            user_key: bytes(b"UE"),
            encrypt_metadata: !self.is_metadata_plain(),
        }
    }
}

fn number(dict: &PdfDict, name: &[u8]) -> Option<i64> {
    dict.get(name)?.as_i64()
}

fn string<'d>(dict: &'d PdfDict, name: &[u8]) -> Option<&'d [u8]> {
    dict.get(name)?.as_str_bytes()
}

/// Writes the hash of a password, without what was added to fill it up.
fn write_string(text: &mut Vec<u8>, hash: &[u8]) {
    text.push(b'(');
    for &byte in hash.iter().take(HASH) {
        if matches!(byte, b'(' | b')' | b'\\') {
            text.push(b'\\');
        }
        text.push(byte);
    }
    text.push(b')');
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use unpdf::parser::raw::RawDocument;

    use super::{Key, mended};

    /// Encrypted by MuPDF, with AES of 128 bits.
    const FILE: &[u8] = include_bytes!("../../../tests/cases/pdf/owner_password.pdf");

    /// The file with one of the entries of its encryption replaced.
    fn changed(entry: &str, other: &str) -> Vec<u8> {
        let at = memchr::memmem::find(FILE, entry.as_bytes()).unwrap();
        let (before, after) = FILE.split_at(at);
        [before, other.as_bytes(), &after[entry.len()..]].concat()
    }

    #[test]
    fn length_of_a_key_may_be_missing_or_in_bytes() {
        for length in ["", "/Length 16", "/Length 40"] {
            let file = changed("/Length 128", length);
            assert!(RawDocument::load(&file).is_err(), "{length}");
            assert!(Key::of(&file).unwrap().is_none(), "{length}");
            let mended = mended(&file).unwrap();
            assert_eq!(mended.len(), file.len());
            assert!(RawDocument::load(&mended).is_ok(), "{length}");
            assert!(Key::of(&mended).unwrap().is_some(), "{length}");
        }
    }

    #[test]
    fn hashes_of_passwords_may_be_filled_up() {
        let at = memchr::memmem::find(FILE, b"/O<").unwrap() + 3;
        let (before, after) = FILE.split_at(at + 64);
        let file = [before, &b"00".repeat(20), after].concat();
        assert!(RawDocument::load(&file).is_err());
        assert!(RawDocument::load(&mended(&file).unwrap()).is_ok());
    }

    #[test]
    fn files_that_say_all_are_left_as_they_are() {
        assert!(matches!(mended(FILE).unwrap(), Cow::Borrowed(_)));
        assert!(matches!(mended(b"%PDF-1.4").unwrap(), Cow::Borrowed(_)));
        assert!(Key::of(b"%PDF-1.4").unwrap().is_none());
    }
}
