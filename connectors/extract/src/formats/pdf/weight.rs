//! What a file would unpack to, looked at before the parser of pages unpacks it.
//!
//! That parser keeps every operation of a page in memory, and goes into arrays within arrays without a bound.

use std::collections::{HashMap, HashSet};
use std::io::{self, Read};

use flate2::read::ZlibDecoder;
use unpdf::parser::raw::stream::decompress;
use unpdf::parser::raw::{PdfDict, PdfObject, PdfStream, RawDocument};

use super::content::is_deep;
use super::facts::entry;
use super::images::{content, painted_names, resources};
use super::starts::id_before;
use crate::ExtractError;
use crate::reading::Reading;
use crate::reason::Reason;

/// A stream of a page that unpacks to this, and to so many times itself, is no page.
const SUSPICIOUS_BYTES: u64 = 16 << 20;
const SUSPICIOUS_RATIO: u64 = 100;

/// Content of one page in bytes, with the forms in it, from which on it is not laid out. What is nested too deep
/// counts as that much.
pub(super) const HEAVY: u64 = 24 << 20;

/// Forms within forms; what is deeper, or within itself, counts as too much.
const MOST_FORMS: usize = 12;

/// Unpacks all streams that are no pictures, and keeps nothing of them.
///
/// # Errors
///
/// `bomb` if they are out of proportion.
pub(super) fn check_streams(
    bytes: &[u8],
    file: &RawDocument,
    reading: &mut Reading<'_>,
) -> Result<(), ExtractError> {
    // Streams stand in the file as they are, each behind its number; tables of numbers may lie.
    let mut known = HashSet::new();
    for id in memchr::memmem::find_iter(bytes, b"obj").filter_map(|at| id_before(&bytes[..at])) {
        let stream = file.get_object(id).and_then(PdfObject::as_stream);
        let Some(stream) = stream.filter(|stream| !is_picture(file, stream)) else {
            continue;
        };
        if !known.insert(id) {
            continue;
        }
        let unpacked = unpacked_size(file, stream);
        let packed = stream.raw_data.len() as u64;
        if unpacked > SUSPICIOUS_BYTES && unpacked / SUSPICIOUS_RATIO > packed {
            let message = format!("a stream of {packed} bytes unpacks to more than {unpacked}");
            return Err(ExtractError::new(Reason::Bomb, message));
        }
        reading.unpacked(unpacked.saturating_sub(packed))?;
    }
    Ok(())
}

fn is_picture(file: &RawDocument, stream: &PdfStream) -> bool {
    let kind = entry(file, &stream.dict, b"Subtype").and_then(PdfObject::as_name);
    kind == Some(b"Image")
}

/// Returns what a stream unpacks to, in bytes, up to a gibibyte; of other packings than Flate what it is packed.
fn unpacked_size(file: &RawDocument, stream: &PdfStream) -> u64 {
    let filters = match entry(file, &stream.dict, b"Filter") {
        Some(PdfObject::Array(filters)) => filters.as_slice(),
        Some(filter) => std::slice::from_ref(filter),
        None => &[],
    };
    let is_flate = |filter: &&PdfObject| {
        matches!(file.resolve(filter).as_name(), Some(b"FlateDecode" | b"Fl"))
    };
    let layers = filters.iter().take_while(is_flate).take(4).count();
    let mut reader: Box<dyn Read + '_> = Box::new(stream.raw_data.as_slice());
    for _ in 0..layers {
        reader = Box::new(ZlibDecoder::new(reader));
    }
    count(reader.take(1 << 30))
}

fn count(mut reader: impl Read) -> u64 {
    let mut buffer = vec![0; 64 << 10];
    let mut all = 0;
    // What is damaged ends where it is damaged.
    while let Ok(read) = read(&mut reader, &mut buffer)
        && read > 0
    {
        all += read as u64;
    }
    all
}

fn read(reader: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    reader.read(buffer)
}

/// How many bytes of operations pages come to, their forms painted as often as they are.
pub(super) struct Weights<'d> {
    file: &'d RawDocument,
    forms: HashMap<(u32, u16), u64>,
}

impl<'d> Weights<'d> {
    pub(super) fn new(file: &'d RawDocument) -> Self {
        Self {
            file,
            forms: HashMap::new(),
        }
    }

    pub(super) fn of_page(&mut self, page: &'d PdfDict) -> u64 {
        let content = content(self.file, page);
        self.of_content(&content, resources(self.file, page), 0)
    }

    fn of_content(&mut self, content: &[u8], resources: Option<&'d PdfDict>, depth: usize) -> u64 {
        let mut weight = content.len() as u64;
        if is_deep(content) {
            weight = weight.saturating_add(HEAVY + 1);
        }
        let file = self.file;
        let objects = resources
            .and_then(|resources| entry(file, resources, b"XObject"))
            .and_then(PdfObject::as_dict);
        let Some(objects) = objects else {
            return weight;
        };
        for name in painted_names(content) {
            if weight > HEAVY {
                break;
            }
            let id = objects.get(&name).and_then(PdfObject::as_reference);
            weight = weight.saturating_add(id.map_or(0, |id| self.of_form(id, resources, depth)));
        }
        weight
    }

    fn of_form(&mut self, id: (u32, u16), outer: Option<&'d PdfDict>, depth: usize) -> u64 {
        if let Some(weight) = self.forms.get(&id) {
            return *weight;
        }
        let file = self.file;
        let stream = file.get_object(id).and_then(PdfObject::as_stream);
        let Some(stream) = stream.filter(|stream| !is_picture(file, stream)) else {
            return 0;
        };
        // How often the parser paints one that paints itself, through others, grows with each of them.
        if depth >= MOST_FORMS {
            return HEAVY + 1;
        }
        self.forms.insert(id, HEAVY + 1);
        let own = entry(file, &stream.dict, b"Resources").and_then(PdfObject::as_dict);
        let content = decompress(stream).unwrap_or_default();
        let weight = self.of_content(&content, own.or(outer), depth + 1);
        self.forms.insert(id, weight);
        weight
    }
}

#[cfg(test)]
mod tests {
    use unpdf::parser::raw::RawDocument;

    use super::{HEAVY, Weights};

    /// Which of the pages are heavy: each is given by its content, as the forms are.
    fn heavy(pages: &[&str], forms: &[String]) -> Vec<bool> {
        let stream = |number: usize, kind: &str, content: &str| {
            let length = content.len();
            format!(
                "{number} 0 obj <<{kind}/Length {length}>>stream\n{content}\nendstream endobj\n"
            )
        };
        let names: String = (0..forms.len())
            .map(|form| format!("/F{form} {} 0 R", form + 100))
            .collect();
        let mut file = format!(
            "%PDF-1.4\n1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj\n3 0 obj <</XObject<<{names}>>>> endobj\n"
        );
        for (number, content) in forms.iter().enumerate() {
            file += &stream(number + 100, "/Subtype/Form", content);
        }
        for (number, content) in pages.iter().enumerate() {
            file += &stream(number + 50, "", content);
            let page = number + 10;
            let contents = number + 50;
            file += &format!(
                "{page} 0 obj <</Type/Page/Resources 3 0 R/Contents {contents} 0 R>> endobj\n"
            );
        }
        let file = RawDocument::load(file.as_bytes()).unwrap();
        let mut weights = Weights::new(&file);
        let pages = (0..pages.len() as u32).map(|page| file.get_dict((page + 10, 0)).unwrap());
        pages.map(|page| weights.of_page(page) > HEAVY).collect()
    }

    #[test]
    fn forms_that_paint_each_other_in_circles_are_heavy() {
        let all: String = (0..12).map(|form| format!("/F{form} Do ")).collect();
        assert_eq!(heavy(&["/F0 Do ", "BT ET "], &vec![all; 12]), [true, false]);
        assert_eq!(heavy(&["/F0 Do "], &["/F0 Do ".to_owned()]), [true]);
    }

    #[test]
    fn forms_deeper_than_anybody_writes_are_heavy_and_what_they_paint_is_weighed_where_it_is_not() {
        let chain: Vec<String> = (1..=20)
            .map(|next| format!("/F{next} Do /F{next} Do "))
            .collect();
        let last = " ".repeat(1000);
        let forms: Vec<String> = chain.into_iter().chain([last]).collect();
        let many = "/F20 Do ".repeat(100_000);
        assert_eq!(
            heavy(&["/F0 Do ", "/F20 Do ", &many], &forms),
            [true, false, true]
        );
    }

    #[test]
    fn stream_that_a_page_names_again_and_again_makes_it_heavy_and_is_not_joined_without_end() {
        let stream = " ".repeat(1 << 20);
        let file = format!(
            "%PDF-1.4\n1 0 obj <</Type/Catalog>> endobj\n4 0 obj <</Type/Page/Contents[{}]>> endobj\n\
             5 0 obj <</Length {}>>stream\n{stream}\nendstream endobj\n",
            "5 0 R ".repeat(1000),
            stream.len()
        );
        let file = RawDocument::load(file.as_bytes()).unwrap();
        let page = file.get_dict((4, 0)).unwrap();
        assert!(Weights::new(&file).of_page(page) > HEAVY);
        assert!(super::content(&file, page).len() < 200 << 20);
    }
}
