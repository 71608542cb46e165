//! From a file to the texts of its items: what was extracted gets its name, and its pictures get places
//! where a runner finds them (connector contract §14.1).

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dpe_connector::content::{BlobSource, Page};
use dpe_connector::{Item, encode_segments};
use dpe_extract::{ExtractError, Extraction, Reason, WHOLE_INPUT, picture_type};
use serde_json::value::RawValue;

use crate::beside::{NEIGHBOUR_BYTES, Neighbour, Neighbours, Shown, show_neighbours};
use crate::content::Limits;
use crate::extractor::Extractor;
use crate::handles::Handles;
use crate::names::file_name;
use crate::report::shown;
use crate::trouble::Failure;

/// Longest bytes that travel inside an item.
const INLINE_BYTES: u64 = NEIGHBOUR_BYTES;

/// Most bytes of all pictures that travel inside the items of one document: it is in memory as a whole, and
/// each page of it has to fit a message.
const INLINE_BYTES_OF_A_DOCUMENT: u64 = 1 << 20;

/// Makes the documents of one round.
#[derive(Debug)]
pub struct Maker<H> {
    /// How files are extracted.
    pub extractor: Arc<Extractor>,
    /// How large files and pictures may be.
    pub limits: Limits,
    /// Longest text of an item, in bytes.
    pub item_limit: usize,
    /// Where it is noted what may be asked for.
    pub handles: Arc<Handles<H>>,
}

/// A file of which as much is at hand as is [`wanted`](crate::wanted).
#[derive(Clone, Copy, Debug)]
pub struct Input<'f> {
    /// Relative to the root.
    pub path: &'f [u8],
    /// The whole, or its beginning.
    pub bytes: &'f [u8],
    /// How many bytes the whole has.
    pub size: u64,
}

/// A document, ready to be said.
#[derive(Debug)]
pub struct Made {
    /// The texts of its items, each within the limit.
    pub texts: Vec<Box<RawValue>>,
    /// What people should know of the file.
    pub notes: Vec<String>,
    /// Whether it speaks of pictures in files beside it, be they there or not.
    pub shows_neighbours: bool,
}

impl Made {
    /// Returns how many bytes it occupies until it is said.
    pub fn weight(&self) -> u64 {
        let texts = self.texts.iter().map(|text| text.get().len());
        let notes = self.notes.iter().map(String::len);
        texts.chain(notes).sum::<usize>() as u64
    }
}

/// Why a file gives no document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoDocument {
    /// Nobody can make one of these bytes.
    Refused(ExtractError),
    /// It could be made, but not said.
    Failed(Failure),
}

impl From<ExtractError> for NoDocument {
    fn from(error: ExtractError) -> Self {
        Self::Refused(error)
    }
}

impl<H: Clone> Maker<H> {
    /// Returns the document of a file, with the pictures that it shows of its neighbours. If it takes a handle of the
    /// file itself, `give_whole` gives that.
    ///
    /// # Errors
    ///
    /// Why it gives none.
    pub fn document(
        &self,
        file_uri: String,
        input: Input<'_>,
        neighbours: &impl Neighbours<H>,
        give_whole: impl Fn() -> String,
    ) -> Result<Made, NoDocument> {
        let extraction = self.extractor.extract(file_name(input.path), input.bytes)?;
        self.of_extraction(file_uri, input, extraction, neighbours, give_whole)
    }

    fn of_extraction(
        &self,
        file_uri: String,
        input: Input<'_>,
        mut extraction: Extraction,
        neighbours: &impl Neighbours<H>,
        give_whole: impl Fn() -> String,
    ) -> Result<Made, NoDocument> {
        let mut room = INLINE_BYTES_OF_A_DOCUMENT.min(self.item_limit as u64 / 4);
        let places = self.places(&extraction, &mut room)?;
        for blob in blobs(&mut extraction.pages) {
            *blob = match number(blob).map(|number| places.get(number)) {
                Some(Some(place)) => place.clone(),
                Some(None) => return Err(no_such_picture().into()),
                None => whole_bytes(input, &give_whole),
            };
        }
        let shows_neighbours = self.show(input.path, &mut extraction, neighbours, &mut room);
        let item = Item::document(file_uri, extraction.head, extraction.pages);
        Ok(Made {
            texts: encode_segments(&item, self.item_limit),
            notes: extraction.notes,
            shows_neighbours,
        })
    }

    /// Decides for each picture whether it travels in the item or waits behind a handle.
    fn places(
        &self,
        extraction: &Extraction,
        room: &mut u64,
    ) -> Result<Vec<BlobSource>, NoDocument> {
        let mut uses = vec![0_usize; extraction.blobs.len()];
        let elements = extraction.pages.iter().flat_map(|page| &page.elements);
        for number in elements.filter_map(|element| number(element.blob.as_ref()?)) {
            if let Some(uses) = uses.get_mut(number) {
                *uses += 1;
            }
        }
        let pictures = extraction.blobs.iter().zip(uses);
        pictures
            .map(|(bytes, uses)| {
                if travels(bytes.len() as u64, uses, room) {
                    return Ok(inline(bytes));
                }
                self.kept(bytes)
            })
            .collect()
    }

    /// Shows the pictures beside a text, and returns whether it speaks of any.
    fn show(
        &self,
        path: &[u8],
        extraction: &mut Extraction,
        neighbours: &impl Neighbours<H>,
        room: &mut u64,
    ) -> bool {
        let (file_type, notes) = (&extraction.head.file_type, &mut extraction.notes);
        show_neighbours(file_type, path, &mut extraction.pages, |path, uses| {
            let found = neighbours.look(path)?;
            let mime_type = picture_type(file_name(path), &found.head)?;
            let (size, most) = (found.size, self.limits.blob);
            if size > most {
                let path = shown(path);
                notes.push(format!(
                    "the picture {path} beside it has {size} bytes, more than the remote takes in one blob ({most})"
                ));
                return None;
            }
            let blob = self.neighbour(found, uses, room);
            Some(Shown { blob, mime_type })
        })
    }

    fn neighbour(&self, found: Neighbour<H>, uses: usize, room: &mut u64) -> BlobSource {
        let is_at_hand = found.head.len() as u64 == found.size;
        if is_at_hand && travels(found.size, uses, room) {
            return inline(&found.head);
        }
        BlobSource::Handle {
            handle: self.handles.give(found.name, found.held),
            size: Some(found.size),
        }
    }

    fn kept(&self, bytes: &[u8]) -> Result<BlobSource, NoDocument> {
        let size = bytes.len() as u64;
        let most = self.limits.blob;
        if size > most {
            let message = format!(
                "a picture in it has {size} bytes, more than the remote takes in one blob ({most})"
            );
            let reason = Reason::TooLarge;
            return Err(ExtractError { reason, message }.into());
        }
        let handle = self.handles.keep(bytes).map_err(|why| {
            let why = format!("its pictures cannot be kept for the runner: {why}");
            NoDocument::Failed(Failure::of_source(why))
        })?;
        Ok(BlobSource::Handle {
            handle,
            size: Some(size),
        })
    }
}

/// Whether a picture travels in the item, and takes its room there. What comes again and again is said once only
/// behind a handle.
fn travels(size: u64, uses: usize, room: &mut u64) -> bool {
    let fits = uses <= 1 && size <= INLINE_BYTES.min(*room);
    if fits {
        *room -= size;
    }
    fits
}

fn blobs(pages: &mut [Page]) -> impl Iterator<Item = &mut BlobSource> {
    let elements = pages.iter_mut().flat_map(|page| &mut page.elements);
    elements.filter_map(|element| element.blob.as_mut())
}

/// Returns the number of the picture that an element refers to; none if that is the file itself.
fn number(blob: &BlobSource) -> Option<usize> {
    match blob {
        BlobSource::Handle { handle, .. } if handle != WHOLE_INPUT => {
            Some(handle.parse().unwrap_or(usize::MAX))
        }
        _ => None,
    }
}

fn no_such_picture() -> ExtractError {
    ExtractError {
        reason: Reason::ParserFailed,
        message: "the parser speaks of a picture that it did not give".to_owned(),
    }
}

/// Returns where the bytes of the file itself are: in the item, if they are few and all at hand, or
/// behind a handle.
fn whole_bytes(input: Input<'_>, give: impl Fn() -> String) -> BlobSource {
    if input.size <= INLINE_BYTES && input.bytes.len() as u64 <= INLINE_BYTES {
        return inline(input.bytes);
    }
    BlobSource::Handle {
        handle: give(),
        size: Some(input.size),
    }
}

fn inline(bytes: &[u8]) -> BlobSource {
    BlobSource::Inline {
        inline: STANDARD.encode(bytes),
    }
}

#[cfg(test)]
mod tests {
    use dpe_connector::Item;
    use dpe_connector::content::{Category, DocumentHead, Element};
    use dpe_connector::read_blob::ReadBlobParams;

    use super::*;

    /// Nothing lies beside anything.
    struct Nobody;

    impl Neighbours<()> for Nobody {
        fn look(&self, path: &[u8]) -> Option<Neighbour<()>> {
            panic!("{} was looked for", shown(path));
        }
    }

    fn maker(item_limit: usize) -> Maker<()> {
        Maker {
            extractor: Arc::default(),
            limits: Limits {
                file: u64::MAX,
                blob: 1 << 20,
            },
            item_limit,
            handles: Arc::new(Handles::of_round(0)),
        }
    }

    /// Speaks of the pictures of these numbers, one on each page.
    fn extraction(pictures: &[Vec<u8>], spoken_of: &[&str]) -> Extraction {
        let page = |handle: &&str| {
            let mut element = Element::empty(Category::Image);
            let (handle, size) = ((*handle).to_owned(), None);
            element.blob = Some(BlobSource::Handle { handle, size });
            Page {
                elements: vec![element],
                ..Page::default()
            }
        };
        Extraction {
            head: DocumentHead::default(),
            pages: spoken_of.iter().map(page).collect(),
            blobs: pictures.to_vec(),
            notes: Vec::new(),
        }
    }

    fn sources(maker: &Maker<()>, extraction: Extraction) -> Result<Vec<BlobSource>, NoDocument> {
        let input = Input {
            path: b"a.docx",
            bytes: b"whole",
            size: 5,
        };
        let uri = "x:y".to_owned();
        let made = maker.of_extraction(uri, input, extraction, &Nobody, String::new)?;
        let items = made.texts.iter().map(|text| {
            assert!(text.get().len() <= maker.item_limit);
            serde_json::from_str(text.get()).unwrap()
        });
        let pages = items.flat_map(|item| match item {
            Item::Document(segment) => segment.pages,
            other => panic!("expected a document, found {other:?}"),
        });
        let elements = pages.flat_map(|page| page.elements);
        Ok(elements.filter_map(|element| element.blob).collect())
    }

    /// Returns all bytes of a source, in answers of a few.
    fn bytes(maker: &Maker<()>, source: &BlobSource) -> Vec<u8> {
        let (handle, size) = match source {
            BlobSource::Inline { inline } => return STANDARD.decode(inline).unwrap(),
            BlobSource::Handle { handle, size } => (handle, size.unwrap()),
        };
        let mut bytes = Vec::new();
        loop {
            let wanted = ReadBlobParams {
                handle: handle.clone(),
                offset: bytes.len() as u64,
                max_bytes: 30_000,
            };
            let chunk = maker.handles.read(&wanted, |()| unreachable!()).unwrap();
            bytes.extend(STANDARD.decode(&chunk.data).unwrap());
            if chunk.eof {
                assert_eq!(bytes.len() as u64, size);
                return bytes;
            }
        }
    }

    fn is_inline(source: &BlobSource) -> bool {
        matches!(source, BlobSource::Inline { .. })
    }

    #[test]
    fn a_small_picture_travels_in_the_item_and_a_large_one_waits() {
        let maker = maker(32 << 20);
        let pictures = [vec![1; 64 << 10], vec![2; (64 << 10) + 1], Vec::new()];
        let found = sources(&maker, extraction(&pictures, &["0", "1", "2", "input"])).unwrap();
        let inline: Vec<bool> = found.iter().map(is_inline).collect();
        assert_eq!(inline, [true, false, true, true]);
        for (source, picture) in found.iter().zip(&pictures) {
            assert!(bytes(&maker, source) == *picture);
        }
        assert_eq!(bytes(&maker, &found[3]), b"whole");
    }

    #[test]
    fn many_small_pictures_do_not_make_a_large_item() {
        let maker = maker(32 << 20);
        let pictures: Vec<Vec<u8>> = (0..500_u16)
            .map(|number| number.to_be_bytes().repeat(30 << 10))
            .collect();
        let names: Vec<String> = (0..500).map(|number: usize| number.to_string()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let found = sources(&maker, extraction(&pictures, &names)).unwrap();
        assert_eq!(found.iter().filter(|source| is_inline(source)).count(), 17);
        for (source, picture) in found.iter().zip(&pictures) {
            assert!(bytes(&maker, source) == *picture);
        }
    }

    #[test]
    fn what_comes_again_has_one_handle() {
        let maker = maker(32 << 20);
        let logo = [b"logo".to_vec()];
        let found = sources(&maker, extraction(&logo, &["0", "0"])).unwrap();
        assert!(!is_inline(&found[0]));
        assert_eq!(found[0], found[1]);
        assert_eq!(bytes(&maker, &found[0]), b"logo");
    }

    #[test]
    fn pictures_leave_room_in_small_messages() {
        let maker = maker(16 << 10);
        let pictures = [vec![1; 60 << 10], vec![2; 3 << 10], vec![3; 3 << 10]];
        let found = sources(&maker, extraction(&pictures, &["0", "1", "2"])).unwrap();
        let inline: Vec<bool> = found.iter().map(is_inline).collect();
        assert_eq!(inline, [false, true, false]);
    }

    #[test]
    fn a_picture_that_the_remote_does_not_take_costs_the_document() {
        let pictures = [vec![1; (1 << 20) + 1]];
        let refused = sources(&maker(32 << 20), extraction(&pictures, &["0"])).unwrap_err();
        let NoDocument::Refused(error) = refused else {
            panic!("expected a reason, found {refused:?}");
        };
        assert_eq!(error.reason, Reason::TooLarge);
    }

    #[test]
    fn a_picture_that_is_not_there_is_a_defect_of_the_parser() {
        let refused = sources(&maker(32 << 20), extraction(&[], &["0"])).unwrap_err();
        assert_eq!(refused, NoDocument::Refused(no_such_picture()));
    }
}
