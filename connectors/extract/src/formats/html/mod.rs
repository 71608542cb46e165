//! HTML and XHTML: the text of the page in document order.
//!
//! Nothing is dropped for being boilerplate: navigation and page furniture are marked `Header` and
//! `Footer`. Scripts, styles and templates are no text. Addresses stay as written.

mod charset;
mod dom;
mod read;
mod region;
mod sink;
mod table;
mod tags;
mod xhtml;

use std::borrow::Cow;

use dpe_connector::content::DocumentHead;

use crate::addressed::{self, Addressed, Beside};
use crate::elements::VALUE_BYTES;
use crate::flow::{Flow, title};
use crate::format::Format;
use crate::formats::head;
use crate::inline::Picture;
use crate::reading::Reading;
use crate::{Document, ExtractError};

use dom::{Data, Dom, Excessive, Id, Step};

/// Reads a page. The title is that of its `<title>`; author, description, keywords and language are
/// metadata where the page declares them.
///
/// # Errors
///
/// `damaged` if the text is not in the encoding it declares, or makes a tree out of proportion.
pub(crate) fn read(
    format: Format,
    bytes: &[u8],
    reading: &mut Reading<'_>,
) -> Result<Document, ExtractError> {
    read_beside(format, bytes, &mut addressed::nothing, reading)
}

/// As [`read`], of a page whose pictures may lie beside it.
///
/// # Errors
///
/// As there.
pub(super) fn read_beside<'p>(
    format: Format,
    bytes: &[u8],
    beside: &'p mut Beside<'p>,
    reading: &'p mut Reading<'_>,
) -> Result<Document, ExtractError> {
    let text = charset::text(bytes, reading)?;
    let text = match text.starts_with("<?xml") {
        true => Cow::Owned(xhtml::as_html(&text).into_owned()),
        false => text,
    };
    page(&text, format, &mut Addressed::new(reading, beside))
}

/// As [`page`], of a page that is XML.
///
/// # Errors
///
/// As there.
pub(crate) fn xml_page(
    text: &str,
    format: Format,
    pictures: &mut Addressed<'_, '_>,
) -> Result<Document, ExtractError> {
    page(&xhtml::as_html(text), format, pictures)
}

/// Reads a page that is part of another file, whose pictures may lie beside it.
///
/// # Errors
///
/// `damaged` if it makes a tree out of proportion.
pub(crate) fn page(
    text: &str,
    format: Format,
    pictures: &mut Addressed<'_, '_>,
) -> Result<Document, ExtractError> {
    let dom = Dom::of_document(text).map_err(|Excessive| {
        ExtractError::damaged(
            "the markup is out of proportion: too many nodes for its text, or attributes for a tag",
        )
    })?;
    let mut head = head(format);
    declare(&dom, &mut head);
    let mut flow = Flow::of(pictures.made());
    read::blocks(&dom, &mut flow, pictures);
    let (_, elements) = flow.finish();
    Ok(Document::of_elements(head, elements))
}

/// Returns the text of a page that is part of another file, in the encoding that it declares if it is not
/// known otherwise.
///
/// # Errors
///
/// `damaged` if it is no text.
pub(crate) fn text<'b>(
    bytes: &'b [u8],
    reading: &mut Reading<'_>,
) -> Result<Cow<'b, str>, ExtractError> {
    charset::text(bytes, reading)
}

/// Whether a text that may be either is HTML: it has a tag that texts are marked up with.
pub(crate) fn is_markup(text: &str) -> bool {
    const TAGS: [&str; 18] = [
        "a",
        "b",
        "blockquote",
        "br",
        "div",
        "em",
        "font",
        "h1",
        "h2",
        "h3",
        "i",
        "li",
        "ol",
        "p",
        "span",
        "strong",
        "u",
        "ul",
    ];
    memchr::memchr_iter(b'<', text.as_bytes()).any(|at| {
        let tag = text[at + 1..].trim_start_matches('/');
        let end = tag.find(|character: char| !character.is_ascii_alphanumeric());
        let name = end.and_then(|end| tag.get(..end)).unwrap_or_default();
        TAGS.iter().any(|known| name.eq_ignore_ascii_case(known))
    })
}

/// Returns the words of a page, with white space between blocks; none if it cannot be read.
pub(crate) fn words(page: &str) -> String {
    let mut words = String::new();
    let Ok(dom) = Dom::of_document(page) else {
        return words;
    };
    let mut walk = dom.walk(dom.root());
    while let Some(step) = walk.next() {
        let (Step::Enter(id) | Step::Leave(id)) = step;
        match (dom.data(id), dom.tag(id).map(read::role), step) {
            (Data::Text(text), _, Step::Enter(_)) => words.push_str(text),
            (_, Some(read::Role::Dropped), Step::Enter(_)) => walk.pass_over(id),
            (_, Some(read::Role::Block), _) => words.push(' '),
            (_, _, Step::Enter(_)) if dom.tag(id) == Some("br") => words.push(' '),
            _ => {}
        }
    }
    words
}

/// Adds the blocks of a piece of HTML inside another format. `false` if it could not be read.
pub(super) fn fragment(html: &str, flow: &mut Flow, pictures: &mut Addressed<'_, '_>) -> bool {
    match Dom::of_fragment(html) {
        Ok(dom) => read::blocks(&dom, flow, pictures),
        Err(Excessive) => return false,
    }
    true
}

/// Returns the picture that an `<img>` tag shows, with its stand-in text.
pub(super) fn picture(tag: &str, pictures: &mut Addressed<'_, '_>) -> Option<Picture> {
    let dom = Dom::of_fragment(tag).ok()?;
    let image = first(&dom, "img")?;
    Some(read::picture(&dom, image, pictures))
}

/// Returns where an `<a>` tag leads.
pub(super) fn link(tag: &str) -> Option<String> {
    let dom = Dom::of_fragment(tag).ok()?;
    let anchor = first(&dom, "a")?;
    dom.attribute(anchor, "href").map(str::to_owned)
}

fn first(dom: &Dom, tag: &str) -> Option<Id> {
    dom.walk(dom.root()).find_map(|step| match step {
        Step::Enter(id) if dom.tag(id) == Some(tag) => Some(id),
        _ => None,
    })
}

/// Writes what the page says about itself.
fn declare(dom: &Dom, head: &mut DocumentHead) {
    for step in dom.walk(dom.root()) {
        let Step::Enter(id) = step else { continue };
        match dom.tag(id) {
            Some("html") => note(head, "language", dom.attribute(id, "lang")),
            Some("title") if head.title.is_none() => head.title = title(&text_below(dom, id)),
            Some("meta") => {
                let name = dom.attribute(id, "name").unwrap_or_default();
                for known in ["author", "description", "keywords"] {
                    if name.eq_ignore_ascii_case(known) {
                        note(head, known, dom.attribute(id, "content"));
                    }
                }
            }
            Some("body") => return,
            _ => {}
        }
    }
}

fn note(head: &mut DocumentHead, name: &str, value: Option<&str>) {
    if let Some(value) = value.map(str::trim)
        && (1..=VALUE_BYTES).contains(&value.len())
        && !head.doc_metadata.contains_key(name)
    {
        head.doc_metadata.insert(name.to_owned(), value.into());
    }
}

fn text_below(dom: &Dom, root: Id) -> String {
    let mut all = String::new();
    for step in dom.walk(root) {
        if let Step::Enter(id) = step
            && let Data::Text(text) = dom.data(id)
        {
            all.push_str(text);
        }
    }
    all
}
