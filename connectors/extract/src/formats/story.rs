//! Paragraphs as the word processors of before XML write them, to blocks: text comes piece by piece, and
//! only the mark at its end tells whether it was a heading, an item, a cell or a row.
//!
//! Knows no format: the readers of RTF and DOC both write into it.

use dpe_connector::content::{DocumentHead, Metadata, Page};

use crate::elements::Link;
use crate::flow::{Container, Flow, title};
use crate::formats::role::Role;
use crate::formats::typed::Typed;
use crate::grid::{Cell, Grid};
use crate::inline::{Flat, Inline, Picture};
use crate::reading::Reading;
use crate::{Document, pages};

/// Levels of lists that are told apart.
const MAX_LIST_DEPTH: usize = 9;

/// The widest span that is believed.
const MAX_SPAN: u32 = 1024;

/// What a paragraph's mark says about it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Paragraph {
    /// Level of a heading, from 1.
    pub(crate) heading: Option<u64>,
    /// Depth from 0 and order of a list's item.
    pub(crate) item: Option<(usize, bool)>,
    pub(crate) role: Role,
    /// Whether the role is only told by letters of one width.
    pub(crate) is_by_width: bool,
    /// Whether it is in a cell.
    pub(crate) in_table: bool,
    /// How it stands, if it may be an item whose label is typed.
    pub(crate) typed: Option<Typed>,
}

impl Paragraph {
    /// Whether it is written as code.
    fn is_code(&self) -> bool {
        self.role.is_code() && self.heading.is_none() && self.item.is_none() && !self.in_table
    }
}

/// What a row says about one of its cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CellForm {
    /// It goes on with what the cell before it has.
    pub(crate) joins_left: bool,
    /// It goes on with what the cell above it has.
    pub(crate) joins_above: bool,
}

/// A run of blocks under construction: the body, a note, a text box.
#[derive(Debug, Default)]
pub(crate) struct Story {
    inline: Inline,
    cell: Flat,
    row: Vec<Flat>,
    rows: Vec<Row>,
    blocks: Vec<Block>,
    /// Notes and boxes that are written after the paragraph or the table in which they are anchored.
    anchored: Vec<Block>,
    anchored_in_table: Vec<Block>,
}

#[derive(Debug)]
struct Row {
    is_header: bool,
    cells: Vec<Flat>,
    forms: Vec<CellForm>,
}

/// What a story consists of.
#[derive(Debug)]
pub(crate) enum Block {
    Paragraph(Paragraph, Flat),
    Table(Grid, Vec<Picture>),
    PageBreak,
    /// Blocks within something.
    Within(Container, Vec<Block>),
}

impl Block {
    /// A paragraph of a text alone.
    pub(crate) fn text(text: &str) -> Self {
        let mut inline = Inline::default();
        inline.push(text);
        Self::Paragraph(Paragraph::default(), inline.take())
    }
}

impl Story {
    /// Returns the text of the paragraph that is being written.
    pub(crate) fn inline(&mut self) -> &mut Inline {
        &mut self.inline
    }

    /// Ends the paragraph.
    pub(crate) fn end_paragraph(&mut self, paragraph: Paragraph) {
        let flat = match paragraph.is_code() {
            true => self.inline.take_code(),
            false => self.inline.take(),
        };
        if paragraph.in_table {
            append(&mut self.cell, flat);
            self.anchored_in_table.append(&mut self.anchored);
            return;
        }
        self.end_table();
        if !flat.text.trim().is_empty() || !flat.pictures.is_empty() {
            self.blocks.push(Block::Paragraph(paragraph, flat));
        }
        self.blocks.append(&mut self.anchored);
    }

    /// Ends a cell, and the paragraph in it.
    pub(crate) fn end_cell(&mut self) {
        let flat = self.inline.take();
        append(&mut self.cell, flat);
        self.row.push(std::mem::take(&mut self.cell));
        self.anchored_in_table.append(&mut self.anchored);
    }

    /// Ends a row.
    pub(crate) fn end_row(&mut self, is_header: bool, forms: &[CellForm]) {
        if self.row.is_empty() {
            return;
        }
        let cells = std::mem::take(&mut self.row);
        // A definition may be of many more cells than its rows have.
        let forms = &forms[..forms.len().min(cells.len())];
        self.rows.push(Row {
            is_header,
            cells,
            forms: forms.to_vec(),
        });
    }

    /// Adds blocks that are anchored in the paragraph or the table here.
    pub(crate) fn anchor(&mut self, container: Option<Container>, blocks: Vec<Block>) {
        if blocks.is_empty() {
            return;
        }
        match container {
            Some(container) => self.anchored.push(Block::Within(container, blocks)),
            None => self.anchored.extend(blocks),
        }
    }

    /// Adds blocks before the paragraph or the table that is being written.
    pub(crate) fn place(&mut self, container: Container, blocks: Vec<Block>) {
        self.blocks.push(Block::Within(container, blocks));
    }

    /// Adds a break between pages.
    pub(crate) fn page_break(&mut self) {
        let has_table = !self.rows.is_empty() || !self.row.is_empty() || !self.cell.text.is_empty();
        if !has_table {
            self.end_paragraph(Paragraph::default());
            self.blocks.push(Block::PageBreak);
        }
    }

    /// Returns the blocks; what is open ends here.
    pub(crate) fn finish(mut self, paragraph: Paragraph) -> Vec<Block> {
        let has_cell = !self.row.is_empty() || !self.cell.text.is_empty();
        if has_cell && paragraph.in_table {
            self.end_cell();
        }
        self.end_paragraph(Paragraph {
            in_table: false,
            ..paragraph
        });
        self.blocks
    }

    fn end_table(&mut self) {
        if !self.cell.text.is_empty() || !self.cell.pictures.is_empty() {
            self.row.push(std::mem::take(&mut self.cell));
        }
        self.cell = Flat::default();
        self.end_row(false, &[]);
        let mut notes = std::mem::take(&mut self.anchored_in_table);
        if self.rows.is_empty() {
            self.blocks.append(&mut notes);
            return;
        }
        let mut rows = std::mem::take(&mut self.rows);
        let pictures = rows
            .iter_mut()
            .flat_map(|row| &mut row.cells)
            .flat_map(|cell| std::mem::take(&mut cell.pictures))
            .collect();
        self.blocks.push(Block::Table(grid(&rows), pictures));
        self.blocks.append(&mut notes);
    }
}

/// Adds a paragraph to the cell it is in.
fn append(cell: &mut Flat, mut flat: Flat) {
    if !cell.text.is_empty() && !flat.text.is_empty() {
        cell.text.push('\n');
    }
    let start = cell.text.len();
    cell.text.push_str(&flat.text);
    cell.links.extend(flat.links.into_iter().map(|link| Link {
        start: link.start + start,
        end: link.end + start,
        ..link
    }));
    cell.pictures.append(&mut flat.pictures);
    cell.has_words |= flat.has_words;
}

fn grid(rows: &[Row]) -> Grid {
    let mut grid = Grid::new();
    // Header rows come first; one in the middle is a row like others.
    let headers = rows.iter().take_while(|row| row.is_header).count();
    for (number, row) in rows.iter().enumerate() {
        let form = |at: usize| row.forms.get(at).copied().unwrap_or_default();
        let cells = row.cells.iter().enumerate().filter_map(|(at, cell)| {
            if (form(at).joins_left && at > 0) || (form(at).joins_above && number > 0) {
                // What the format says is not there may have words all the same.
                if cell.text.is_empty() {
                    return None;
                }
            }
            let right = row.cells[at + 1..].iter().enumerate();
            let columns = right
                .take_while(|(step, cell)| form(at + 1 + step).joins_left && cell.text.is_empty())
                .count();
            let below = rows[number + 1..].iter();
            let spanned = below
                .take(MAX_SPAN as usize)
                .take_while(|row| {
                    row.forms.get(at).is_some_and(|form| form.joins_above)
                        && row.cells.get(at).is_some_and(|cell| cell.text.is_empty())
                })
                .count();
            let spanned = if form(at).joins_above { 0 } else { spanned };
            Some(Cell {
                text: &cell.text,
                links: &cell.links,
                columns: (columns as u32 + 1).min(MAX_SPAN),
                rows: spanned as u32 + 1,
                names: false,
            })
        });
        grid.row(number < headers && headers < rows.len(), cells);
    }
    grid
}

/// Makes lines that are code only by the width of their letters the paragraphs they are.
pub(crate) fn forget_code_lines(blocks: &mut [Block]) {
    for block in blocks {
        if let Block::Paragraph(paragraph, flat) = block
            && paragraph.is_by_width
        {
            paragraph.role = Role::Text;
            flat.trim();
        }
    }
}

/// Whether blocks say nothing: a header whose number of the page is left out may have a dash.
pub(crate) fn is_silent(blocks: &[Block]) -> bool {
    blocks.iter().all(|block| match block {
        Block::Paragraph(_, flat) => {
            flat.pictures.is_empty() && !flat.text.contains(char::is_alphanumeric)
        }
        Block::PageBreak => true,
        Block::Table(..) | Block::Within(..) => false,
    })
}

/// Returns what holds the text of a comment.
pub(crate) fn comment() -> Container {
    let mut said = Metadata::new();
    said.insert("comment".to_owned(), true.into());
    Container::Aside(said)
}

/// Makes a document of blocks; one that declares no title has that of its first paragraph that is one.
pub(crate) fn document(
    mut head: DocumentHead,
    blocks: Vec<Block>,
    reading: &Reading<'_>,
) -> Document {
    if head.title.is_none() {
        head.title = blocks.iter().find_map(|block| match block {
            Block::Paragraph(paragraph, flat) if paragraph.role == Role::Title => title(&flat.text),
            _ => None,
        });
    }
    let pages = pages(blocks, reading);
    Document { head, pages }
}

/// Writes blocks as pages: those between breaks, without the empty ones.
fn pages(blocks: Vec<Block>, reading: &Reading<'_>) -> Vec<Page> {
    let mut flow = Flow::of(reading.made());
    let mut found = Vec::new();
    for block in blocks {
        match block {
            Block::PageBreak => found.append(&mut pages::of(flow.turn_page())),
            block => write(vec![block], &mut flow, 0),
        }
    }
    found.append(&mut pages::of(flow.turn_page()));
    found
}

fn write(blocks: Vec<Block>, flow: &mut Flow, nested: usize) {
    for block in blocks {
        match block {
            Block::Paragraph(paragraph, flat) if nested == 0 => {
                write_paragraph(paragraph, flat, flow);
            }
            // Notes and headers have neither headings nor titles.
            Block::Paragraph(paragraph, flat) => {
                let item = paragraph.item;
                let paragraph = Paragraph {
                    item,
                    ..Paragraph::default()
                };
                write_paragraph(paragraph, flat, flow);
            }
            Block::Table(grid, pictures) => flow.table(grid, pictures),
            Block::PageBreak => flow.page_break(),
            // Readers bound how deep stories are in stories.
            Block::Within(container, blocks) => {
                flow.open(container);
                write(blocks, flow, nested + 1);
                flow.close();
            }
        }
    }
}

fn write_paragraph(paragraph: Paragraph, flat: Flat, flow: &mut Flow) {
    if let Some(level) = paragraph.heading {
        flow.heading(level, flat);
        return;
    }
    let Some((depth, ordered)) = paragraph.item else {
        paragraph.role.write(flat, flow);
        return;
    };
    let depth = depth.min(MAX_LIST_DEPTH - 1) + 1;
    for level in 0..depth {
        let ordered = ordered && level + 1 == depth;
        flow.open(Container::List { ordered });
    }
    flow.open(Container::Item);
    flow.paragraph(flat);
    for _ in 0..=depth {
        flow.close();
    }
}
