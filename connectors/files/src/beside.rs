//! Pictures that lie beside a text in files of their own: the document shows them with their bytes.
//!
//! Knows which elements speak of such files, and no file system: a connector finds the files, within its own rules
//! of what is sent.

use std::collections::HashMap;

use dpe_connector::content::{BlobSource, Category, Element, Page};
use dpe_extract::{picture_beside, shows_pictures_beside};

/// Most files that are looked for on behalf of one document.
const MOST_LOOKS: usize = 10_000;

/// How much of the beginning of a [`Neighbour`] is at hand, in bytes.
pub const NEIGHBOUR_BYTES: u64 = 64 << 10;

/// The files of a source, by the paths they have in it.
pub trait Neighbours<H> {
    /// Returns the file at a path below the root, if there is one that the source's own rules send.
    fn look(&self, path: &[u8]) -> Option<Neighbour<H>>;
}

/// A file beside another one.
#[derive(Debug)]
pub struct Neighbour<H> {
    /// Its first [`NEIGHBOUR_BYTES`], or all.
    pub head: Vec<u8>,
    /// How many bytes it has.
    pub size: u64,
    /// The name of its handle, the same as that of its own document.
    pub name: String,
    /// What its handle stands for.
    pub held: H,
}

/// A picture beside a text, as it is delivered.
#[derive(Clone, Debug)]
pub struct Shown {
    /// Where its bytes are.
    pub blob: BlobSource,
    /// Of the bytes.
    pub mime_type: &'static str,
}

/// Gives the pictures of a text at `path` the bytes that `find` finds, seeing the path of each and how often the text
/// shows it; they look then as pictures within a file do. Returns whether the text speaks of any picture beside it,
/// be it there or not.
pub fn show_neighbours(
    file_type: &str,
    path: &[u8],
    pages: &mut [Page],
    mut find: impl FnMut(&[u8], usize) -> Option<Shown>,
) -> bool {
    if !shows_pictures_beside(file_type) {
        return false;
    }
    let elements = || pages.iter().flat_map(|page| &page.elements);
    let mut uses: HashMap<Vec<u8>, usize> = HashMap::new();
    for place in elements().filter_map(|element| place(element, path)) {
        if uses.len() < MOST_LOOKS || uses.contains_key(&place) {
            *uses.entry(place).or_default() += 1;
        }
    }
    let mut known: HashMap<Vec<u8>, Option<Shown>> = HashMap::new();
    for element in pages.iter_mut().flat_map(|page| &mut page.elements) {
        let place = place(element, path);
        let Some((place, uses)) = place.and_then(|place| uses.get_key_value(&place)) else {
            continue;
        };
        let shown = known
            .entry(place.clone())
            .or_insert_with(|| find(place, *uses));
        if let Some(shown) = shown {
            element.blob = Some(shown.blob.clone());
            element.mime_type = Some(shown.mime_type.to_owned());
            element.metadata.remove("url");
        }
    }
    !uses.is_empty()
}

/// Returns the path of the file beside `path` that an element shows.
fn place(element: &Element, path: &[u8]) -> Option<Vec<u8>> {
    let is_open = element.category == Category::Image && element.blob.is_none();
    let address = element.metadata.get("url").filter(|_| is_open)?;
    picture_beside(path, address.as_str()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One page of pictures at these addresses.
    fn page(addresses: &[String]) -> Page {
        let element = |address: &String| {
            let mut element = Element::empty(Category::Image);
            let url = address.as_str().into();
            element.metadata.insert("url".to_owned(), url);
            element
        };
        Page {
            elements: addresses.iter().map(element).collect(),
            ..Page::default()
        }
    }

    fn shown() -> Shown {
        Shown {
            blob: BlobSource::Inline {
                inline: String::new(),
            },
            mime_type: "image/png",
        }
    }

    #[test]
    fn each_file_is_looked_for_once_whatever_addresses_it_has() {
        let addresses = ["a.png", "./a.png", "b.png", "a%2Epng", "http://h/a.png"];
        let mut pages = [page(&addresses.map(str::to_owned))];
        let mut asked = Vec::new();
        let shows = show_neighbours("md", b"d/x.md", &mut pages, |path, uses| {
            asked.push((path.to_vec(), uses));
            path.ends_with(b"a.png").then(shown)
        });
        assert!(shows);
        assert_eq!(asked, [(b"d/a.png".to_vec(), 3), (b"d/b.png".to_vec(), 1)]);
        let elements = pages[0].elements.iter();
        let has_bytes: Vec<bool> = elements.map(|element| element.blob.is_some()).collect();
        assert_eq!(has_bytes, [true, true, false, true, false]);
        for element in &pages[0].elements {
            assert_eq!(element.blob.is_none(), element.metadata.contains_key("url"));
            assert_eq!(element.blob.is_some(), element.mime_type.is_some());
        }
    }

    #[test]
    fn a_document_asks_for_so_many_files_and_no_more() {
        let addresses: Vec<String> = (0..MOST_LOOKS + 5).map(|n| format!("{n}.png")).collect();
        let mut pages = [page(&addresses)];
        let mut asked = 0;
        show_neighbours("md", b"x.md", &mut pages, |_, _| {
            asked += 1;
            None
        });
        assert_eq!(asked, MOST_LOOKS);
    }

    #[test]
    fn what_speaks_of_no_picture_beside_it_asks_for_none() {
        let nobody = |_: &[u8], _| panic!("it was asked");
        let far = ["http://h/a.png", "../a.png", "notes.txt"].map(str::to_owned);
        assert!(!show_neighbours("md", b"x.md", &mut [page(&far)], nobody));
        // What an archive shows lies in it.
        let near = ["a.png".to_owned()];
        assert!(!show_neighbours(
            "zip",
            b"x.zip",
            &mut [page(&near)],
            nobody
        ));
    }
}
