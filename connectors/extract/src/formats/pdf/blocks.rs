//! The blocks the parser finds on a page, told to the flow.

use dpe_connector::content::Element;
use unpdf::model::ListStyle;
use unpdf::{Block, InlineContent, ListInfo, Page, Paragraph, Table};

use super::lines;
use super::tables::{self, Supposed};
use crate::flow::{Container, Flow};
use crate::grid::{Cell, Grid};
use crate::inline::{Flat, Inline};
use crate::made::Made;

/// Adds everything readable on a page.
pub(super) fn add(page: Page, flow: &mut Flow) {
    for block in page.elements {
        match block {
            Block::Paragraph(paragraph) => add_paragraph(&paragraph, flow),
            Block::Table(table) => match tables::settle(table) {
                Supposed::Table(table) => add_table(&table, flow),
                Supposed::Paragraphs(paragraphs) => {
                    for paragraph in &paragraphs {
                        add_paragraph(paragraph, flow);
                    }
                }
            },
            Block::Code { content } => flow.code(&content, None),
            Block::Raw { content } => {
                let mut inline = Inline::default();
                inline.push(&content);
                flow.paragraph(inline.take());
            }
            // Pictures have a module of their own; rules are drawings.
            Block::Image { .. }
            | Block::HorizontalRule
            | Block::PageBreak
            | Block::SectionBreak => {}
        }
    }
}

/// Returns paragraphs of which nothing is known but their lines.
pub(super) fn paragraphs(painted: &[Vec<String>], made: &Made) -> Vec<Element> {
    let mut flow = Flow::of(made);
    for paragraph in painted {
        let mut inline = Inline::default();
        inline.push(&lines::joined(paragraph));
        flow.paragraph(inline.take());
    }
    flow.finish().1.into_vec()
}

fn add_paragraph(paragraph: &Paragraph, flow: &mut Flow) {
    let mut flat = flat(paragraph);
    if let Some(level) = paragraph.heading_level() {
        flow.heading(level.into(), flat);
        return;
    }
    let Some(list) = &paragraph.style.list_info else {
        flow.paragraph(flat);
        return;
    };
    let ordered = matches!(list.style, ListStyle::Ordered { .. });
    if let Some(number) = number(list) {
        flat = numbered(&number, paragraph);
    }
    flow.open(Container::List { ordered });
    flow.open(Container::Item);
    flow.paragraph(flat);
    flow.close();
    flow.close();
}

/// Returns the printed number of an item; a bullet is a drawing, a number is text.
fn number(list: &ListInfo) -> Option<String> {
    list.item_number.map(|number| format!("{number}. "))
}

fn flat(paragraph: &Paragraph) -> Flat {
    numbered("", paragraph)
}

fn numbered(number: &str, paragraph: &Paragraph) -> Flat {
    let mut inline = Inline::default();
    inline.push(number);
    for content in &paragraph.content {
        match content {
            InlineContent::Text(run) => inline.push(&run.text),
            InlineContent::LineBreak => inline.line_break(),
            InlineContent::Link { text, url, .. } => {
                inline.open_link(url);
                inline.push(text);
                inline.close_link();
            }
            InlineContent::Image { .. } => {}
        }
    }
    inline.take()
}

fn add_table(table: &Table, flow: &mut Flow) {
    let mut grid = Grid::new();
    for row in &table.rows {
        let texts: Vec<String> = row.cells.iter().map(|cell| cell.plain_text()).collect();
        let cells = row.cells.iter().zip(&texts).map(|(cell, text)| Cell {
            text: text.trim(),
            columns: cell.colspan.max(1).into(),
            rows: cell.rowspan.max(1).into(),
            ..Cell::default()
        });
        grid.row(row.is_header, cells);
    }
    flow.table(grid, Vec::new());
}
