//! XLSX (ECMA-376 part 1, §18).

use dpe_connector::content::DocumentHead;

use super::numbers::{Formats, truth};
use super::parts::Surroundings;
use super::stream::{Piece, Pieces, Tag};
use super::{LAST, Merged, Place, Sheet, document};
use crate::format::Format;
use crate::formats::head;
use crate::formats::ooxml::properties;
use crate::formats::ooxml::relations::Relations;
use crate::numbers::finite;
use crate::package::Package;
use crate::pictures::Pictures;
use crate::reading::Reading;
use crate::{Document, ExtractError, xml};

/// Reads a workbook.
///
/// # Errors
///
/// `damaged` if its list of sheets cannot be read, `bomb`.
pub(crate) fn read(
    format: Format,
    package: &mut Package<'_>,
    reading: &mut Reading<'_>,
) -> Result<Document, ExtractError> {
    let of_package = Relations::of("", package, reading)?;
    let part = of_package.of_kind("officeDocument").next();
    let part = part.unwrap_or("xl/workbook.xml").to_owned();
    let mut head = head(format.as_type("xlsx"));
    properties::declare(&mut head, &of_package, package, reading)?;
    let relations = Relations::of(&part, package, reading)?;
    let mut book = Book::default();
    let bytes = package.needed(&part, reading)?;
    book.read_list(&xml::text(&bytes)?)?;
    for (kind, read) in [
        ("styles", Book::read_styles as fn(&mut Book, &str) -> _),
        ("sharedStrings", Book::read_strings),
    ] {
        let part = relations.of_kind(kind).next().map(str::to_owned);
        if let Some(part) = part {
            let result = text_of(&part, package, reading).and_then(|text| read(&mut book, &text));
            reading.tolerated(&part, result)?;
        }
    }
    sheets(head, book, &relations, package, reading)
}

fn text_of(
    part: &str,
    package: &mut Package<'_>,
    reading: &mut Reading<'_>,
) -> Result<String, ExtractError> {
    xml::text(&package.needed(part, reading)?)
}

fn sheets(
    head: DocumentHead,
    book: Book,
    relations: &Relations,
    package: &mut Package<'_>,
    reading: &mut Reading<'_>,
) -> Result<Document, ExtractError> {
    let mut sheets = Vec::new();
    let mut surroundings = Surroundings {
        package,
        reading,
        pictures: Pictures::default(),
    };
    for (name, id) in &book.sheets {
        let mut sheet = Sheet::new(name, surroundings.reading);
        let Some(part) = relations.part(id) else {
            surroundings
                .reading
                .note(format!("left out: the sheet {name} has no part"));
            sheets.push(sheet);
            continue;
        };
        let of_sheet = Relations::of(part, surroundings.package, surroundings.reading)?;
        let text = text_of(part, surroundings.package, surroundings.reading);
        let result =
            text.and_then(|text| SheetReader::new(&book, &of_sheet, &mut sheet).read(&text));
        surroundings.reading.tolerated(name, result)?;
        sheet.count_shared(surroundings.reading)?;
        surroundings.tables(&of_sheet, &mut sheet)?;
        surroundings.add(&of_sheet, &mut sheet)?;
        sheets.push(sheet);
    }
    document(head, sheets, reading)
}

impl Surroundings<'_, '_, '_, '_> {
    /// Looks which rows are headers of tables that the sheet declares.
    fn tables(&mut self, of_sheet: &Relations, sheet: &mut Sheet) -> Result<(), ExtractError> {
        for part in of_sheet.of_kind("table") {
            let text = text_of(part, self.package, self.reading);
            let Some(text) = self.reading.tolerated(part, text)? else {
                continue;
            };
            let mut pieces = Pieces::new(&text);
            while let Ok(Some(piece)) = pieces.next() {
                if let Piece::Open(tag) = piece
                    && tag.is("table")
                {
                    let range = tag.attribute("ref").and_then(|range| range_of(&range));
                    if let Some(range) = range.filter(|_| tag.number("headerRowCount") != Some(0)) {
                        sheet.header_rows.insert(range.first.0);
                    }
                    break;
                }
            }
        }
        Ok(())
    }
}

/// What a workbook says for all its sheets.
#[derive(Debug, Default)]
struct Book {
    sheets: Vec<(String, String)>,
    strings: Vec<String>,
    formats: Formats,
}

impl Book {
    fn read_list(&mut self, text: &str) -> Result<(), ExtractError> {
        let mut pieces = Pieces::new(text);
        while let Some(piece) = pieces.next()? {
            let Piece::Open(tag) = piece else {
                continue;
            };
            match tag.name() {
                "workbookPr" => self.formats.is_1904 = tag.is_on("date1904"),
                "sheet" => {
                    let name = tag.attribute("name").unwrap_or_default();
                    let id = tag.attribute("id").unwrap_or_default();
                    self.sheets.push((name, id));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn read_strings(&mut self, text: &str) -> Result<(), ExtractError> {
        let mut pieces = Pieces::new(text);
        let mut words = Words::default();
        while let Some(piece) = pieces.next()? {
            if words.take(&piece) {
                self.strings.push(std::mem::take(&mut words.text));
            }
        }
        Ok(())
    }

    fn read_styles(&mut self, text: &str) -> Result<(), ExtractError> {
        let mut pieces = Pieces::new(text);
        let mut in_cell_formats = false;
        while let Some(piece) = pieces.next()? {
            match piece {
                Piece::Open(tag) => match tag.name() {
                    "numFmt" => self.define(&tag),
                    "cellXfs" => in_cell_formats = true,
                    "xf" if in_cell_formats => {
                        let format = tag.number("numFmtId").unwrap_or(0);
                        self.formats.of_cells.push(format.try_into().unwrap_or(0));
                    }
                    _ => {}
                },
                Piece::Close(name) if name == "cellXfs" => in_cell_formats = false,
                _ => {}
            }
        }
        Ok(())
    }

    fn define(&mut self, tag: &Tag<'_>) {
        let number = tag
            .number("numFmtId")
            .and_then(|number| number.try_into().ok());
        if let (Some(number), Some(code)) = (number, tag.attribute("formatCode")) {
            self.formats.define(number, &code);
        }
    }
}

/// Texts of runs (`t`), without how they are spoken (`rPh`).
#[derive(Debug, Default)]
struct Words {
    text: String,
    in_text: bool,
    is_spoken: bool,
}

impl Words {
    /// Takes a piece; `true` when a string (`si`) ends with it.
    fn take(&mut self, piece: &Piece<'_>) -> bool {
        match piece {
            Piece::Open(tag) => match tag.name() {
                "t" => self.in_text = true,
                "rPh" => self.is_spoken = true,
                _ => {}
            },
            Piece::Close(name) => match &**name {
                "t" => self.in_text = false,
                "rPh" => self.is_spoken = false,
                "si" => return true,
                _ => {}
            },
            Piece::Text(text) if self.in_text && !self.is_spoken => self.text.push_str(text),
            Piece::Text(_) => {}
        }
        false
    }
}

/// A sheet while it is read.
struct SheetReader<'s> {
    book: &'s Book,
    relations: &'s Relations,
    sheet: &'s mut Sheet,
    next: Place,
    cell: CellParts,
}

#[derive(Debug, Default)]
struct CellParts {
    place: Place,
    kind: String,
    format: usize,
    value: String,
    words: Words,
    in_value: bool,
    is_inline: bool,
}

impl<'s> SheetReader<'s> {
    fn new(book: &'s Book, relations: &'s Relations, sheet: &'s mut Sheet) -> Self {
        Self {
            book,
            relations,
            sheet,
            next: (0, 0),
            cell: CellParts::default(),
        }
    }

    fn read(mut self, text: &str) -> Result<(), ExtractError> {
        let mut pieces = Pieces::new(text);
        let mut furniture: Option<bool> = None;
        let mut coded = String::new();
        while let Some(piece) = pieces.next()? {
            if self.cell.is_inline {
                self.cell.words.take(&piece);
            }
            match piece {
                Piece::Open(tag) => {
                    furniture = furniture_of(tag.name()).or(furniture);
                    self.open(&tag);
                }
                Piece::Close(name) => {
                    if let Some(is_header) = furniture_of(&name) {
                        self.sheet
                            .add_furniture(is_header, &std::mem::take(&mut coded));
                        furniture = None;
                    }
                    self.close(&name);
                }
                Piece::Text(text) if self.cell.in_value => self.cell.value.push_str(&text),
                Piece::Text(text) if furniture.is_some() => coded.push_str(&text),
                Piece::Text(_) => {}
            }
        }
        Ok(())
    }

    fn open(&mut self, tag: &Tag<'_>) {
        match tag.name() {
            "row" => {
                if let Some(number) = tag.number("r").filter(|number| *number > 0) {
                    self.next = (number - 1, 0);
                }
            }
            "c" => self.begin_cell(tag),
            "v" => self.cell.in_value = true,
            "is" => self.cell.is_inline = true,
            "mergeCell" => {
                let merged = tag.attribute("ref").and_then(|range| range_of(&range));
                self.sheet.merged.extend(merged);
            }
            "hyperlink" => self.link(tag),
            _ => {}
        }
    }

    fn begin_cell(&mut self, tag: &Tag<'_>) {
        let place = tag.attribute("r").and_then(|name| self::place(&name));
        self.cell = CellParts {
            place: place.unwrap_or(self.next),
            kind: tag.attribute("t").unwrap_or_default(),
            format: tag.number("s").unwrap_or(0) as usize,
            ..CellParts::default()
        };
        self.next = (self.cell.place.0, self.cell.place.1.saturating_add(1));
    }

    fn close(&mut self, name: &str) {
        match name {
            "v" => self.cell.in_value = false,
            "is" => self.cell.is_inline = false,
            "row" => self.next = (self.next.0.saturating_add(1), 0),
            "c" => {
                let cell = std::mem::take(&mut self.cell);
                let place = cell.place;
                let text = self.text(cell);
                if !text.is_empty() && place <= (LAST.0, u32::MAX) && place.1 <= LAST.1 {
                    self.sheet.cells.push((place, text));
                }
            }
            _ => {}
        }
    }

    fn text(&mut self, cell: CellParts) -> String {
        let value = cell.value;
        match &*cell.kind {
            "s" => {
                let number: Option<usize> = value.trim().parse().ok();
                let string = number.and_then(|number| self.book.strings.get(number));
                string
                    .map(|string| self.sheet.share(string))
                    .unwrap_or_default()
            }
            "inlineStr" if value.is_empty() => cell.words.text,
            "str" | "e" | "d" | "inlineStr" => value,
            "b" => truth(value.trim() != "0" && !value.trim().eq_ignore_ascii_case("false")),
            _ => match finite(&value) {
                Some(number) => self.book.formats.text(number, cell.format),
                _ if value.is_empty() => cell.words.text,
                _ => value,
            },
        }
    }

    fn link(&mut self, tag: &Tag<'_>) {
        let range = tag.attribute("ref").and_then(|range| range_of(&range));
        let id = tag.attribute("id");
        let address = id.and_then(|id| self.relations.address(&id).map(str::to_owned));
        let within = tag.attribute("location").map(|place| format!("#{place}"));
        let url = match (address, within) {
            (Some(address), Some(within)) => Some(address + &within),
            (address, within) => address.or(within),
        };
        if let (Some(range), Some(url)) = (range, url) {
            self.sheet.links.insert(range.first, url);
        }
    }
}

fn furniture_of(name: &str) -> Option<bool> {
    match name {
        "oddHeader" | "evenHeader" | "firstHeader" => Some(true),
        "oddFooter" | "evenFooter" | "firstFooter" => Some(false),
        _ => None,
    }
}

/// Returns the place that a name like `AB12` means.
fn place(name: &str) -> Option<Place> {
    let name = name.trim();
    let digits = name.find(|character: char| character.is_ascii_digit())?;
    let mut column: u32 = 0;
    for letter in name[..digits].chars() {
        let value = letter.to_ascii_uppercase();
        if value == '$' {
            continue;
        }
        let value = u32::from(value)
            .checked_sub(u32::from('A'))
            .filter(|value| *value < 26)?;
        column = column.checked_mul(26)?.checked_add(value + 1)?;
    }
    let row: u32 = name[digits..].trim_start_matches('$').parse().ok()?;
    Some((row.checked_sub(1)?, column.checked_sub(1)?))
}

/// Returns the block that a name like `A1:B2` means.
fn range_of(name: &str) -> Option<Merged> {
    let (first, last) = name.split_once(':').unwrap_or((name, name));
    Some(Merged {
        first: place(first)?,
        last: place(last)?,
    })
}

#[cfg(test)]
mod tests {
    use super::place;

    #[test]
    fn places_are_found_by_their_names() {
        assert_eq!(place("A1"), Some((0, 0)));
        assert_eq!(place("XFD1048576"), Some((1_048_575, 16_383)));
        assert_eq!(place("AA10"), Some((9, 26)));
        assert_eq!(place("$AB$12"), Some((11, 27)));
        for name in [
            "",
            "A",
            "1",
            "A0",
            "é1",
            "$é1",
            "AAAAAAAAAAAAAA1",
            "A99999999999",
        ] {
            assert_eq!(place(name), None, "{name}");
        }
    }
}
