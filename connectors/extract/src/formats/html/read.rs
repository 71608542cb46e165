//! What each tag means: a walk over the tree that tells the flow of blocks.

use dpe_connector::content::Category;

use super::dom::{Data, Dom, Id, Step};
use super::table;
use crate::addressed::Addressed;
use crate::flow::{Container, Flow};
use crate::inline::{Inline, Picture};

/// Adds everything readable in a tree.
pub(super) fn blocks(dom: &Dom, flow: &mut Flow, pictures: &mut Addressed<'_, '_>) {
    let mut reader = Reader {
        dom,
        flow,
        pictures,
        inline: Inline::default(),
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
            "table" if table::is_data(self.dom, id) => {
                if let Some(caption) = table::caption(self.dom, id, self.pictures) {
                    self.flow.text(Category::FigureCaption, caption);
                }
                let (grid, pictures) = table::read(self.dom, id, self.pictures);
                self.flow.table(grid, pictures);
                return false;
            }
            "hr" => self.flow.page_break(),
            _ => {}
        }
        if let Some(container) = container(self.dom, id, tag) {
            self.flow.open(container);
        }
        true
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
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                let level = u64::from(tag.as_bytes()[1] - b'0');
                let flat = self.inline.take();
                self.flow.heading(level, flat);
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
        if container(self.dom, id, tag).is_some() {
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

/// Returns the container a tag is; the same answer when it is entered and when it is left.
fn container(dom: &Dom, id: Id, tag: &str) -> Option<Container> {
    match dom.attribute(id, "role") {
        Some("navigation" | "banner") => return Some(Container::Region(Category::Header)),
        Some("contentinfo") => return Some(Container::Region(Category::Footer)),
        _ => {}
    }
    match tag {
        "ol" => Some(Container::List { ordered: true }),
        "ul" | "menu" | "dir" | "dl" => Some(Container::List { ordered: false }),
        "li" | "dt" | "dd" => Some(Container::Item),
        "blockquote" => Some(Container::Quote { alert: None }),
        "nav" => Some(Container::Region(Category::Header)),
        "header" if !is_in_section(dom, id) => Some(Container::Region(Category::Header)),
        "footer" if !is_in_section(dom, id) => Some(Container::Region(Category::Footer)),
        _ => None,
    }
}

/// Whether a header or footer is that of a section and not of the page (HTML standard, 4.3.8).
fn is_in_section(dom: &Dom, id: Id) -> bool {
    dom.ancestors(id).any(|ancestor| {
        matches!(
            dom.tag(ancestor),
            Some("article" | "aside" | "main" | "nav" | "section" | "blockquote" | "td" | "figure")
        )
    })
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
