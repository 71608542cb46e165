//! What each tag means: a walk over the tree that tells the flow of blocks.

use dpe_connector::content::Category;

use super::dom::{Data, Dom, Id, Step};
use super::region::{self, Region};
use super::table;
use crate::addressed::Addressed;
use crate::flow::{Container, Flow};
use crate::inline::{Flat, Inline, Picture};

/// Adds everything readable in a tree.
pub(super) fn blocks(dom: &Dom, flow: &mut Flow, pictures: &mut Addressed<'_, '_>) {
    let mut reader = Reader {
        dom,
        flow,
        pictures,
        inline: Inline::default(),
        regions: Vec::new(),
    };
    let mut walk = dom.walk(dom.root());
    while let Some(step) = walk.next() {
        match step {
            Step::Enter(id) => {
                if !reader.enter(id) {
                    walk.pass_over(id);
                }
            }
            Step::Leave(id) => reader.leave(id),
        }
    }
    reader.flush();
}

/// Returns the picture of an `<img>`, its stand-in text in `alt`.
pub(super) fn picture(dom: &Dom, id: Id, pictures: &mut Addressed<'_, '_>) -> Picture {
    let attribute = |name| {
        dom.attribute(id, name)
            .map(str::trim)
            .filter(|value| !value.is_empty())
    };
    Picture {
        alt: attribute("alt").unwrap_or_default().to_owned(),
        title: attribute("title").map(str::to_owned),
        ..pictures.picture(attribute("src").unwrap_or_default())
    }
}

/// What a tag is to the text around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Not for reading.
    Dropped,
    /// Part of a line.
    Inline,
    /// Ends the text before it and begins another.
    Block,
}

/// Returns the role of a tag. Tags nobody knows are inline, as in a browser.
pub(super) fn role(tag: &str) -> Role {
    match tag {
        "script" | "style" | "template" | "head" | "title" | "meta" | "link" | "base"
        | "iframe" | "noembed" | "noframes" | "datalist" => Role::Dropped,
        "address" | "article" | "aside" | "blockquote" | "body" | "caption" | "center" | "dd"
        | "details" | "dialog" | "dir" | "div" | "dl" | "dt" | "fieldset" | "figcaption"
        | "figure" | "footer" | "form" | "frameset" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6"
        | "header" | "hgroup" | "hr" | "html" | "legend" | "li" | "listing" | "main" | "menu"
        | "nav" | "noscript" | "ol" | "optgroup" | "p" | "plaintext" | "pre" | "search"
        | "section" | "select" | "summary" | "table" | "tbody" | "td" | "textarea" | "tfoot"
        | "th" | "thead" | "tr" | "ul" | "xmp" => Role::Block,
        _ => Role::Inline,
    }
}

/// Adds an inline tag's opening to a text.
pub(super) fn enter_inline(
    dom: &Dom,
    id: Id,
    tag: &str,
    inline: &mut Inline,
    pictures: &mut Addressed<'_, '_>,
) {
    match tag {
        "br" => inline.line_break(),
        "a" => inline.open_link(dom.attribute(id, "href").unwrap_or_default().trim()),
        "img" => {
            let picture = picture(dom, id, pictures);
            let alt = picture.alt.clone();
            inline.open_picture(picture);
            inline.push_collapsed(&alt);
            inline.close_picture();
        }
        "option" => inline.push_collapsed(" "),
        _ => {}
    }
}

/// Whether an element of another language than HTML holds words to read.
pub(super) fn is_foreign_text(name: &str) -> bool {
    !matches!(
        name,
        "script"
            | "style"
            | "title"
            | "desc"
            | "metadata"
            | "defs"
            | "annotation"
            | "annotation-xml"
    )
}

struct Reader<'a, 'p, 'r> {
    dom: &'a Dom,
    flow: &'a mut Flow,
    pictures: &'a mut Addressed<'p, 'r>,
    inline: Inline,
    /// Those that are open, outermost first.
    regions: Vec<Region>,
}

impl Reader<'_, '_, '_> {
    /// Whether to look below the node as well.
    fn enter(&mut self, id: Id) -> bool {
        match self.dom.data(id) {
            Data::Text(text) => self.inline.push_collapsed(text),
            Data::Element { name, .. } => match self.dom.tag(id) {
                Some(tag) => return self.enter_tag(id, tag),
                None => {
                    match &*name.local {
                        "text" => self.inline.push_collapsed(" "),
                        "image" => self.drawn_picture(id),
                        _ => {}
                    }
                    return is_foreign_text(&name.local);
                }
            },
            Data::Other => {}
        }
        true
    }

    /// A picture within a drawing, as covers of books are.
    fn drawn_picture(&mut self, id: Id) {
        if let Some(url) = self.dom.attribute(id, "href") {
            let picture = self.pictures.picture(url.trim());
            self.inline.open_picture(picture);
            self.inline.close_picture();
        }
    }

    fn enter_tag(&mut self, id: Id, tag: &str) -> bool {
        match role(tag) {
            Role::Dropped => return false,
            Role::Inline => {
                if tag == "input" && self.dom.attribute(id, "type") == Some("checkbox") {
                    self.flow.task(self.dom.attribute(id, "checked").is_some());
                }
                enter_inline(self.dom, id, tag, &mut self.inline, self.pictures);
                return true;
            }
            Role::Block => self.flush(),
        }
        match tag {
            "pre" | "listing" | "xmp" | "plaintext" => {
                let code = code_text(self.dom, id);
                self.flow.code(&code, language(self.dom, id));
                return false;
            }
            "table" if self.is_data(id) => {
                self.table(id);
                return false;
            }
            "hr" => self.flow.page_break(),
            _ => {}
        }
        if let Some(region) = region::of(self.dom, id, tag) {
            self.regions.push(region);
            self.flow.open(Container::Region(region.category()));
        } else if let Some(container) = container(tag) {
            self.flow.open(container);
        }
        true
    }

    /// Whether a table holds data. Navigation is laid out by tables, and so are its lines.
    fn is_data(&self, table: Id) -> bool {
        let around = self.regions.iter().copied();
        let mut regions = around.chain(region::of(self.dom, table, "table"));
        !regions.any(|region| region == Region::Navigation) && table::is_data(self.dom, table)
    }

    fn table(&mut self, id: Id) {
        if let Some(caption) = table::caption(self.dom, id, self.pictures) {
            self.flow.text(Category::FigureCaption, caption);
        }
        let headings = table::leading_headings(self.dom, id);
        for (level, cell) in &headings {
            let flat = table::flat(self.dom, *cell, self.pictures);
            self.heading(*level, flat);
        }
        let (grid, pictures) = table::read(self.dom, id, headings.len(), self.pictures);
        self.flow.table(grid, pictures);
    }

    /// Writes a heading; of a region it is a line like others.
    fn heading(&mut self, level: u64, flat: Flat) {
        match region::has_heading(&self.regions, level) {
            true => self.flow.paragraph(flat),
            false => self.flow.heading(level, flat),
        }
    }

    fn leave(&mut self, id: Id) {
        let Some(tag) = self.dom.tag(id) else {
            return;
        };
        if tag == "a" {
            self.inline.close_link_of_page();
        }
        if role(tag) != Role::Block {
            return;
        }
        match tag {
            _ if let Some(level) = heading_level(tag) => {
                let flat = self.inline.take();
                self.heading(level, flat);
            }
            "figcaption" | "caption" => {
                let flat = self.inline.take();
                self.flow.text(Category::FigureCaption, flat);
            }
            "address" => {
                let flat = self.inline.take();
                self.flow.text(Category::Address, flat);
            }
            _ => self.flush(),
        }
        if region::of(self.dom, id, tag).is_some() {
            self.regions.pop();
            self.flow.close();
        } else if container(tag).is_some() {
            self.flow.close();
        }
    }

    fn flush(&mut self) {
        if self.inline.is_blank() {
            self.inline.forget_space();
            return;
        }
        let flat = self.inline.take();
        self.flow.paragraph(flat);
    }
}

/// Returns the level of a heading.
pub(super) fn heading_level(tag: &str) -> Option<u64> {
    match tag.as_bytes() {
        [b'h', digit @ b'1'..=b'6'] => Some(u64::from(digit - b'0')),
        _ => None,
    }
}

/// Returns the container a tag is.
fn container(tag: &str) -> Option<Container> {
    match tag {
        "ol" => Some(Container::List { ordered: true }),
        "ul" | "menu" | "dir" | "dl" => Some(Container::List { ordered: false }),
        "li" | "dt" | "dd" => Some(Container::Item),
        "blockquote" => Some(Container::Quote { alert: None }),
        _ => None,
    }
}

/// Returns the text of a `pre`. Variants of code that stand side by side in it are on lines of their own,
/// and what one can click there is not code.
fn code_text(dom: &Dom, root: Id) -> String {
    let mut code = String::new();
    let mut walk = dom.walk(root);
    while let Some(step) = walk.next() {
        let Step::Enter(id) = step else { continue };
        match (dom.data(id), dom.tag(id)) {
            (Data::Text(text), _) => code.push_str(text),
            (_, Some("br")) => code.push('\n'),
            (_, Some("button" | "script" | "style")) => walk.pass_over(id),
            (_, Some("code")) => {
                let neighbour = dom.previous(id).and_then(|neighbour| dom.tag(neighbour));
                if neighbour == Some("code") && !code.ends_with('\n') {
                    code.push('\n');
                }
            }
            _ => {}
        }
    }
    code
}

/// Returns the language a `pre` or the `code` in it names in its class.
fn language(dom: &Dom, pre: Id) -> Option<&str> {
    let code = dom.walk(pre).find_map(|step| match step {
        Step::Enter(id) if dom.tag(id) == Some("code") => Some(id),
        _ => None,
    });
    [Some(pre), code].into_iter().flatten().find_map(|id| {
        let classes = dom.attribute(id, "class")?.split_ascii_whitespace();
        classes
            .filter_map(|class| {
                class
                    .strip_prefix("language-")
                    .or_else(|| class.strip_prefix("lang-"))
            })
            .find(|language| !language.is_empty())
    })
}
