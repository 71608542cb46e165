//! HTML and XHTML: the text of the page in document order.
//!
//! Nothing is dropped for being boilerplate: navigation and page furniture are marked `Header` and
//! `Footer`. Scripts, styles and templates are no text. Addresses stay as written.

mod charset;
mod dom;
mod read;
mod sink;
mod table;
mod tags;

use dpe_connector::content::DocumentHead;

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
    let text = charset::text(bytes, reading)?;
    let dom = Dom::of_document(&text).map_err(|Excessive| {
        ExtractError::damaged(
            "the markup is out of proportion: too many nodes for its text, or attributes for a tag",
        )
    })?;
    let mut head = head(format);
    declare(&dom, &mut head);
    let mut flow = Flow::default();
    read::blocks(&dom, &mut flow);
    let (_, elements) = flow.finish();
    Ok(Document::of_elements(head, elements))
}

/// Adds the blocks of a piece of HTML inside another format. `false` if it could not be read.
pub(super) fn fragment(html: &str, flow: &mut Flow) -> bool {
    match Dom::of_fragment(html) {
        Ok(dom) => read::blocks(&dom, flow),
        Err(Excessive) => return false,
    }
    true
}

/// Returns the picture that an `<img>` tag shows, with its stand-in text.
pub(super) fn picture(tag: &str) -> Option<Picture> {
    let dom = Dom::of_fragment(tag).ok()?;
    let image = first(&dom, "img")?;
    Some(read::picture(&dom, image))
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
