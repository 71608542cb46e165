//! What the control words of RTF do.

use super::group::{About, Destination, Ending, Kind};
use super::picture::PictureData;
use super::reader::{Field, Reader};
use crate::codepage;
use crate::formats::fields;

impl Reader<'_, '_> {
    /// Follows a control symbol.
    pub(super) fn symbol(&mut self, symbol: u8) {
        match symbol {
            b'*' => {
                self.group.is_starred = true;
                return;
            }
            _ if self.skip > 0 => {
                self.skip -= 1;
                return;
            }
            _ => {}
        }
        match symbol {
            b'\\' | b'{' | b'}' => self.raw(symbol),
            b'~' => self.character("\u{A0}"),
            b'_' => self.character("\u{2011}"),
            b'\r' | b'\n' => self.word(b"par", None),
            b'\t' => self.word(b"tab", None),
            // An optional hyphen (`-`) is for the layout, the others are marks of indexes.
            _ => {}
        }
    }

    /// Follows a control word.
    pub(super) fn word(&mut self, name: &[u8], parameter: Option<i32>) {
        let number = parameter.unwrap_or(0);
        let is_on = parameter != Some(0);
        match name {
            b"u" => {
                self.unicode(number);
                self.skip = self.group.stand_ins;
                return;
            }
            b"uc" => {
                self.group.stand_ins = u32::try_from(number).unwrap_or(1).min(64);
                return;
            }
            b"ud" => {
                self.flush();
                self.group.destination = self.group.outer;
                return;
            }
            _ => {}
        }
        if self.group.destination == Destination::Nowhere {
            return;
        }
        let is_starred = std::mem::take(&mut self.group.is_starred);
        if self.destination(name) {
            return;
        }
        if is_starred {
            self.flush();
            self.group.destination = Destination::Nowhere;
            return;
        }
        if self.character_word(name) || self.structure_word(name, number) {
            return;
        }
        self.property_word(name, number, is_on);
    }

    /// Begins the destination of a control word; `false` if it has none.
    fn destination(&mut self, name: &[u8]) -> bool {
        use Destination::{About as Fact, Fonts, Info, Label, Nowhere, Quiet, Styles};
        if self.opens(name) {
            return true;
        }
        let destination = match name {
            b"sn" => {
                self.shape_name.clear();
                Destination::ShapeName
            }
            b"upr" => {
                self.group.outer = self.group.destination;
                Nowhere
            }
            b"fonttbl" => Fonts,
            b"stylesheet" => Styles,
            b"info" => Info,
            b"listtext" | b"pntext" => Label,
            b"shpinst" | b"do" | b"sp" | b"picprop" => Quiet,
            _ if is_nowhere(name) || (name.starts_with(b"m") && name.ends_with(b"Pr")) => Nowhere,
            _ => match about(name).filter(|_| self.group.destination == Info) {
                Some(about) => Fact(about),
                None => return false,
            },
        };
        self.flush();
        self.group.destination = match destination {
            Fact(about) if self.facts.has(about) => Nowhere,
            other => other,
        };
        match destination {
            Fonts => self.group.ending = Ending::Font,
            Styles => self.group.ending = Ending::Style,
            _ => {}
        }
        true
    }

    /// Begins what has more to it than where its text goes; `false` if the word begins nothing such.
    fn opens(&mut self, name: &[u8]) -> bool {
        match name {
            b"shppict" | b"result" | b"moMath" | b"moMathPara" | b"mmath" => self.flush(),
            b"header" | b"headerl" | b"headerr" | b"headerf" => self.open_story(Kind::Header),
            b"footer" | b"footerl" | b"footerr" | b"footerf" => self.open_story(Kind::Footer),
            b"footnote" => self.open_story(Kind::Footnote),
            b"annotation" => self.open_story(Kind::Comment),
            b"shptxt" | b"dptxbxtext" => self.open_story(Kind::Box),
            b"field" | b"fldinst" | b"fldrslt" => self.field(name),
            b"pict" => self.open_picture(),
            b"sv" => {
                self.flush();
                self.open_shape_value();
            }
            _ => return false,
        }
        true
    }

    fn open_picture(&mut self) {
        self.flush();
        let is_fill =
            self.group.destination == Destination::ShapeValue && self.shape_name.trim() != "pib";
        let is_label = self.group.destination == Destination::Label;
        if is_fill || self.group.is_deleted || is_label || self.picture.is_some() {
            self.group.destination = Destination::Nowhere;
            return;
        }
        self.picture = Some(PictureData::default());
        self.group.destination = Destination::Picture;
        self.group.ending = Ending::Picture;
    }

    fn field(&mut self, name: &[u8]) {
        self.flush();
        match name {
            b"field" if self.group.ending == Ending::Nothing => {
                self.fields.push(Field {
                    instruction: String::new(),
                    outer: self.group.destination,
                    has_result: false,
                });
                self.group.ending = Ending::Field;
            }
            b"fldinst" => {
                let last = self.fields.len().checked_sub(1);
                self.group.destination =
                    last.map_or(Destination::Nowhere, Destination::Instruction);
            }
            b"fldrslt" => {
                let Some(field) = self.fields.last() else {
                    return;
                };
                let (outer, is_layout) = (field.outer, fields::is_layout(&field.instruction));
                let url = fields::link_target(&field.instruction);
                self.group.destination = match is_layout && self.is_in_furniture() {
                    true => Destination::Nowhere,
                    false => outer,
                };
                if let Some(url) = url.filter(|_| self.is_shown()) {
                    self.story().inline().open_link(&url);
                    self.group.ending = Ending::Link;
                }
            }
            _ => {}
        }
    }

    /// Writes the character that a control word means; `false` if it means none.
    fn character_word(&mut self, name: &[u8]) -> bool {
        let text = match name {
            b"tab" => "\t",
            b"line" | b"lbr" => {
                self.flush();
                if self.is_shown() {
                    self.story().inline().line_break();
                }
                return true;
            }
            b"chpgn" => {
                self.leave_out_number(self.group.destination);
                return true;
            }
            b"emdash" => "\u{2014}",
            b"endash" => "\u{2013}",
            b"lquote" => "\u{2018}",
            b"rquote" => "\u{2019}",
            b"ldblquote" => "\u{201C}",
            b"rdblquote" => "\u{201D}",
            b"bullet" => "\u{2022}",
            b"emspace" => "\u{2003}",
            b"enspace" => "\u{2002}",
            b"qmspace" => "\u{2005}",
            b"zwj" => "\u{200D}",
            b"zwnj" => "\u{200C}",
            b"ltrmark" => "\u{200E}",
            b"rtlmark" => "\u{200F}",
            _ => return false,
        };
        self.character(text);
        true
    }

    /// Ends a paragraph, a cell or a row, or says what a row consists of; `false` if it does neither.
    fn structure_word(&mut self, name: &[u8], number: i32) -> bool {
        let in_story = self.group.destination == Destination::Story;
        match name {
            b"par" if self.group.destination == Destination::ShapeValue => self.character(" "),
            b"par" | b"sect" | b"nestcell" if in_story && !self.group.is_deleted => {
                self.end_paragraph();
                self.awaits_page |= name == b"sect";
            }
            b"sbknone" | b"sbkcol" => self.awaits_page = false,
            b"cell" if in_story => self.end_cell(),
            b"row" if in_story => self.end_row(),
            b"page" if in_story => {
                self.flush();
                if !self.group.properties.in_table {
                    self.story().page_break();
                }
            }
            b"trowd" => self.row = Default::default(),
            b"trhdr" => self.row.is_header = true,
            b"clmrg" => self.row.cell.joins_left = true,
            b"clvmrg" => self.row.cell.joins_above = true,
            b"cellx" => {
                let cell = std::mem::take(&mut self.row.cell);
                if self.row.cells.len() < 4096 {
                    self.row.cells.push(cell);
                }
            }
            b"yr" => self.time(0, number),
            b"mo" => self.time(1, number),
            b"dy" => self.time(2, number),
            b"hr" => self.time(3, number),
            b"min" => self.time(4, number),
            b"sec" => self.time(5, number),
            _ => return false,
        }
        true
    }

    fn time(&mut self, part: usize, value: i32) {
        match self.group.destination {
            Destination::About(About::Created) => self.facts.created.set(part, value),
            Destination::About(About::Modified) => self.facts.modified.set(part, value),
            _ => {}
        }
    }

    fn property_word(&mut self, name: &[u8], number: i32, is_on: bool) {
        let in_fonts = self.group.destination == Destination::Fonts;
        let in_styles = self.group.destination == Destination::Styles;
        match name {
            b"f" | b"fcharset" | b"cchs" | b"cpg" | b"plain" | b"deleted" => self.flush(),
            _ => {}
        }
        if in_fonts && self.font_word(name, number) {
            return;
        }
        match name {
            b"f" => {
                self.group.font = Some(number);
                self.group.character_set = None;
            }
            b"cchs" => {
                let set = u8::try_from(number).ok();
                self.group.character_set = set.and_then(codepage::of_character_set);
            }
            b"deff" => self.default_font = Some(number),
            b"ansicpg" => self.code_page = u16::try_from(number).unwrap_or(0),
            b"mac" => self.code_page = 10000,
            b"pc" => self.code_page = 437,
            b"pca" => self.code_page = 850,
            b"plain" => self.group.plain(),
            b"deleted" => self.group.is_deleted = is_on,
            b"s" if in_styles => self.styles.number(number),
            b"sbasedon" if in_styles => self.styles.base(number),
            b"outlinelevel" if in_styles => self.styles.outline(number),
            b"pngblip" => self.picture_type("image/png"),
            b"jpegblip" => self.picture_type("image/jpeg"),
            b"emfblip" => self.picture_type("image/emf"),
            b"wmetafile" => self.picture_type("image/wmf"),
            b"macpict" => self.picture_type("image/x-pict"),
            b"dibitmap" => self.bare_bitmap(),
            _ if !in_styles => self.paragraph_word(name, number),
            _ => {}
        }
    }

    /// Takes what a word says of the font that is being read; `false` if it says nothing.
    fn font_word(&mut self, name: &[u8], number: i32) -> bool {
        match name {
            b"f" => self.fonts.begin(number),
            b"fcharset" => self.fonts.character_set(number),
            b"fmodern" => self.fonts.fixed(true),
            b"fprq" if number > 0 => self.fonts.fixed(number == 1),
            b"cpg" => self.fonts.code_page(number),
            _ => return false,
        }
        true
    }

    fn paragraph_word(&mut self, name: &[u8], number: i32) {
        let properties = &mut self.group.properties;
        match name {
            b"pard" => *properties = Default::default(),
            b"s" => properties.style = number,
            b"outlinelevel" => properties.outline = Some(number),
            b"ls" => properties.is_listed = number > 0,
            b"ilvl" => properties.list_level = number,
            b"li" | b"lin" => properties.indent = number,
            b"fi" => properties.first_indent = number,
            b"intbl" => properties.in_table = true,
            b"itap" => properties.in_table = number > 0,
            _ => {}
        }
    }

    fn bare_bitmap(&mut self) {
        self.picture_type("image/bmp");
        if let Some(picture) = &mut self.picture {
            picture.is_bare_bitmap = true;
        }
    }

    fn picture_type(&mut self, mime_type: &'static str) {
        if let Some(picture) = &mut self.picture {
            picture.mime_type = Some(mime_type);
        }
    }

    /// Writes a character that is no byte of the code page.
    fn character(&mut self, text: &str) {
        self.flush();
        self.emit(text);
    }
}

/// Returns what a destination within the information says about the document.
fn about(name: &[u8]) -> Option<About> {
    Some(match name {
        b"title" => About::Title,
        b"author" => About::Author,
        b"subject" => About::Subject,
        b"keywords" => About::Keywords,
        b"doccomm" => About::Description,
        b"creatim" => About::Created,
        b"revtim" => About::Modified,
        _ => return None,
    })
}

/// Destinations whose text is for programs, or is there a second time.
fn is_nowhere(name: &[u8]) -> bool {
    const NOWHERE: [&[u8]; 34] = [
        b"aftncn",
        b"aftnsep",
        b"aftnsepc",
        b"colortbl",
        b"comment",
        b"docvar",
        b"falt",
        b"filetbl",
        b"fname",
        b"fontemb",
        b"fontfile",
        b"formfield",
        b"ftncn",
        b"ftnsep",
        b"ftnsepc",
        b"listoverridetable",
        b"listtable",
        b"listpicture",
        b"mmathPict",
        b"nesttableprops",
        b"nonesttables",
        b"nonshppict",
        b"objalias",
        b"objclass",
        b"objdata",
        b"objname",
        b"panose",
        b"pntxta",
        b"pntxtb",
        b"private",
        b"revtbl",
        b"shprslt",
        b"tc",
        b"xe",
    ];
    NOWHERE.contains(&name)
}
