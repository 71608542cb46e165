//! The text of a page, or of what is stuck onto it, in the order in which it is painted.
//!
//! The parser of pages reads better where it reads: this one knows no columns and no tables. But it knows what
//! the file says a painted piece means (`ActualText`, ISO 32000-1 §14.9.4), keeps the spaces between words
//! of Korean, and reads the appearance of form fields and stamps.

use std::collections::{HashMap, HashSet};

use dpe_connector::content::Element;
use unpdf::parser::backend::{ObjectId, PaintedXObject, PdfBackend, RawBackend, ResourceScope};
use unpdf::parser::raw::PdfObject;

use super::content::{Operation, Operations};
use super::lines::{Lines, Shown};
use super::marks::Marks;

/// Forms within forms within forms, and saved states.
const MOST_FORMS: usize = 8;
const MOST_STATES: usize = 256;

/// Pieces of text of a page that are held at once.
const MOST_SHOWN: usize = 300_000;

/// Forms whose fonts are looked at.
const MOST_SCOPES: usize = 256;

/// Operations for one page.
const MOST_OPERATIONS: usize = 5_000_000;

/// Bytes of a form that take as long to be unpacked as an operation.
const BYTES_PER_OPERATION: usize = 8;

/// Returns the paragraphs that a content stream paints, each with its lines.
pub(super) fn paragraphs(
    backend: &RawBackend,
    scope: ResourceScope,
    content: &[u8],
) -> Vec<Vec<String>> {
    let mut lines = Lines::default();
    for_each(backend, scope, content, Marks::default(), |shown| {
        lines.add(&shown);
    });
    lines.paragraphs
}

/// Returns what a content stream paints, unless it is too much to be held; `marks` are those that are open.
pub(super) fn shown(
    backend: &RawBackend,
    scope: ResourceScope,
    content: &[u8],
    marks: Marks<'_>,
) -> Option<Vec<Shown>> {
    let mut all = Vec::new();
    let mut left = MOST_SHOWN;
    for_each(backend, scope, content, marks, |shown| {
        if left > 0 {
            left -= 1;
            all.push(shown);
        }
    });
    (left > 0).then_some(all)
}

/// Calls `take` with each piece of text that a content stream paints; `marks` are those that are open.
fn for_each(
    backend: &RawBackend,
    scope: ResourceScope,
    content: &[u8],
    marks: Marks<'_>,
    take: impl FnMut(Shown),
) {
    let mut painter = Painter {
        backend,
        states: Vec::new(),
        state: State::new(IDENTITY),
        marks,
        take,
        fixed: HashMap::new(),
        left: MOST_OPERATIONS,
    };
    painter.paint(scope, content, 0);
}

/// Whether the texts of a page lack more than a tenth of the letters that are painted.
pub(super) fn lacks_letters(elements: &[Element], painted: &[Vec<String>]) -> bool {
    let mut letters = HashMap::new();
    let texts = elements
        .iter()
        .filter_map(|element| element.text.as_deref());
    for letter in texts
        .flat_map(str::chars)
        .filter(|letter| letter.is_alphanumeric())
    {
        *letters.entry(letter).or_insert(0usize) += 1;
    }
    let (mut all, mut missing) = (0usize, 0usize);
    let lines = painted.iter().flatten();
    for letter in lines
        .flat_map(|line| line.chars())
        .filter(|letter| letter.is_alphanumeric())
    {
        all += 1;
        match letters.get_mut(&letter) {
            Some(count) if *count > 0 => *count -= 1,
            _ => missing += 1,
        }
    }
    missing * 10 > all
}

pub(super) type Matrix = [f64; 6];

const IDENTITY: Matrix = [1.0, 0.0, 0.0, 1.0, 0.0, 0.0];

/// Returns the matrix that does what `first` does and then what `then` does.
fn after(first: Matrix, then: Matrix) -> Matrix {
    let [a, b, c, d, e, f] = first;
    let [m, n, o, p, x, y] = then;
    [
        a * m + b * o,
        a * n + b * p,
        c * m + d * o,
        c * n + d * p,
        e * m + f * o + x,
        e * n + f * p + y,
    ]
}

/// What decides where and how the next text is painted (§9.3).
#[derive(Clone)]
struct State {
    page: Matrix,
    text: Matrix,
    line: Matrix,
    font: Vec<u8>,
    size: f64,
    leading: f64,
    letter_space: f64,
    word_space: f64,
    stretch: f64,
}

impl State {
    fn new(page: Matrix) -> Self {
        Self {
            page,
            text: IDENTITY,
            line: IDENTITY,
            font: Vec::new(),
            size: 0.0,
            leading: 0.0,
            letter_space: 0.0,
            word_space: 0.0,
            stretch: 1.0,
        }
    }

    fn next_line(&mut self, x: f64, y: f64) {
        self.line = after([1.0, 0.0, 0.0, 1.0, x, y], self.line);
        self.text = self.line;
    }

    fn advance(&mut self, x: f64) {
        self.text = after([1.0, 0.0, 0.0, 1.0, x * self.stretch, 0.0], self.text);
    }
}

struct Painter<'b, F> {
    backend: &'b RawBackend,
    states: Vec<State>,
    state: State,
    marks: Marks<'b>,
    take: F,
    /// Names of the fonts of fixed pitch, by the form that has them.
    fixed: HashMap<Option<ObjectId>, HashSet<Vec<u8>>>,
    left: usize,
}

impl<F: FnMut(Shown)> Painter<'_, F> {
    fn paint(&mut self, scope: ResourceScope, content: &[u8], depth: usize) {
        for operation in Operations::of(content) {
            if self.left == 0 {
                return;
            }
            self.left -= 1;
            self.perform(&operation, scope, depth);
        }
    }

    fn perform(&mut self, operation: &Operation<'_>, scope: ResourceScope, depth: usize) {
        let operands = &operation.operands;
        let number = |at: usize| operands.get(at).and_then(PdfObject::as_f64).unwrap_or(0.0);
        let matrix = || std::array::from_fn(number);
        match operation.operator {
            b"q" if self.states.len() < MOST_STATES => self.states.push(self.state.clone()),
            b"Q" => {
                if let Some(state) = self.states.pop() {
                    self.state = state;
                }
            }
            b"cm" => self.state.page = after(matrix(), self.state.page),
            b"BT" => {
                self.state.text = IDENTITY;
                self.state.line = IDENTITY;
            }
            b"Tf" => {
                let name = operands.first().and_then(PdfObject::as_name);
                self.state.font = name.unwrap_or_default().to_vec();
                self.state.size = number(1);
            }
            b"TL" => self.state.leading = number(0),
            b"Tc" => self.state.letter_space = number(0),
            b"Tw" => self.state.word_space = number(0),
            b"Tz" => self.state.stretch = number(0) / 100.0,
            b"Tm" => {
                self.state.line = matrix();
                self.state.text = self.state.line;
            }
            b"Td" => self.state.next_line(number(0), number(1)),
            b"TD" => {
                self.state.leading = -number(1);
                self.state.next_line(number(0), number(1));
            }
            b"T*" => self.state.next_line(0.0, -self.state.leading),
            b"Tj" | b"TJ" => self.show_all(operands.last(), scope),
            b"'" | b"\"" => {
                if operation.operator == b"\"" {
                    self.state.word_space = number(0);
                    self.state.letter_space = number(1);
                }
                self.state.next_line(0.0, -self.state.leading);
                self.show_all(operands.last(), scope);
            }
            b"BMC" | b"BDC" => self.marks.open(operands, depth),
            b"EMC" => self.marks.close(),
            b"Do" => self.paint_form(operands, scope, depth),
            _ => {}
        }
    }

    /// Whether all letters of the font are equally wide.
    fn is_fixed(&mut self, scope: ResourceScope) -> bool {
        if !self.fixed.contains_key(&scope.form) && self.fixed.len() < MOST_SCOPES {
            let fonts = self.backend.page_fonts(scope).unwrap_or_default();
            let fixed = fonts.into_iter().filter(|font| font.fixed_pitch);
            let names = fixed.map(|font| font.name).collect();
            self.fixed.insert(scope.form, names);
        }
        let fixed = self.fixed.get(&scope.form);
        fixed.is_some_and(|fixed| fixed.contains(&self.state.font))
    }

    fn paint_form(&mut self, operands: &[PdfObject], scope: ResourceScope, depth: usize) {
        let name = operands
            .last()
            .and_then(PdfObject::as_name)
            .unwrap_or_default();
        if depth >= MOST_FORMS {
            return;
        }
        if let Some(PaintedXObject::Form(form)) = self.backend.xobject(scope, name)
            && let Some(content) = form.content
        {
            // It has been unpacked for this, however little it paints.
            self.left = self
                .left
                .saturating_sub(content.len() / BYTES_PER_OPERATION);
            let outer = self.state.clone();
            let states = std::mem::take(&mut self.states);
            self.state.page = after(form.matrix.map(f64::from), self.state.page);
            self.paint(
                ResourceScope::form(scope.page, form.id),
                &content,
                depth + 1,
            );
            self.states = states;
            self.state = outer;
        }
    }

    fn show_all(&mut self, shown: Option<&PdfObject>, scope: ResourceScope) {
        match shown {
            Some(PdfObject::Str(bytes)) => self.show(bytes, scope),
            Some(PdfObject::Array(parts)) => {
                for part in parts {
                    match part {
                        PdfObject::Str(bytes) => self.show(bytes, scope),
                        other => {
                            let back = other.as_f64().unwrap_or(0.0);
                            self.state.advance(-back / 1000.0 * self.state.size);
                        }
                    }
                }
            }
            _ => {}
        }
    }

    fn show(&mut self, bytes: &[u8], scope: ResourceScope) {
        let state = &self.state;
        let decoded = self.backend.decode_text(scope, &state.font, bytes).text;
        let width = match self.backend.glyph_advances(scope, &state.font, bytes) {
            Some(glyphs) => glyphs.iter().fold(0.0, |width, glyph| {
                let space = if glyph.is_word_space {
                    state.word_space
                } else {
                    0.0
                };
                let glyph = f64::from(glyph.width) / 1000.0 * state.size;
                width + glyph + state.letter_space + space
            }),
            None => decoded.chars().count() as f64 * (state.size * 0.5 + state.letter_space),
        };
        let place = after(self.state.text, self.state.page);
        self.state.advance(width);
        let end = after(self.state.text, self.state.page);
        let height = (place[2].hypot(place[3]) * self.state.size).abs();
        let is_fixed = self.is_fixed(scope);
        (self.take)(Shown {
            is_fixed,
            text: self.marks.meaning().unwrap_or(decoded),
            mark: self.marks.innermost(),
            place,
            end: (end[4], end[5]),
            height,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::{IDENTITY, after};

    #[test]
    fn matrices_follow_each_other() {
        let twice = [2.0, 0.0, 0.0, 2.0, 0.0, 0.0];
        assert_eq!(
            after([1.0, 0.0, 0.0, 1.0, 3.0, 4.0], twice),
            [2.0, 0.0, 0.0, 2.0, 6.0, 8.0]
        );
        assert_eq!(after(IDENTITY, twice), twice);
    }
}
