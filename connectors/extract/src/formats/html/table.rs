//! Tables of HTML: which of them hold data, and their cells.

use super::dom::{Data, Dom, Id, Step};
use super::read::{Role, enter_inline, is_foreign_text, role};
use crate::addressed::Addressed;
use crate::grid::{Cell, Grid};
use crate::inline::{Flat, Inline, Picture};

/// The HTML standard lets no cell cover more columns.
const MAX_SPAN: u32 = 1000;

/// Whether a table holds data and not the layout of a page: no table, heading or block of code inside
/// it, and some row of more than one cell.
pub(super) fn is_data(dom: &Dom, table: Id) -> bool {
    let mut has_columns = false;
    for step in dom.walk(table) {
        let Step::Enter(id) = step else { continue };
        match dom.tag(id) {
            Some("h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "pre") => return false,
            Some("table") if id != table => return false,
            Some("tr") => has_columns |= cells(dom, id).nth(1).is_some(),
            _ => {}
        }
    }
    has_columns
}

/// Returns a table's caption, if it has one with words.
pub(super) fn caption(dom: &Dom, table: Id, pictures: &mut Addressed<'_, '_>) -> Option<Flat> {
    let caption = children(dom, table).find(|id| dom.tag(*id) == Some("caption"))?;
    let flat = flat(dom, caption, pictures);
    (!flat.text.is_empty()).then_some(flat)
}

/// Returns the rows of a table and the pictures in its cells.
pub(super) fn read(dom: &Dom, table: Id, pictures: &mut Addressed<'_, '_>) -> (Grid, Vec<Picture>) {
    let mut grid = Grid::new();
    let mut shown = Vec::new();
    let mut is_leading = true;
    for step in dom.walk(table) {
        let Step::Enter(id) = step else { continue };
        if dom.tag(id) != Some("tr") {
            continue;
        }
        let mut row: Vec<(Id, Flat)> = cells(dom, id)
            .map(|cell| (cell, flat(dom, cell, pictures)))
            .collect();
        if row.is_empty() {
            continue;
        }
        is_leading &= is_header(dom, id);
        grid.row(
            is_leading,
            row.iter().map(|(cell, flat)| Cell {
                text: &flat.text,
                links: &flat.links,
                columns: span(dom, *cell, "colspan"),
                rows: span(dom, *cell, "rowspan"),
                names: dom.tag(*cell) == Some("th"),
            }),
        );
        shown.extend(row.iter_mut().flat_map(|(_, flat)| flat.pictures.drain(..)));
    }
    (grid, shown)
}

/// Whether a row names the columns.
fn is_header(dom: &Dom, row: Id) -> bool {
    let section = dom.ancestors(row).next().and_then(|parent| dom.tag(parent));
    section == Some("thead") || cells(dom, row).all(|cell| dom.tag(cell) == Some("th"))
}

fn cells(dom: &Dom, row: Id) -> impl Iterator<Item = Id> {
    children(dom, row).filter(|id| matches!(dom.tag(*id), Some("td" | "th")))
}

fn children(dom: &Dom, parent: Id) -> impl Iterator<Item = Id> {
    let mut walk = dom.walk(parent);
    walk.next();
    std::iter::from_fn(move || match walk.next()? {
        Step::Enter(id) => {
            walk.pass_over(id);
            Some(id)
        }
        Step::Leave(_) => None,
    })
}

fn span(dom: &Dom, cell: Id, name: &str) -> u32 {
    let span = dom.attribute(cell, name).unwrap_or_default().trim();
    span.parse().unwrap_or(1).min(MAX_SPAN)
}

/// Flattens everything in a node into one text; blocks begin new lines.
fn flat(dom: &Dom, root: Id, pictures: &mut Addressed<'_, '_>) -> Flat {
    let mut inline = Inline::default();
    let mut walk = dom.walk(root);
    while let Some(step) = walk.next() {
        match step {
            Step::Enter(id) => match dom.data(id) {
                Data::Text(text) => inline.push_collapsed(text),
                Data::Element { name, .. } => {
                    let is_read = match dom.tag(id) {
                        Some(tag) => enter(dom, id, tag, &mut inline, pictures),
                        None => is_foreign_text(&name.local),
                    };
                    if !is_read {
                        walk.pass_over(id);
                    }
                }
                Data::Other => {}
            },
            Step::Leave(id) => match dom.tag(id) {
                Some("a") => inline.close_link_of_page(),
                Some(tag) if role(tag) == Role::Block => inline.begin_line(),
                _ => {}
            },
        }
    }
    inline.take()
}

fn enter(
    dom: &Dom,
    id: Id,
    tag: &str,
    inline: &mut Inline,
    pictures: &mut Addressed<'_, '_>,
) -> bool {
    match role(tag) {
        Role::Dropped => return false,
        Role::Inline => enter_inline(dom, id, tag, inline, pictures),
        Role::Block => inline.begin_line(),
    }
    true
}
