//! What the types of the elements of a structure mean (§14.8.4). Types that are none of the standard's are what the file maps them to.

use unpdf::parser::raw::{PdfDict, PdfObject};

use super::objects::Objects;

/// Types that are mapped to types that are mapped.
const MOST_MAPS: usize = 8;

/// Headings of deeper levels are of this one.
const DEEPEST: usize = 16;

/// What an element is for its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// A heading, of a level if it says so.
    Heading(Option<usize>),
    Paragraph,
    List,
    Item,
    Label,
    Table,
    /// Rows that name the columns.
    HeaderRows,
    Row,
    Cell {
        names: bool,
    },
    Link,
    /// A part of a text.
    Inline,
    /// Anything that holds others.
    Group,
}

/// Returns the role of an element.
pub(super) fn of<'d>(objects: Objects<'d>, map: Option<&'d PdfDict>, element: &'d PdfDict) -> Role {
    let mut name = objects.entry(element, b"S").and_then(PdfObject::as_name);
    for _ in 0..MOST_MAPS {
        let Some(found) = name else {
            break;
        };
        if let Some(role) = standard(found) {
            return role;
        }
        name = map.and_then(|map| objects.entry(map, found)?.as_name());
    }
    Role::Group
}

fn standard(name: &[u8]) -> Option<Role> {
    if let Some(level) = name.strip_prefix(b"H") {
        let digits = std::str::from_utf8(level).ok()?;
        let is_level = digits.len() <= 2 && digits.bytes().all(|byte| byte.is_ascii_digit());
        let level = digits
            .parse()
            .ok()
            .map(|level: usize| level.clamp(1, DEEPEST));
        return is_level.then_some(Role::Heading(level));
    }
    Some(match name {
        b"Title" => Role::Heading(Some(1)),
        b"P" | b"TOCI" | b"Caption" | b"Formula" | b"BibEntry" => Role::Paragraph,
        b"L" => Role::List,
        b"LI" => Role::Item,
        b"Lbl" => Role::Label,
        b"Table" => Role::Table,
        b"THead" => Role::HeaderRows,
        b"TR" => Role::Row,
        b"TH" => Role::Cell { names: true },
        b"TD" => Role::Cell { names: false },
        b"Link" => Role::Link,
        b"Span" | b"Quote" | b"Note" | b"Reference" | b"Code" | b"Em" | b"Strong" | b"Sub"
        | b"Annot" | b"Ruby" | b"RB" | b"RT" | b"RP" | b"Warichu" | b"WT" | b"WP" => Role::Inline,
        b"Document" | b"Part" | b"Art" | b"Sect" | b"Div" | b"BlockQuote" | b"TOC" | b"Index"
        | b"NonStruct" | b"Private" | b"LBody" | b"TBody" | b"TFoot" | b"Figure" | b"Form" => {
            Role::Group
        }
        _ => return None,
    })
}
