//! The walk through the elements of a structure. Elements that go in circles, or have no end, are passed over.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use unpdf::parser::raw::{PdfDict, PdfObject, RawDocument};

use super::super::text_string::text_string;
use super::objects::{self, Objects};
use super::roles::{self, Role};
use super::{Block, Cell, Id, Kind, Part, Row, Structure};

/// Elements and contents of a document, and elements within elements.
const MOST_NODES: usize = 2_000_000;
const MOST_DEPTH: usize = 100;

/// Columns or rows of a cell.
const MOST_SPAN: i64 = 1000;

/// Bytes of an address; browsers take less.
const MOST_ADDRESS: usize = 8 << 10;

pub(super) fn structure(file: &RawDocument, bytes: &[u8], ids: &[Id]) -> Option<Structure> {
    let catalog = file.catalog().ok()?;
    catalog.get(&b"StructTreeRoot"[..])?;
    let hidden = objects::hidden(file, bytes);
    let objects = Objects {
        file,
        hidden: &hidden,
    };
    let root = objects.entry(catalog, b"StructTreeRoot")?.as_dict()?;
    let pages = ids.iter().enumerate().map(|(page, id)| (*id, page));
    let mut walk = Walk {
        objects,
        pages: pages.collect(),
        roles: objects.entry(root, b"RoleMap").and_then(PdfObject::as_dict),
        seen: HashSet::new(),
        nodes: 0,
        found: Structure::default(),
        open: None,
        awaits_item: false,
        links: HashMap::new(),
    };
    walk.found.pages.resize_with(ids.len(), Vec::new);
    walk.kids(root, &Around::default());
    walk.close();
    Some(walk.found)
}

struct Walk<'d> {
    objects: Objects<'d>,
    pages: HashMap<Id, usize>,
    roles: Option<&'d PdfDict>,
    seen: HashSet<Id>,
    nodes: usize,
    found: Structure,
    /// The text to which content belongs now.
    open: Option<(Kind, Vec<Part>)>,
    /// Whether the next text is the first of an item.
    awaits_item: bool,
    /// Addresses by where they are: many elements may share one.
    links: HashMap<*const u8, Rc<str>>,
}

/// What is known from the elements around.
#[derive(Clone, Default)]
struct Around {
    depth: usize,
    page: Option<usize>,
    link: Option<Rc<str>>,
    lists: usize,
    sections: usize,
    is_label: bool,
    /// Whether all that is within is one text.
    is_whole: bool,
}

impl<'d> Walk<'d> {
    fn kids(&mut self, element: &'d PdfDict, around: &Around) {
        if let Some(kids) = element.get(&b"K"[..]) {
            self.node(kids, around);
        }
    }

    fn node(&mut self, node: &'d PdfObject, around: &Around) {
        if !self.enters(node, around) {
            return;
        }
        let node = self.objects.resolve(node);
        if let Some(nodes) = node.as_array() {
            let around = Around {
                depth: around.depth + 1,
                ..around.clone()
            };
            for node in nodes {
                self.node(node, &around);
            }
        } else if let Some(dict) = node.as_dict() {
            let around = Around {
                depth: around.depth + 1,
                page: self.page(dict).or(around.page),
                ..around.clone()
            };
            match dict.get(&b"MCID"[..]) {
                // Content of forms has numbers of its own.
                Some(_) if dict.get(&b"Stm"[..]).is_some() => {}
                Some(number) => self.content(self.objects.resolve(number).as_i64(), &around),
                // What is stuck onto the page is no part of its content.
                None if dict.get(&b"Obj"[..]).is_some() => {}
                None => self.element(dict, around),
            }
        } else {
            self.content(node.as_i64(), around);
        }
    }

    /// Counts a node, and returns whether it is to be read.
    fn enters(&mut self, node: &PdfObject, around: &Around) -> bool {
        self.nodes += 1;
        let is_new = node.as_reference().is_none_or(|id| self.seen.insert(id));
        is_new && self.nodes <= MOST_NODES && around.depth <= MOST_DEPTH
    }

    fn page(&self, dict: &'d PdfDict) -> Option<usize> {
        let page = dict.get(&b"Pg"[..])?.as_reference()?;
        self.pages.get(&page).copied()
    }

    fn element(&mut self, dict: &'d PdfDict, mut around: Around) {
        let role = roles::of(self.objects, self.roles, dict);
        match role {
            role if around.is_whole => self.within(dict, role, around),
            Role::Heading(level) => {
                let level = level.unwrap_or(around.sections.max(1));
                self.begin(Kind::Heading(level));
                around.is_whole = true;
                self.kids(dict, &around);
                self.close();
            }
            Role::Paragraph => {
                self.close_unless_labels();
                self.kids(dict, &around);
                self.close();
            }
            Role::List | Role::Item => {
                let is_item = role == Role::Item;
                self.close();
                around.lists += usize::from(!is_item);
                self.awaits_item = is_item;
                self.kids(dict, &around);
                self.close();
                self.awaits_item = false;
            }
            Role::Table => {
                self.close();
                self.table(dict, &around);
            }
            Role::Label | Role::Link | Role::Inline => self.within(dict, role, around),
            Role::Group | Role::HeaderRows | Role::Row | Role::Cell { .. } => {
                self.group(dict, around);
            }
        }
    }

    /// Reads what holds others; the body of an item goes on after its label.
    fn group(&mut self, dict: &'d PdfDict, mut around: Around) {
        self.close_unless_labels();
        around.sections += usize::from(self.name(dict) == Some(b"Sect"));
        self.kids(dict, &around);
        self.close();
    }

    /// Ends the open text, unless all of it by now is the label of what comes.
    fn close_unless_labels(&mut self) {
        let is_labelled = self
            .open
            .as_ref()
            .is_some_and(|(_, parts)| are_labels(parts));
        if !is_labelled {
            self.close();
        }
    }

    /// Reads an element within a text.
    fn within(&mut self, dict: &'d PdfDict, role: Role, mut around: Around) {
        match role {
            Role::Paragraph | Role::Item | Role::Row | Role::Heading(_) => {
                if let Some((_, parts)) = &mut self.open
                    && !matches!(parts.last(), None | Some(Part::Break))
                {
                    parts.push(Part::Break);
                }
            }
            Role::Label => around.is_label = true,
            Role::Link => around.link = self.link(dict).or(around.link),
            _ => {}
        }
        self.kids(dict, &around);
    }

    fn name(&self, dict: &'d PdfDict) -> Option<&'d [u8]> {
        self.objects.entry(dict, b"S").and_then(PdfObject::as_name)
    }

    /// Returns the address to which a link leads, unless nobody would have it.
    fn link(&mut self, dict: &'d PdfDict) -> Option<Rc<str>> {
        let address = self.address(dict)?;
        if address.len() > MOST_ADDRESS {
            return None;
        }
        let link = self.links.entry(address.as_ptr());
        let link = link.or_insert_with(|| Rc::from(text_string(address)));
        Some(Rc::clone(link))
    }

    fn address(&self, dict: &'d PdfDict) -> Option<&'d [u8]> {
        let kids = self.objects.entry(dict, b"K")?;
        let kids = kids.as_array().unwrap_or(std::slice::from_ref(kids));
        kids.iter().take(16).find_map(|kid| {
            let object = self.objects.resolve(kid).as_dict()?;
            let annotation = self.objects.entry(object, b"Obj")?.as_dict()?;
            let action = self.objects.entry(annotation, b"A")?.as_dict()?;
            self.objects.entry(action, b"URI")?.as_str_bytes()
        })
    }

    fn content(&mut self, number: Option<i64>, around: &Around) {
        let (Some(number), Some(page)) = (number, around.page) else {
            return;
        };
        let kind = match around.lists {
            depth if depth > 0 && self.awaits_item => Kind::Item(depth),
            _ => Kind::Paragraph,
        };
        self.awaits_item = false;
        let (_, parts) = self.open.get_or_insert((kind, Vec::new()));
        parts.push(Part::Content {
            page,
            number,
            link: around.link.clone(),
            is_label: around.is_label,
        });
    }

    fn begin(&mut self, kind: Kind) {
        self.close();
        self.open = Some((kind, Vec::new()));
    }

    /// Ends the open text; what of it is on further pages are texts there.
    fn close(&mut self) {
        let Some((mut kind, parts)) = self.open.take() else {
            return;
        };
        self.found.has_headings |= matches!(kind, Kind::Heading(_));
        let mut rest = parts.as_slice();
        while let Some(page) = rest.iter().find_map(page) {
            let is_there = |part: &Part| self::page(part).is_none_or(|other| other == page);
            let end = rest.iter().position(|part| !is_there(part));
            let (here, after) = rest.split_at(end.unwrap_or(rest.len()));
            self.found.pages[page].push(Block::Text(kind, here.to_vec()));
            if !matches!(kind, Kind::Heading(_)) {
                kind = Kind::Paragraph;
            }
            rest = after;
        }
    }

    fn table(&mut self, dict: &'d PdfDict, around: &Around) {
        let mut rows = Vec::new();
        if let Some(kids) = dict.get(&b"K"[..]) {
            self.rows(kids, around, false, &mut rows);
        }
        let mut of_pages: Vec<(usize, Vec<Row>)> = Vec::new();
        for row in rows {
            let here = row.cells.iter().flat_map(|cell| &cell.parts).find_map(page);
            match (here, of_pages.last_mut()) {
                (None, None) => {}
                (here, Some((page, rows))) if here.is_none_or(|here| here == *page) => {
                    rows.push(row)
                }
                (Some(here), _) => of_pages.push((here, vec![row])),
                (None, Some(_)) => {}
            }
        }
        for (page, rows) in of_pages {
            self.found.pages[page].push(Block::Table(rows));
        }
    }

    /// Reads the rows of a table; what stands between them comes before it.
    fn rows(&mut self, node: &'d PdfObject, around: &Around, is_header: bool, rows: &mut Vec<Row>) {
        if !self.enters(node, around) {
            return;
        }
        let mut around = around.clone();
        around.depth += 1;
        let node = self.objects.resolve(node);
        if let Some(nodes) = node.as_array() {
            for node in nodes {
                self.rows(node, &around, is_header, rows);
            }
            return;
        }
        let Some(dict) = node.as_dict() else {
            return;
        };
        around.page = self.page(dict).or(around.page);
        let kids = dict.get(&b"K"[..]);
        match roles::of(self.objects, self.roles, dict) {
            Role::Row => {
                let mut cells = Vec::new();
                if let Some(kids) = kids {
                    self.cells(kids, &around, &mut cells);
                }
                let are_names = !cells.is_empty() && cells.iter().all(|cell| cell.names);
                let is_header = is_header || are_names;
                rows.push(Row { is_header, cells });
            }
            role @ (Role::Group | Role::HeaderRows) => {
                let is_header = is_header || role == Role::HeaderRows;
                if let Some(kids) = kids {
                    self.rows(kids, &around, is_header, rows);
                }
            }
            _ => {
                self.element(dict, around);
                self.close();
            }
        }
    }

    fn cells(&mut self, node: &'d PdfObject, around: &Around, cells: &mut Vec<Cell>) {
        if !self.enters(node, around) {
            return;
        }
        let mut around = around.clone();
        around.depth += 1;
        let node = self.objects.resolve(node);
        for node in node.as_array().unwrap_or_default() {
            self.cells(node, &around, cells);
        }
        let Some(dict) = node.as_dict() else {
            return;
        };
        let role = roles::of(self.objects, self.roles, dict);
        around.page = self.page(dict).or(around.page);
        around.is_whole = true;
        self.begin(Kind::Paragraph);
        self.kids(dict, &around);
        let parts = self.open.take().map(|(_, parts)| parts);
        cells.push(Cell {
            names: role == Role::Cell { names: true },
            columns: self.span(dict, b"ColSpan"),
            rows: self.span(dict, b"RowSpan"),
            parts: parts.unwrap_or_default(),
        });
    }

    /// Returns how many columns or rows a cell covers.
    fn span(&self, dict: &'d PdfDict, name: &[u8]) -> u32 {
        let Some(said) = self.objects.entry(dict, b"A") else {
            return 1;
        };
        let said = said.as_array().unwrap_or(std::slice::from_ref(said));
        let span = said.iter().take(16).find_map(|said| {
            let said = self.objects.resolve(said).as_dict()?;
            self.objects.entry(said, name)?.as_i64()
        });
        let span = span.unwrap_or(1).clamp(1, MOST_SPAN);
        u32::try_from(span).unwrap_or(1)
    }
}

fn page(part: &Part) -> Option<usize> {
    match part {
        Part::Content { page, .. } => Some(*page),
        Part::Break => None,
    }
}

fn are_labels(parts: &[Part]) -> bool {
    parts
        .iter()
        .all(|part| matches!(part, Part::Content { is_label: true, .. }))
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use unpdf::parser::raw::RawDocument;

    use super::super::{Block, Part};
    use super::{MOST_ADDRESS, structure};

    /// The parts of the texts on the only page of a file with these elements.
    fn parts(elements: &str, address: &str) -> Vec<Part> {
        let file = format!(
            "%PDF-1.4\n1 0 obj <</Type/Catalog/StructTreeRoot 2 0 R>> endobj\n\
             2 0 obj <</RoleMap<</Hyperlink/Link/Number/Lbl>>/K[{elements}]>> endobj\n\
             3 0 obj <</Type/Page>> endobj\n9 0 obj <</A<</URI({address})>>>> endobj\n"
        );
        let bytes = file.as_bytes();
        let file = RawDocument::load(bytes).unwrap();
        let found = structure(&file, bytes, &[(3, 0)]).unwrap();
        let texts = found.pages.into_iter().flatten().map(|block| match block {
            Block::Text(_, parts) => parts,
            Block::Table(_) => Vec::new(),
        });
        texts.flatten().collect()
    }

    fn link(part: &Part) -> Option<&Rc<str>> {
        match part {
            Part::Content { link, .. } => link.as_ref(),
            Part::Break => None,
        }
    }

    #[test]
    fn links_and_labels_are_what_the_file_maps_to_them() {
        let found = parts(
            "<</S/P/Pg 3 0 R/K[<</S/Number/K 0>><</S/Hyperlink/K[<</Obj 9 0 R>> 1]>>]>>",
            "a:b",
        );
        assert!(matches!(
            found[0],
            Part::Content {
                number: 0,
                is_label: true,
                ..
            }
        ));
        assert!(matches!(
            found[1],
            Part::Content {
                number: 1,
                is_label: false,
                ..
            }
        ));
        assert_eq!(link(&found[0]), None);
        assert_eq!(link(&found[1]).map(|link| &**link), Some("a:b"));
    }

    #[test]
    fn address_of_many_links_is_held_once_and_one_out_of_all_proportion_is_none() {
        let links = "<</S/Link/Pg 3 0 R/K[<</Obj 9 0 R>> 0]>>".repeat(2);
        let found = parts(&links, "a:b");
        assert!(Rc::ptr_eq(
            link(&found[0]).unwrap(),
            link(&found[1]).unwrap()
        ));
        let found = parts(&links, &"a".repeat(MOST_ADDRESS + 1));
        assert_eq!((found.len(), link(&found[0])), (2, None));
    }
}
