//! Tables of HTML: which of them hold data, and their cells.

use super::dom::{Data, Dom, Id, Step};
use super::read::{Role, enter_inline, heading_level, is_foreign_text, role};
use crate::addressed::Addressed;
use crate::grid::{Cell, Grid};
use crate::inline::{Flat, Inline, Picture};

/// The HTML standard lets no cell cover more columns.
const MAX_SPAN: u32 = 1000;

/// Whether a table holds data and not the layout of a page: neither a table nor a block of code is inside
/// it, and some row has words in more than one cell. A heading stands for a layout if other words are in its cell,
/// or if the table is a single row of words.
pub(super) fn is_data(dom: &Dom, table: Id) -> bool {
    let (mut rows, mut has_heading) = (0, false);
    for step in dom.walk(table) {
        let Step::Enter(id) = step else { continue };
        match dom.tag(id) {
            Some("pre") => return false,
            Some("table") if id != table => return false,
            Some("td" | "th") => match heading_of(dom, id) {
                Heading::None => {}
                Heading::Alone(_) => has_heading = true,
                Heading::AmongOthers => return false,
            },
            Some("tr") => rows += usize::from(is_filled(dom, id)),
            _ => {}
        }
    }
    rows > usize::from(has_heading)
}

/// Whether a row shows something in more than one cell, and not pictures only.
fn is_filled(dom: &Dom, row: Id) -> bool {
    let has_words = |cell: Id| {
        let mut below = dom.walk(cell);
        below.any(|step| matches!(step, Step::Enter(id) if is_words(dom.data(id))))
    };
    filled(dom, row).nth(1).is_some() && filled(dom, row).any(has_words)
}

/// What a cell has of a heading.
enum Heading {
    None,
    /// It is the whole cell.
    Alone(Id),
    AmongOthers,
}

fn heading_of(dom: &Dom, cell: Id) -> Heading {
    let mut heading = None;
    let mut has_others = false;
    let mut walk = dom.walk(cell);
    while let Some(step) = walk.next() {
        let Step::Enter(id) = step else { continue };
        if dom.tag(id).and_then(heading_level).is_some() {
            has_others |= heading.replace(id).is_some();
            walk.pass_over(id);
        } else {
            has_others |= id != cell && shows(dom, id);
        }
    }
    match heading {
        None => Heading::None,
        Some(_) if has_others => Heading::AmongOthers,
        Some(heading) => Heading::Alone(heading),
    }
}

/// Returns the cells of the headings, with their levels, that stand alone in the first rows of a table, across all of
/// it: each is a row for itself, and they head the table rather than a column. There may be pictures beside them.
pub(super) fn leading_headings(dom: &Dom, table: Id) -> Vec<(u64, Id)> {
    let heading = |row: Id| {
        let mut cells = cells(dom, row);
        let cell = cells.next().filter(|_| cells.next().is_none())?;
        match heading_of(dom, cell) {
            Heading::Alone(heading) => Some((heading_level(dom.tag(heading)?)?, cell)),
            _ => None,
        }
    };
    rows(dom, table).map_while(heading).collect()
}

/// Returns a table's caption, if it has one with words.
pub(super) fn caption(dom: &Dom, table: Id, pictures: &mut Addressed<'_, '_>) -> Option<Flat> {
    let caption = children(dom, table).find(|id| dom.tag(*id) == Some("caption"))?;
    let flat = flat(dom, caption, pictures);
    (!flat.text.is_empty()).then_some(flat)
}

/// Returns the rows of a table after the first few, and the pictures in their cells.
pub(super) fn read(
    dom: &Dom,
    table: Id,
    passed_over: usize,
    pictures: &mut Addressed<'_, '_>,
) -> (Grid, Vec<Picture>) {
    let mut grid = Grid::new();
    let mut shown = Vec::new();
    let mut is_leading = true;
    for id in rows(dom, table).skip(passed_over) {
        let mut row: Vec<(Id, Flat)> = cells(dom, id)
            .map(|cell| (cell, flat(dom, cell, pictures)))
            .collect();
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

/// Whether a row names the columns: it says so, or has names only; in a corner above and beside names there is
/// nothing.
fn is_header(dom: &Dom, row: Id) -> bool {
    let section = dom.ancestors(row).next().and_then(|parent| dom.tag(parent));
    let is_name = |cell: &Id| dom.tag(*cell) == Some("th");
    let others = cells(dom, row).filter(|cell| !is_name(cell)).count();
    let is_beside_corner = || {
        let corner = cells(dom, row).next().filter(|corner| !is_name(corner));
        let is_empty = corner.is_some() && filled(dom, row).next() != corner;
        is_empty && others == 1 && cells(dom, row).nth(2).is_some()
    };
    section == Some("thead") || others == 0 || is_beside_corner()
}

/// Returns the rows that have cells.
fn rows(dom: &Dom, table: Id) -> impl Iterator<Item = Id> {
    dom.walk(table).filter_map(|step| match step {
        Step::Enter(id) if dom.tag(id) == Some("tr") => cells(dom, id).next().map(|_| id),
        _ => None,
    })
}

/// Returns the cells of a row that show something.
fn filled(dom: &Dom, row: Id) -> impl Iterator<Item = Id> {
    cells(dom, row).filter(|cell| {
        let mut below = dom.walk(*cell);
        below.any(|step| matches!(step, Step::Enter(id) if shows(dom, id)))
    })
}

/// Whether a node by itself is something to see: words, or a picture that has words for it.
fn shows(dom: &Dom, id: Id) -> bool {
    let alt = dom.attribute(id, "alt").unwrap_or_default();
    is_words(dom.data(id)) || (dom.tag(id) == Some("img") && !alt.trim().is_empty())
}

fn is_words(data: &Data) -> bool {
    matches!(data, Data::Text(text) if !text.trim().is_empty())
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
pub(super) fn flat(dom: &Dom, root: Id, pictures: &mut Addressed<'_, '_>) -> Flat {
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

#[cfg(test)]
mod tests {
    use dpe_connector::content::{Category, Element};

    use crate::{Input, Limits, extract};

    fn elements(page: &str) -> Vec<Element> {
        let (name, bytes) = (b"a.html", page.as_bytes());
        let extraction = extract(&Input { name, bytes }, &Limits::default()).unwrap();
        let pages = extraction.pages.into_iter();
        pages.flat_map(|page| page.elements).collect()
    }

    const ROWS: &str = "<tr><td>a</td><td>b</td></tr><tr><td>c</td><td>d</td></tr>";

    #[test]
    fn picture_beside_a_heading_that_heads_a_table_is_shown() {
        let page = format!(
            "<table><tr><td><h3>Head</h3><img src='http://a/b.png'></td></tr>{ROWS}</table>"
        );
        let elements = elements(&page);
        let categories: Vec<Category> = elements.iter().map(|element| element.category).collect();
        let expected = [Category::Title, Category::Image, Category::Table];
        assert_eq!(categories, expected);
        assert_eq!(elements[0].text.as_deref(), Some("Head"));
    }

    #[test]
    fn heading_of_a_table_in_the_foot_of_a_page_is_no_title() {
        let page = format!(
            "<p>x</p><footer><table><tr><td><h3>Head</h3></td></tr>{ROWS}</table></footer>"
        );
        let elements = elements(&page);
        let head = elements
            .iter()
            .find(|element| element.text.as_deref() == Some("Head"));
        assert_eq!(head.unwrap().category, Category::Footer);
    }
}
