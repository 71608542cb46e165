//! Runs: the words of a paragraph, and what is hung up in them.

use roxmltree::Node;

use super::fields::End;
use super::notes::Kind;
use super::{Reader, symbol};
use crate::formats::fields;
use crate::formats::ooxml::{alternative, math};
use crate::inline::{Flat, Inline};
use crate::{ExtractError, xml};

/// A paragraph under construction.
#[derive(Debug)]
pub(super) struct Line<'n, 't> {
    pub(super) inline: Inline,
    /// Texts that stand before page breaks in the paragraph.
    ended: Vec<Flat>,
    /// What is to be read after the paragraph.
    pub(super) beside: Vec<Beside<'n, 't>>,
    breaks_pages: bool,
    has_formula: bool,
    has_words: bool,
}

/// Something hung up in a paragraph that has blocks of its own.
#[derive(Debug)]
pub(super) enum Beside<'n, 't> {
    /// A text box.
    Blocks(Node<'n, 't>),
    /// Paragraphs of DrawingML.
    Drawn(Node<'n, 't>),
    /// The part of a chart.
    Chart(String),
    /// The part of a diagram's data.
    Diagram(String),
}

impl<'n, 't> Line<'n, 't> {
    pub(super) fn new(breaks_pages: bool) -> Self {
        Self {
            inline: Inline::default(),
            ended: Vec::new(),
            beside: Vec::new(),
            breaks_pages,
            has_formula: false,
            has_words: false,
        }
    }

    /// Whether there is nothing but formulas.
    pub(super) fn is_formula(&self) -> bool {
        self.has_formula && !self.has_words && self.ended.is_empty()
    }

    /// Returns the texts between page breaks, and what is to be read after them.
    pub(super) fn finish(mut self) -> (Vec<Flat>, Vec<Beside<'n, 't>>) {
        self.ended.push(self.inline.take());
        (self.ended, self.beside)
    }

    /// As [`finish`](Self::finish), with the white space that code begins with.
    pub(super) fn finish_code(mut self) -> (Vec<Flat>, Vec<Beside<'n, 't>>) {
        self.ended.push(self.inline.take_code());
        (self.ended, self.beside)
    }

    fn push(&mut self, text: &str) {
        self.has_words |= !text.trim().is_empty();
        self.inline.push(text);
    }

    fn page_break(&mut self) {
        match self.breaks_pages {
            true => self.ended.push(self.inline.take()),
            false => self.inline.begin_line(),
        }
    }
}

impl Reader<'_, '_, '_, '_> {
    /// Adds the words below a node.
    pub(super) fn inline<'n, 't>(
        &mut self,
        parent: Node<'n, 't>,
        line: &mut Line<'n, 't>,
    ) -> Result<(), ExtractError> {
        for node in parent.children().filter(Node::is_element) {
            match node.tag_name().name() {
                "t" | "tab" | "ptab" | "br" | "cr" | "noBreakHyphen" | "sym" | "pgNum" => {
                    self.word(node, line);
                }
                "instrText" => self.here.fields.instruct(node.text().unwrap_or_default()),
                "fldChar" => self.field(node, line),
                "fldSimple" => self.simple_field(node, line)?,
                "hyperlink" => self.linked(&self.target(node), node, line)?,
                "footnoteReference" | "endnoteReference" | "commentReference" => {
                    self.note(node, line);
                }
                "drawing" | "pict" | "object" => self.graphic(node, line)?,
                "oMath" | "oMathPara" => {
                    line.has_formula = true;
                    line.inline.push(&math::text(node));
                }
                "ruby" => self.ruby(node, line)?,
                "AlternateContent" => {
                    if let Some(content) = alternative(node) {
                        self.inline(content, line)?;
                    }
                }
                "del" | "moveFrom" | "delText" | "delInstrText" => {}
                "p" => {
                    line.inline.begin_line();
                    self.inline(node, line)?;
                }
                // Properties of whatever it is.
                name if name.ends_with("Pr") => {}
                _ => self.inline(node, line)?,
            }
        }
        Ok(())
    }

    fn word(&mut self, node: Node<'_, '_>, line: &mut Line<'_, '_>) {
        if self.here.fields.hide_text() {
            return;
        }
        match node.tag_name().name() {
            "t" => match node.text() {
                // A line end in the file is none in the text.
                Some(text) if text.contains(['\n', '\r']) => {
                    line.push(&text.replace(['\n', '\r'], " "));
                }
                text => line.push(text.unwrap_or_default()),
            },
            "br" if xml::attribute(node, "type") == Some("page") => line.page_break(),
            "br" | "cr" => line.inline.line_break(),
            "noBreakHyphen" => line.push("-"),
            "pgNum" => self.number(line),
            "sym" => {
                let font = xml::attribute(node, "font").unwrap_or_default();
                let code = xml::attribute(node, "char").unwrap_or_default();
                if let Some(character) = symbol::character(font, code) {
                    line.push(character.encode_utf8(&mut [0; 4]));
                }
            }
            _ => line.inline.push("\t"),
        }
    }

    fn field(&mut self, node: Node<'_, '_>, line: &mut Line<'_, '_>) {
        match xml::attribute(node, "fldCharType") {
            Some("begin") => self.here.fields.begin(node),
            Some("separate") => {
                let target = self.here.fields.separate();
                target
                    .into_iter()
                    .for_each(|target| line.inline.open_link(&target));
            }
            Some("end") => match self.here.fields.end() {
                Some(End::Link) => line.inline.close_link(),
                Some(End::Shown(text)) => line.push(&text),
                Some(End::Number) => self.number(line),
                None => {}
            },
            _ => {}
        }
    }

    /// Leaves out the number of a page.
    fn number(&self, line: &mut Line<'_, '_>) {
        if !self.is_text {
            line.inline.leave_out_number();
        }
    }

    fn simple_field<'n, 't>(
        &mut self,
        node: Node<'n, 't>,
        line: &mut Line<'n, 't>,
    ) -> Result<(), ExtractError> {
        let instruction = xml::attribute(node, "instr").unwrap_or_default();
        if fields::is_layout(instruction) {
            self.number(line);
            return Ok(());
        }
        let Some(address) = fields::link_target(instruction) else {
            return self.inline(node, line);
        };
        self.linked(&address, node, line)
    }

    /// Adds the words of a link.
    fn linked<'n, 't>(
        &mut self,
        address: &str,
        words: Node<'n, 't>,
        line: &mut Line<'n, 't>,
    ) -> Result<(), ExtractError> {
        line.inline.open_link(address);
        self.inline(words, line)?;
        line.inline.close_link();
        Ok(())
    }

    /// Returns where a link leads: to an address, to a place in the document, or both.
    fn target(&self, link: Node<'_, '_>) -> String {
        let id = xml::attribute(link, "id").unwrap_or_default();
        let address = self.here.relations.address(id).unwrap_or_default();
        match xml::attribute(link, "anchor") {
            Some(place) if !place.is_empty() => format!("{address}#{place}"),
            _ => address.to_owned(),
        }
    }

    /// Marks a note, which is read later. Comments have no mark in the text.
    fn note(&mut self, node: Node<'_, '_>, line: &mut Line<'_, '_>) {
        let Some(kind) = Kind::of_reference(node.tag_name().name()) else {
            return;
        };
        let id = xml::attribute(node, "id").unwrap_or_default();
        let label = self.notes.of(kind).label(id, |number| match kind {
            Kind::Endnote => roman(number),
            Kind::Footnote | Kind::Comment => number.to_string(),
        });
        if kind != Kind::Comment {
            line.inline.push(&format!("[^{label}]"));
        }
    }

    /// Adds words with their reading in parentheses behind them.
    fn ruby<'n, 't>(
        &mut self,
        node: Node<'n, 't>,
        line: &mut Line<'n, 't>,
    ) -> Result<(), ExtractError> {
        if let Some(base) = node.children().find(|child| xml::is(*child, "rubyBase")) {
            self.inline(base, line)?;
        }
        if let Some(reading) = node.children().find(|child| xml::is(*child, "rt")) {
            line.inline.push("(");
            self.inline(reading, line)?;
            line.inline.push(")");
        }
        Ok(())
    }
}

/// Returns a number in small Roman letters, as endnotes are counted.
fn roman(number: usize) -> String {
    if number > 4000 {
        return number.to_string();
    }
    let digits = [
        (1000, "m"),
        (900, "cm"),
        (500, "d"),
        (400, "cd"),
        (100, "c"),
        (90, "xc"),
        (50, "l"),
        (40, "xl"),
        (10, "x"),
        (9, "ix"),
        (5, "v"),
        (4, "iv"),
        (1, "i"),
    ];
    let (mut rest, mut roman) = (number, String::new());
    for (value, letters) in digits {
        while rest >= value {
            roman.push_str(letters);
            rest -= value;
        }
    }
    roman
}

#[cfg(test)]
mod tests {
    use super::roman;

    #[test]
    fn endnotes_are_counted_in_roman_letters() {
        assert_eq!([1, 4, 9, 48].map(roman), ["i", "iv", "ix", "xlviii"]);
    }
}
