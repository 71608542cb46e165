//! Markdown: CommonMark with GitHub's tables, task lists, strikethrough, footnotes, alerts and math,
//! and front matter.

use dpe_connector::content::{Category, DocumentHead};
use pulldown_cmark::{
    BlockQuoteKind, CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd,
};
use serde_json::Value;

use crate::addressed::{self, Addressed, Beside};
use crate::flow::{Container, Flow, TITLE_BYTES};
use crate::format::Format;
use crate::formats::{head, html};
use crate::front_matter::{self, Declared};
use crate::grid::{Cell, Grid};
use crate::inline::{Flat, Inline, Picture};
use crate::reading::Reading;
use crate::{Document, ExtractError, decode};

/// Reads a Markdown text.
///
/// The title is the front matter's `title`, or else a heading of level 1 before everything else.
///
/// # Errors
///
/// `damaged` if it is no text, or its front matter unfolds to more than is taken.
pub(crate) fn read(
    format: Format,
    bytes: &[u8],
    reading: &mut Reading<'_>,
) -> Result<Document, ExtractError> {
    read_beside(format, bytes, &mut addressed::nothing, reading)
}

/// As [`read`], of a text whose pictures may lie beside it.
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
    let text = decode::any(bytes, reading)?;
    let mut head = head(format);
    let mut flow = Flow::of(reading.made());
    let body = declare(&text, &mut head, &mut flow)?;
    let flow = blocks(body, flow, &mut Addressed::new(reading, beside));

    let (leading_title, elements) = flow.finish();
    head.title = head.title.or(leading_title);
    Ok(Document::of_elements(head, elements))
}

/// Adds the blocks of a text without front matter.
pub(super) fn blocks(text: &str, flow: Flow, pictures: &mut Addressed<'_, '_>) -> Flow {
    let mut reader = Reader {
        flow,
        pictures,
        inline: Inline::default(),
        verbatim: None,
        table: None,
        formula: None,
    };
    for event in Parser::new_ext(text, OPTIONS) {
        reader.take(event);
    }
    reader.flush();
    reader.flow
}

const OPTIONS: Options = Options::ENABLE_TABLES
    .union(Options::ENABLE_FOOTNOTES)
    .union(Options::ENABLE_STRIKETHROUGH)
    .union(Options::ENABLE_TASKLISTS)
    .union(Options::ENABLE_MATH)
    .union(Options::ENABLE_GFM);

/// Takes the front matter off a text. A block that is broken in its own language is kept as code:
/// nothing of it is lost, and nothing is guessed.
fn declare<'a>(
    text: &'a str,
    head: &mut DocumentHead,
    flow: &mut Flow,
) -> Result<&'a str, ExtractError> {
    let Some(split) = front_matter::split(text) else {
        return Ok(text);
    };
    match front_matter::read(&split)? {
        Declared::Metadata(metadata) => {
            head.title = match metadata.get("title") {
                Some(Value::String(text)) => Some(text.clone()),
                Some(Value::Number(number)) => Some(number.to_string()),
                _ => None,
            };
            head.title
                .take_if(|title| title.trim().is_empty() || title.len() > TITLE_BYTES);
            head.doc_metadata = metadata;
        }
        Declared::Other => return Ok(text),
        Declared::Broken => flow.code(split.block, Some(split.language.name())),
    }
    Ok(split.rest)
}

/// Follows the parser's events.
struct Reader<'a, 'p, 'r> {
    flow: Flow,
    pictures: &'a mut Addressed<'p, 'r>,
    inline: Inline,
    verbatim: Option<Verbatim>,
    table: Option<Table>,
    /// The formula in display style that is all the current block holds so far.
    formula: Option<String>,
}

/// A block whose lines are gathered as they are.
enum Verbatim {
    Code {
        language: Option<String>,
        text: String,
    },
    Html(String),
}

/// A table being gathered, with the cells of the current row.
struct Table {
    grid: Grid,
    row: Vec<Flat>,
    pictures: Vec<Picture>,
}

impl Reader<'_, '_, '_> {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) | Event::Html(text) => match &mut self.verbatim {
                Some(Verbatim::Code { text: lines, .. } | Verbatim::Html(lines)) => {
                    lines.push_str(&text);
                }
                None => self.push(&text),
            },
            Event::Code(text) => self.push(&text),
            Event::InlineMath(text) => self.push(&format!("${text}$")),
            Event::DisplayMath(text) => {
                let alone = self.inline.is_blank();
                self.push(&format!("$${text}$$"));
                self.formula = alone.then(|| text.into_string());
            }
            Event::InlineHtml(tag) => self.inline_html(&tag),
            Event::FootnoteReference(label) => self.push(&format!("[^{label}]")),
            Event::SoftBreak | Event::HardBreak => self.inline.line_break(),
            Event::Rule => {
                self.flush();
                self.flow.page_break();
            }
            Event::TaskListMarker(done) => self.flow.task(done),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Link { dest_url, .. } => self.inline.open_link(&dest_url),
            Tag::Image {
                dest_url, title, ..
            } => self.inline.open_picture(Picture {
                title: (!title.is_empty()).then(|| title.into_string()),
                ..self.pictures.picture(&dest_url)
            }),
            Tag::Emphasis | Tag::Strong | Tag::Strikethrough => {}
            Tag::TableHead | Tag::TableRow | Tag::TableCell => {}
            block => {
                self.flush();
                self.start_block(block);
            }
        }
    }

    fn start_block(&mut self, block: Tag<'_>) {
        match block {
            Tag::BlockQuote(kind) => self.flow.open(Container::Quote {
                alert: kind.map(alert),
            }),
            Tag::List(start) => self.flow.open(Container::List {
                ordered: start.is_some(),
            }),
            Tag::Item => self.flow.open(Container::Item),
            Tag::FootnoteDefinition(label) => self.flow.open(Container::Footnote {
                label: label.into_string(),
            }),
            Tag::CodeBlock(kind) => {
                self.verbatim = Some(Verbatim::Code {
                    language: language(&kind),
                    text: String::new(),
                });
            }
            Tag::HtmlBlock => self.verbatim = Some(Verbatim::Html(String::new())),
            Tag::Table(_) => {
                self.table = Some(Table {
                    grid: Grid::new(),
                    row: Vec::new(),
                    pictures: Vec::new(),
                });
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Link => self.inline.close_link(),
            TagEnd::Image => self.inline.close_picture(),
            TagEnd::Heading(level) => {
                let flat = self.inline.take();
                self.flow.heading(number(level), flat);
            }
            TagEnd::BlockQuote(_) | TagEnd::List(_) | TagEnd::Item | TagEnd::FootnoteDefinition => {
                self.flush();
                self.flow.close();
            }
            TagEnd::CodeBlock | TagEnd::HtmlBlock => match self.verbatim.take() {
                Some(Verbatim::Code { language, text }) => {
                    self.flow.code(&text, language.as_deref());
                }
                Some(Verbatim::Html(html)) => self.html_block(&html),
                None => {}
            },
            TagEnd::TableCell => self.end_cell(),
            TagEnd::TableHead => self.end_row(true),
            TagEnd::TableRow => self.end_row(false),
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    self.flow.table(table.grid, table.pictures);
                }
            }
            TagEnd::Paragraph => self.flush(),
            _ => {}
        }
    }

    /// Ends the text that is not a heading: a paragraph, or an item written without one.
    fn flush(&mut self) {
        if self.inline.is_blank() {
            return;
        }
        let flat = self.inline.take();
        match self.formula.take() {
            Some(formula) => self.flow.formula(&formula),
            None => self.flow.paragraph(flat),
        }
    }

    fn push(&mut self, text: &str) {
        if !text.trim().is_empty() {
            self.formula = None;
        }
        self.inline.push(text);
    }

    /// Reads the few inline tags that say something a text cannot; of the others only the words count.
    fn inline_html(&mut self, tag: &str) {
        match tag_name(tag).as_str() {
            "br" => self.inline.line_break(),
            "a" => self.inline.open_link(&html::link(tag).unwrap_or_default()),
            "/a" => self.inline.close_link(),
            "img" => {
                if let Some(picture) = html::picture(tag, self.pictures) {
                    let alt = picture.alt.clone();
                    self.inline.open_picture(picture);
                    self.push(&alt);
                    self.inline.close_picture();
                }
            }
            _ => {}
        }
    }

    fn html_block(&mut self, html: &str) {
        if !html::fragment(html, &mut self.flow, self.pictures) {
            self.inline.push(html);
            let flat = self.inline.take();
            self.flow.text(Category::UncategorizedText, flat);
        }
    }

    fn end_cell(&mut self) {
        let mut flat = self.inline.take();
        if let Some(table) = &mut self.table {
            table.pictures.append(&mut flat.pictures);
            table.row.push(flat);
        }
    }

    fn end_row(&mut self, header: bool) {
        if let Some(table) = &mut self.table {
            let cells = table.row.iter().map(|flat| Cell {
                text: &flat.text,
                links: &flat.links,
                ..Cell::default()
            });
            table.grid.row(header, cells);
            table.row.clear();
        }
    }
}

/// Returns the language of a code block: the first word of its info string, without the options
/// some tools append to it.
fn language(kind: &CodeBlockKind<'_>) -> Option<String> {
    let CodeBlockKind::Fenced(info) = kind else {
        return None;
    };
    let word = info.split_whitespace().next()?;
    let word = word.trim_start_matches(['{', '.']);
    let end = word.find([',', '{', '}']).unwrap_or(word.len());
    (end > 0).then(|| word[..end].to_owned())
}

fn alert(kind: BlockQuoteKind) -> &'static str {
    match kind {
        BlockQuoteKind::Note => "note",
        BlockQuoteKind::Tip => "tip",
        BlockQuoteKind::Important => "important",
        BlockQuoteKind::Warning => "warning",
        BlockQuoteKind::Caution => "caution",
    }
}

fn number(level: HeadingLevel) -> u64 {
    match level {
        HeadingLevel::H1 => 1,
        HeadingLevel::H2 => 2,
        HeadingLevel::H3 => 3,
        HeadingLevel::H4 => 4,
        HeadingLevel::H5 => 5,
        HeadingLevel::H6 => 6,
    }
}

/// Returns the name of a tag in lowercase, with the `/` of a closing one.
fn tag_name(tag: &str) -> String {
    let name = tag.trim_start_matches('<');
    let end = name
        .find(|character: char| !character.is_ascii_alphanumeric() && character != '/')
        .unwrap_or(name.len());
    name[..end].trim_end_matches('/').to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use dpe_connector::content::Category;

    use super::tag_name;
    use crate::{Input, Limits, extract};

    #[test]
    fn html_block_that_cannot_be_parsed_stays_as_it_is() {
        let text = format!("<p{}>words</p>\n", " a".repeat(5000));
        let input = Input {
            name: b"a.md",
            bytes: text.as_bytes(),
        };
        let element = extract(&input, &Limits::default())
            .unwrap()
            .pages
            .remove(0)
            .elements
            .remove(0);
        assert_eq!(element.category, Category::UncategorizedText);
        assert_eq!(element.text.as_deref(), Some(text.trim_end()));
    }

    #[test]
    fn tag_is_named_whatever_follows_its_name() {
        for (tag, name) in [
            ("<br/>", "br"),
            ("<BR >", "br"),
            ("</a>", "/a"),
            ("<a href=x>", "a"),
        ] {
            assert_eq!(tag_name(tag), name);
        }
        assert_eq!(tag_name("<!-- a -->"), "");
    }
}
