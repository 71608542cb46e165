//! EPUB: each item of the spine is a page, read as HTML (EPUB 3.3 §5, OCF §4).
//!
//! What is in the package and not in the spine (navigation, style sheets, fonts) is not for reading; pictures come
//! where the text shows them. How HTML is read is not known here.

use std::collections::{HashMap, HashSet};

use dpe_connector::content::{Category, DocumentHead, Element, Metadata};
use roxmltree::Node;

use crate::addressed::{Addressed, resolved};
use crate::elements::VALUE_BYTES;
use crate::flow::title;
use crate::format::{Format, format_of_type};
use crate::formats::{head, html};
use crate::inline::Picture;
use crate::package::Package;
use crate::reading::Reading;
use crate::reason::Reason;
use crate::{Document, ExtractError, pages, pictures, times, xml};

/// Algorithms that only keep fonts from being copied (OCF §4.4).
const FONT_ALGORITHMS: [&str; 2] = [
    "http://www.idpf.org/2008/embedding",
    "http://ns.adobe.com/pdf/enc#RC",
];

/// Reads a book.
///
/// # Errors
///
/// `encrypted` if its texts are, `damaged` if it names no text, or none that is there.
pub(crate) fn read(
    format: Format,
    package: &mut Package<'_>,
    reading: &mut Reading<'_>,
) -> Result<Document, ExtractError> {
    let mut head = head(format);
    let items = spine(package, &mut head, reading)?;
    if let Some(locked) = locked(package, reading).find(&items) {
        let message = format!("{locked} is encrypted");
        return Err(ExtractError::new(Reason::Encrypted, message));
    }
    if !items.iter().any(|item| package.has(&item.path)) {
        return Err(ExtractError::damaged(
            "the book names no text that is there",
        ));
    }
    let mut shown = HashMap::new();
    let mut pages = Vec::new();
    for item in &items {
        reading.page()?;
        match chapter(item, package, &mut shown, reading) {
            Ok((name, elements)) => {
                // Programs write the title of the book, or the name of the file, into each text.
                let is_said = |name: &String| {
                    Some(name) != head.title.as_ref() && !item.path.ends_with(name.as_str())
                };
                let name = heading(&elements).or_else(|| name.filter(is_said));
                pages.extend(pages::declared(name, Metadata::new(), elements));
            }
            Err(error) if error.is_fatal() => return Err(error),
            Err(error) => {
                reading.note(error.message);
                pages.extend(pages::declared(None, Metadata::new(), Vec::new()));
            }
        }
    }
    Ok(Document { head, pages })
}

/// An item of the spine.
struct Item {
    path: String,
    media_type: String,
}

/// Returns the items in reading order, and writes what the book says about itself. A book whose package document
/// cannot be read has its texts in the order of the archive.
fn spine(
    package: &mut Package<'_>,
    head: &mut DocumentHead,
    reading: &mut Reading<'_>,
) -> Result<Vec<Item>, ExtractError> {
    match declared_spine(package, head, reading) {
        Ok(items) if !items.is_empty() => Ok(items),
        Err(error) if error.is_fatal() || error.reason == Reason::Encrypted => Err(error),
        _ => {
            reading
                .note("the book names no order of its texts; they are in the order of the archive");
            let texts = package.names().iter().filter(|name| is_text_name(name));
            let item = |path: &String| Item {
                path: path.clone(),
                media_type: String::new(),
            };
            Ok(texts.map(item).collect())
        }
    }
}

fn is_text_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    [".xhtml", ".html", ".htm"]
        .iter()
        .any(|end| name.ends_with(end))
}

fn declared_spine(
    package: &mut Package<'_>,
    head: &mut DocumentHead,
    reading: &mut Reading<'_>,
) -> Result<Vec<Item>, ExtractError> {
    let path = package_document(package, reading)?;
    let bytes = package.needed(&path, reading)?;
    let text = xml::text(&bytes)?;
    let tree = xml::parse(text.trim(), reading)?;
    let root = tree.root_element();
    if let Some(metadata) = root.descendants().find(|node| xml::is(*node, "metadata")) {
        declare(metadata, head);
    }
    let items = root.descendants().filter(|node| xml::is(*node, "item"));
    let manifest: HashMap<&str, Node<'_, '_>> = items
        .filter_map(|item| Some((xml::attribute(item, "id")?, item)))
        .collect();
    let refs = root.descendants().filter(|node| xml::is(*node, "itemref"));
    // Some books point at each section of a text.
    let mut known = HashSet::new();
    let items = refs.filter_map(|item| {
        let item = manifest.get(xml::attribute(item, "idref")?)?;
        let media_type = xml::attribute(*item, "media-type").unwrap_or_default();
        let href = xml::attribute(*item, "href")?;
        let path = resolved(&path, href);
        let is_new = known.insert(path.clone());
        (is_new || !href.contains('#')).then(|| Item {
            path,
            media_type: media_type.to_owned(),
        })
    });
    Ok(items.collect())
}

/// Returns where the package document is.
fn package_document(
    package: &mut Package<'_>,
    reading: &mut Reading<'_>,
) -> Result<String, ExtractError> {
    if let Some(container) = package.part("META-INF/container.xml", reading)?
        && let Ok(text) = xml::text(&container)
        && let Ok(tree) = xml::parse(text.trim(), reading)
        && let Some(path) = tree
            .descendants()
            .filter(|node| xml::is(*node, "rootfile"))
            .find_map(|node| xml::attribute(node, "full-path"))
        && package.has(path)
    {
        return Ok(path.to_owned());
    }
    let mut names = package.names().iter();
    let name = names.find(|name| name.to_ascii_lowercase().ends_with(".opf"));
    name.cloned()
        .ok_or_else(|| ExtractError::damaged("the book has no package document"))
}

/// Writes what the book says about itself.
fn declare(metadata: Node<'_, '_>, head: &mut DocumentHead) {
    let joined = |name| {
        let all: Vec<String> = values(metadata, name).map(|(_, text)| text).collect();
        all.join(", ")
    };
    let first = |name| values(metadata, name).next().map(|(_, text)| text);
    head.title = values(metadata, "title").find_map(|(_, text)| title(&text));
    for (name, value) in [
        ("author", Some(joined("creator"))),
        ("description", first("description").map(without_markup)),
        ("language", first("language")),
        ("publisher", first("publisher")),
        ("subject", Some(joined("subject"))),
        ("created", created(metadata)),
        ("modified", modified(metadata)),
    ] {
        let value = value.unwrap_or_default();
        if (1..=VALUE_BYTES).contains(&value.len()) {
            head.doc_metadata.insert(name.to_owned(), value.into());
        }
    }
}

/// Returns the values of a name that have words, with their nodes.
fn values<'t>(
    metadata: Node<'t, 't>,
    name: &'static str,
) -> impl Iterator<Item = (Node<'t, 't>, String)> {
    let nodes = metadata
        .descendants()
        .filter(move |node| xml::is(*node, name));
    nodes.filter_map(|node| {
        let parts = node.descendants().filter(Node::is_text);
        let text: String = parts.filter_map(|part| part.text()).collect();
        let text = text.trim().to_owned();
        (!text.is_empty()).then_some((node, text))
    })
}

fn created(metadata: Node<'_, '_>) -> Option<String> {
    let of_publication = ["publication", "creation", "original-publication"];
    date(metadata, &[]).or_else(|| date(metadata, &of_publication))
}

fn modified(metadata: Node<'_, '_>) -> Option<String> {
    let is_modified = |node| xml::attribute(node, "property") == Some("dcterms:modified");
    let mut metas = values(metadata, "meta").filter(|(node, _)| is_modified(*node));
    let declared = metas.find_map(|(_, text)| times::rfc3339(&text));
    declared.or_else(|| date(metadata, &["modification"]))
}

/// Returns the date of one of some events; of no event, if there are none.
fn date(metadata: Node<'_, '_>, wanted: &[&str]) -> Option<String> {
    let mut dates =
        values(metadata, "date").filter(|(node, _)| match xml::attribute(*node, "event") {
            None => wanted.is_empty(),
            Some(event) => wanted.contains(&event),
        });
    dates.find_map(|(_, text)| times::rfc3339(&text))
}

/// Returns the words of a description that programs for books wrote as HTML.
fn without_markup(description: String) -> String {
    match html::is_markup(&description) {
        true => html::words(&description)
            .split_ascii_whitespace()
            .collect::<Vec<_>>()
            .join(" "),
        false => description,
    }
}

/// Paths of entries that are encrypted otherwise than fonts are.
struct Locked(Vec<String>);

impl Locked {
    fn find(&self, items: &[Item]) -> Option<&str> {
        let mut paths = self.0.iter();
        let path = paths.find(|path| items.iter().any(|item| item.path == **path));
        path.map(String::as_str)
    }
}

fn locked(package: &mut Package<'_>, reading: &mut Reading<'_>) -> Locked {
    let mut paths = Vec::new();
    if let Ok(Some(bytes)) = package.part("META-INF/encryption.xml", reading)
        && let Ok(text) = xml::text(&bytes)
        && let Ok(tree) = xml::parse(text.trim(), reading)
    {
        let data = tree
            .descendants()
            .filter(|node| xml::is(*node, "EncryptedData"));
        for data in data {
            let find = |element: &str, name: &str| {
                let mut nodes = data.descendants().filter(|node| xml::is(*node, element));
                nodes.find_map(|node| xml::attribute(node, name))
            };
            let algorithm = find("EncryptionMethod", "Algorithm").unwrap_or_default();
            if !FONT_ALGORITHMS.contains(&algorithm)
                && let Some(uri) = find("CipherReference", "URI")
            {
                paths.push(resolved("", uri));
            }
        }
    }
    Locked(paths)
}

/// Reads one item: its title and its elements.
fn chapter(
    item: &Item,
    package: &mut Package<'_>,
    shown: &mut HashMap<String, Option<Picture>>,
    reading: &mut Reading<'_>,
) -> Result<(Option<String>, Vec<Element>), ExtractError> {
    let bytes = package.needed(&item.path, reading)?;
    if item.media_type.starts_with("image/") {
        let picture = Element {
            blob: Some(reading.blob(bytes)),
            mime_type: Some(item.media_type.clone()),
            ..Element::empty(Category::Image)
        };
        return Ok((None, vec![picture]));
    }
    let text = html::text(&bytes, reading)?;
    let format = format_of_type("html").expect("there is a row for it");
    let mut beside = |url: &str, reading: &mut Reading<'_>| {
        let path = resolved(&item.path, url);
        let known = shown.entry(path);
        let load = |path: &String| picture(package, path, reading);
        known.or_insert_with_key(load).clone()
    };
    let mut pictures = Addressed::new(reading, &mut beside);
    let document = html::xml_page(&text, format, &mut pictures)?;
    let elements = document.pages.into_iter().flat_map(|page| page.elements);
    Ok((document.head.title, elements.collect()))
}

fn picture(package: &mut Package<'_>, path: &str, reading: &mut Reading<'_>) -> Option<Picture> {
    // A picture that cannot be read costs no chapter; one too many will be noticed with the next part.
    let bytes = package.part(path, reading).ok()??;
    let mime_type = pictures::media_type(&bytes, path);
    Some(Picture::of_bytes(reading.blob(bytes), mime_type))
}

/// Returns the first heading of a page as its title.
fn heading(elements: &[Element]) -> Option<String> {
    let mut headings = elements
        .iter()
        .filter(|element| element.category == Category::Title);
    title(headings.next()?.text.as_deref()?)
}

#[cfg(test)]
mod tests {
    use super::without_markup;

    #[test]
    fn description_in_markup_is_its_words() {
        let of = |description: &str| without_markup(description.to_owned());
        assert_eq!(
            of("<div><p>A <b>guide</b></p>\n<p>to fish &amp; chips</p></div>"),
            "A guide to fish & chips"
        );
        assert_eq!(
            of("a  List<String> &amp; 1 < 2"),
            "a  List<String> &amp; 1 < 2"
        );
    }
}
