//! The elements of a page by the structure of the document: what is painted there, in the order and with the meaning
//! that the file declares.
//!
//! Structures are often broken, or hold a part of the page only. Then nothing is returned, and the layout decides.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use dpe_connector::content::{Category, Element};
use serde_json::Value;

use super::levels;
use super::lines::{self, Lines, Shown};
use super::marks::{End, Mark};
use super::outline::Entry;
use super::structure::{Block, Kind, Part, Row, Structure};
use super::words;
use super::writer::Writer;
use crate::flow::{Container, Flow};
use crate::grid::{Cell, Grid};
use crate::inline::{Flat, Inline};
use crate::made::Made;

/// Percent of the letters of a page that its structure holds, at least.
const LEAST_LETTERS: usize = 90;

/// On a page with so many times more letters of fixed pitch than others they are the letters of its text.
const TYPEWRITTEN: usize = 9;

/// A text with more letters of dense scripts than this part of its others is no code.
const DENSE: usize = 3;

/// On pages with more letters of artifacts these are not more than those of the content.
const MOST_ARTIFACTS: usize = 300;

/// Letters that Courier New and Wingdings have as bullets.
const LETTER_BULLETS: &str = "oØüvqnlwu";

/// Labels of more pieces are none.
const LABEL_PIECES: usize = 16;

/// Deeper lists are as deep as this.
const MOST_LISTS: usize = 32;

/// Returns the elements of the page of an index, on which `shown` is painted; `laid_out` are those of the layout.
pub(super) fn elements(
    structure: &Structure,
    page: usize,
    shown: &[Shown],
    laid_out: &[Element],
    made: &Made,
) -> Option<Vec<Element>> {
    let mut sheet = Sheet::new(page, shown);
    let mut flow = Flow::of(made);
    let lists = structure.pages.get(page)?;
    // Items that follow each other are those of a list.
    let lists = lists.chunk_by(|one, next| is_item(one) && is_item(next));
    for blocks in lists {
        sheet.bullets = sheet.letters_as_bullets(blocks);
        for block in blocks {
            sheet.add(block, &mut flow);
        }
    }
    let held = sheet.letters(|mark, is_taken| is_taken && !is_artifact(mark));
    let content = sheet.letters(|mark, _| !is_artifact(mark));
    let artifacts = sheet.letters(|mark, _| is_artifact(mark));
    if held == 0 || held * 100 < content * LEAST_LETTERS || artifacts > held.max(MOST_ARTIFACTS) {
        return None;
    }
    let left_out = std::mem::take(&mut sheet.left_out);
    let [heads, rest, feet] = sheet.rest(made);
    let mut blocks = flow.finish().1.into_vec();
    levels::declare(&mut blocks);
    let mut elements = heads;
    elements.extend(blocks);
    elements.extend(rest);
    elements.extend(feet);
    if !words::are_found(&elements, &left_out, laid_out) {
        return None;
    }
    if !structure.has_headings {
        keep_titles(&mut elements, laid_out);
    }
    Some(elements)
}

/// Returns the headings of the page of an index.
pub(super) fn headings(structure: &Structure, page: usize, shown: &[Shown]) -> Vec<Entry> {
    let mut sheet = Sheet::new(page, shown);
    let mut entries = Vec::new();
    for block in structure.pages.get(page).into_iter().flatten() {
        if let Block::Text(Kind::Heading(level), parts) = block {
            let title = sheet.flat(parts).text;
            let level = *level;
            if !title.is_empty() {
                entries.push(Entry { title, page, level });
            }
        }
    }
    entries
}

/// What is painted on a page.
struct Sheet<'s> {
    page: usize,
    shown: &'s [Shown],
    /// Whether nearly all letters are of fixed pitch.
    is_typewritten: bool,
    /// What of it has been taken into a block.
    is_taken: Vec<bool>,
    /// Indexes by the number of the mark.
    marked: HashMap<i64, Vec<usize>>,
    /// Letters that are the bullets of the list that is read, with their depths.
    bullets: BTreeSet<(usize, char)>,
    /// Those that were left out.
    left_out: Vec<char>,
}

impl<'s> Sheet<'s> {
    fn new(page: usize, shown: &'s [Shown]) -> Self {
        let mut marked: HashMap<i64, Vec<usize>> = HashMap::new();
        for (at, shown) in shown.iter().enumerate() {
            if let Mark::Content(number) = shown.mark {
                marked.entry(number).or_default().push(at);
            }
        }
        let letters = |is_fixed: bool| -> usize {
            let shown = shown.iter().filter(|shown| shown.is_fixed == is_fixed);
            shown.map(|shown| shown.text.chars().count()).sum()
        };
        Self {
            page,
            is_typewritten: letters(true) > TYPEWRITTEN * letters(false),
            is_taken: vec![false; shown.len()],
            shown,
            marked,
            bullets: BTreeSet::new(),
            left_out: Vec::new(),
        }
    }

    fn add(&mut self, block: &Block, flow: &mut Flow) {
        match block {
            Block::Text(Kind::Paragraph, parts) => match self.code(parts) {
                Some(code) => flow.code_line(&code),
                None => flow.paragraph(self.flat(parts)),
            },
            Block::Text(Kind::Heading(level), parts) => {
                flow.heading(*level as u64, self.flat(parts));
            }
            Block::Text(Kind::Item(depth), parts) => self.add_item(*depth, parts, flow),
            Block::Table(rows) => self.add_table(rows, flow),
        }
    }

    /// Takes a paragraph in letters of fixed pitch, with its lines; `None` if it is another, or all of the page is so.
    fn code(&mut self, parts: &[Part]) -> Option<String> {
        let numbers = parts.iter().filter_map(|part| match part {
            Part::Content { page, number, .. } if *page == self.page => Some(*number),
            _ => None,
        });
        // Each is there once, however often it is named.
        let mut seen = BTreeSet::new();
        let numbers: Vec<i64> = numbers.filter(|number| seen.insert(*number)).collect();
        let all = numbers.iter().filter_map(|number| self.marked.get(number));
        let all: Vec<usize> = all.flatten().copied().collect();
        let letters = all.iter().map(|&at| &self.shown[at]);
        let mut letters = letters.filter(|shown| !shown.text.trim().is_empty());
        let is_code = letters.next().is_some_and(|first| first.is_fixed)
            && letters.all(|shown| shown.is_fixed);
        if self.is_typewritten || !is_code || self.is_dense(&all) {
            return None;
        }
        for number in numbers {
            self.marked.remove(&number);
        }
        let mut lines = Lines::default();
        for at in all {
            self.is_taken[at] = true;
            lines.add(&self.shown[at]);
        }
        let lines: Vec<&str> = lines
            .paragraphs
            .iter()
            .flatten()
            .map(|line| line.trim_end())
            .collect();
        Some(lines.join("\n"))
    }

    /// Whether a good part of the letters is of scripts whose letters are equally wide in all fonts.
    fn is_dense(&self, all: &[usize]) -> bool {
        let letters = all.iter().flat_map(|&at| self.shown[at].text.chars());
        let letters = letters.filter(|letter| letter.is_alphanumeric());
        let (dense, others): (Vec<char>, Vec<char>) =
            letters.partition(|letter| words::is_dense(*letter) || words::is_hangul(*letter));
        dense.len() * DENSE > others.len()
    }

    /// Returns the letters that some fonts draw as bullets, of items whose labels do not differ.
    fn letters_as_bullets(&self, blocks: &[Block]) -> BTreeSet<(usize, char)> {
        let mut letters: BTreeMap<usize, Vec<Option<char>>> = BTreeMap::new();
        for block in blocks {
            if let Block::Text(Kind::Item(depth), parts) = block {
                let label = self.label(parts);
                if !label.trim().is_empty() {
                    letters.entry(*depth).or_default().push(sole_letter(&label));
                }
            }
        }
        let alike = letters.into_iter().filter_map(|(depth, letters)| {
            let first = (*letters.first()?)?;
            let is_bullet = letters.len() > 1 || LETTER_BULLETS.contains(first);
            let are_alike = letters.iter().all(|letter| *letter == Some(first));
            (is_bullet && are_alike).then_some((depth, first))
        });
        alike.collect()
    }

    /// Returns what the number or bullet of an item says.
    fn label(&self, parts: &[Part]) -> String {
        let numbers = parts.iter().filter_map(|part| match part {
            Part::Content {
                page,
                number,
                is_label: true,
                ..
            } if *page == self.page => Some(number),
            _ => None,
        });
        let shown = numbers
            .filter_map(|number| self.marked.get(number))
            .flatten();
        shown
            .map(|&at| self.shown[at].text.as_str())
            .take(LABEL_PIECES)
            .collect()
    }

    fn add_item(&mut self, depth: usize, parts: &[Part], flow: &mut Flow) {
        let is_label = |part: &&Part| matches!(part, Part::Content { is_label: true, .. });
        let (labels, texts): (Vec<_>, Vec<_>) = parts.iter().partition(is_label);
        let label = self.flat(labels).text;
        let mut writer = Writer::default();
        // A bullet is a drawing, a number is text.
        let letter = sole_letter(&label);
        let bullet = letter.filter(|letter| self.bullets.contains(&(depth, *letter)));
        self.left_out.extend(bullet);
        let mut ordered = label.contains(char::is_alphanumeric) && bullet.is_none();
        if ordered {
            writer.inline.push(&label);
            writer.tail = label.chars().last();
            writer.separate();
        } else {
            writer.is_bullet_awaited = label.is_empty();
        }
        let flat = self.written(texts, writer);
        ordered |= label.is_empty() && begins_with_number(&flat.text);
        let depth = depth.min(MOST_LISTS);
        for _ in 0..depth {
            flow.open(Container::List { ordered });
        }
        flow.open(Container::Item);
        flow.paragraph(flat);
        for _ in 0..=depth {
            flow.close();
        }
    }

    /// Adds a table; what has one row, or in each row one cell with text, are paragraphs.
    fn add_table(&mut self, rows: &[Row], flow: &mut Flow) {
        let mut texts: Vec<Vec<Flat>> = Vec::new();
        for row in rows {
            let cells = row.cells.iter().map(|cell| self.flat(&cell.parts));
            texts.push(cells.collect());
        }
        let filled = |row: &Vec<Flat>| row.iter().filter(|cell| !cell.text.is_empty()).count();
        let rows_with_text = texts.iter().filter(|row| filled(row) > 0).count();
        if rows_with_text < 2 || texts.iter().all(|row| filled(row) < 2) {
            for flat in texts.into_iter().flatten() {
                flow.paragraph(flat);
            }
            return;
        }
        let mut grid = Grid::new();
        let mut is_head = true;
        let blank = blank_columns(rows, &texts);
        for (row, texts) in rows.iter().zip(&texts) {
            is_head &= row.is_header;
            let cells = row.cells.iter().zip(texts).enumerate();
            let cells = cells.filter(|(column, _)| !blank.contains(column));
            let cells = cells.map(|(_, (cell, flat))| Cell {
                text: &flat.text,
                links: &flat.links,
                columns: cell.columns,
                rows: cell.rows,
                names: cell.names,
            });
            grid.row(is_head, cells);
        }
        flow.table(grid, Vec::new());
    }

    fn flat<'p>(&mut self, parts: impl IntoIterator<Item = &'p Part>) -> Flat {
        self.written(parts, Writer::default())
    }

    fn written<'p>(
        &mut self,
        parts: impl IntoIterator<Item = &'p Part>,
        mut writer: Writer,
    ) -> Flat {
        for part in parts {
            match part {
                Part::Content {
                    page, number, link, ..
                } if *page == self.page => {
                    for at in self.marked.remove(number).unwrap_or_default() {
                        self.is_taken[at] = true;
                        writer.write(&self.shown[at], link.as_ref());
                    }
                }
                Part::Content { .. } => {}
                Part::Break => writer.line_break(),
            }
        }
        writer.finish()
    }

    /// Returns how many letters there are with such marks, in blocks or not.
    fn letters(&self, is_meant: impl Fn(&Mark, bool) -> bool) -> usize {
        let shown = self.shown.iter().zip(&self.is_taken);
        let shown = shown.filter(|(shown, taken)| is_meant(&shown.mark, **taken));
        let letters = shown.flat_map(|(shown, _)| shown.text.chars());
        letters.filter(|letter| letter.is_alphanumeric()).count()
    }

    /// Returns what is not in any block: heads, other text, and feet.
    fn rest(self, made: &Made) -> [Vec<Element>; 3] {
        let (lowest, highest) = self.extent();
        let mut rest: [Lines; 3] = Default::default();
        let shown = self.shown.iter().zip(&self.is_taken);
        for (shown, _) in shown.filter(|(_, taken)| !**taken) {
            let at = match shown.mark {
                Mark::Artifact(Some(End::Head)) => 0,
                Mark::Artifact(Some(End::Foot)) => 2,
                Mark::Artifact(None) if shown.place[5] > highest => 0,
                Mark::Artifact(None) if shown.place[5] < lowest => 2,
                _ => 1,
            };
            rest[at].add(shown);
        }
        let [heads, rest, feet] = rest;
        [
            paragraphs(Category::Header, heads, made),
            paragraphs(Category::NarrativeText, rest, made),
            paragraphs(Category::Footer, feet, made),
        ]
    }

    /// Returns between which heights the content stands.
    fn extent(&self) -> (f64, f64) {
        let shown = self.shown.iter().zip(&self.is_taken);
        let taken = shown.filter(|(_, taken)| **taken);
        let heights = taken.map(|(shown, _)| shown.place[5]);
        heights.fold((f64::MAX, f64::MIN), |(lowest, highest), y| {
            (lowest.min(y), highest.max(y))
        })
    }
}

fn is_artifact(mark: &Mark) -> bool {
    matches!(mark, Mark::Artifact(_))
}

fn paragraphs(category: Category, lines: Lines, made: &Made) -> Vec<Element> {
    let mut flow = Flow::of(made);
    for paragraph in lines.paragraphs {
        let mut inline = Inline::default();
        inline.push(&lines::joined(&paragraph));
        flow.text(category, inline.take());
    }
    flow.finish().1.into_vec()
}

/// Returns the columns that are blank throughout, if no cell covers several.
fn blank_columns(rows: &[Row], texts: &[Vec<Flat>]) -> BTreeSet<usize> {
    let cells = rows.iter().flat_map(|row| &row.cells);
    let is_plain = cells
        .into_iter()
        .all(|cell| cell.columns == 1 && cell.rows == 1);
    let columns = rows.iter().map(|row| row.cells.len()).max().unwrap_or(0);
    let mut blank: BTreeSet<usize> = (0..columns).filter(|_| is_plain).collect();
    for (column, flat) in texts.iter().flat_map(|row| row.iter().enumerate()) {
        if !flat.text.is_empty() {
            blank.remove(&column);
        }
    }
    blank
}

fn is_item(block: &Block) -> bool {
    matches!(block, Block::Text(Kind::Item(_), _))
}

/// Returns the letter of a label that is nothing else.
fn sole_letter(label: &str) -> Option<char> {
    let mut signs = label.trim().chars();
    let first = signs.next().filter(|sign| sign.is_alphabetic())?;
    signs.next().is_none().then_some(first)
}

/// Whether a text begins like `1. `, `b) ` or `(iv) `.
fn begins_with_number(text: &str) -> bool {
    let Some((first, _)) = text.split_once(char::is_whitespace) else {
        return false;
    };
    let number = first.trim_matches(['(', ')', '.']);
    let is_digits = number
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    let is_letter = number.len() == 1 && number.bytes().all(|byte| byte.is_ascii_alphabetic());
    let is_number = (1..=8).contains(&number.len()) && (is_digits || is_letter);
    is_number && first.ends_with([')', '.'])
}

/// Makes titles of texts that look like it, where the structure declares none.
fn keep_titles(elements: &mut [Element], laid_out: &[Element]) {
    let letters = |element: &Element| -> String {
        let text = element.text.as_deref().unwrap_or_default();
        text.chars()
            .filter(|letter| !letter.is_whitespace())
            .collect()
    };
    let titles = laid_out
        .iter()
        .filter(|element| element.category == Category::Title);
    let titles: Vec<(String, Option<&Value>)> = titles
        .map(|title| (letters(title), title.metadata.get("level")))
        .collect();
    let texts = elements
        .iter_mut()
        .filter(|element| element.category == Category::NarrativeText);
    for element in texts {
        let text = letters(element);
        if let Some((_, level)) = titles.iter().find(|(title, _)| *title == text) {
            element.category = Category::Title;
            let level = level.cloned().unwrap_or(1.into());
            element.metadata.insert("level".to_owned(), level);
        }
    }
}
