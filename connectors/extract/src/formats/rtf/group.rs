//! What holds within a group of RTF, and where its text goes.

use crate::codepage;

/// Where the text of a group goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Destination {
    /// Into the story that is written.
    #[default]
    Story,
    /// Nowhere, and neither does that of the groups in it.
    Nowhere,
    /// Nowhere, but groups in it have destinations of their own.
    Quiet,
    Fonts,
    Styles,
    Info,
    /// A text about the document.
    About(About),
    /// The instruction of a field, by its number among those that are open.
    Instruction(usize),
    /// The label of an item or a numbered paragraph.
    Label,
    Picture,
    ShapeName,
    ShapeValue,
}

/// What a document says about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum About {
    Title,
    Author,
    Subject,
    Keywords,
    Description,
    Created,
    Modified,
}

/// What is to be done when a group ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Ending {
    #[default]
    Nothing,
    Story(Kind),
    Field,
    Link,
    Picture,
    Font,
    Style,
    ShapeValue,
}

/// Stories besides the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Header,
    Footer,
    Footnote,
    Comment,
    Box,
}

impl Kind {
    /// Whether it is a header or a footer.
    pub(super) fn is_furniture(self) -> bool {
        matches!(self, Self::Header | Self::Footer)
    }
}

/// How the bytes of a font are characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    Page(u16),
    Symbol,
    Wingdings,
    Dingbats,
}

/// Properties of a paragraph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Properties {
    pub(super) style: i32,
    /// Level from 0; 9 is none.
    pub(super) outline: Option<i32>,
    pub(super) is_listed: bool,
    pub(super) list_level: i32,
    pub(super) in_table: bool,
    /// How far its lines are indented, and its first one beyond them, in twips.
    pub(super) indent: i32,
    pub(super) first_indent: i32,
}

/// A group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    pub(super) destination: Destination,
    pub(super) ending: Ending,
    /// Where text would go if the group were not the plain one of a pair (`upr`).
    pub(super) outer: Destination,
    pub(super) is_starred: bool,
    pub(super) is_deleted: bool,
    pub(super) font: Option<i32>,
    /// The code page of a character set that is not that of the font.
    pub(super) character_set: Option<u16>,
    /// Characters that stand in for one of Unicode.
    pub(super) stand_ins: u32,
    pub(super) properties: Properties,
}

impl Group {
    pub(super) fn new() -> Self {
        Self {
            destination: Destination::Story,
            ending: Ending::Nothing,
            outer: Destination::Story,
            is_starred: false,
            is_deleted: false,
            font: None,
            character_set: None,
            stand_ins: 1,
            properties: Properties::default(),
        }
    }

    /// Gives text its first look again.
    pub(super) fn plain(&mut self) {
        self.font = None;
        self.character_set = None;
        self.is_deleted = false;
    }

    /// Returns the group that begins within this one.
    pub(super) fn inner(&self) -> Self {
        Self {
            ending: Ending::Nothing,
            is_starred: false,
            ..*self
        }
    }
}

impl Encoding {
    pub(super) fn decode(self, bytes: &[u8]) -> String {
        match self {
            Self::Page(page) => codepage::decode(page, bytes),
            Self::Symbol => bytes.iter().map(|byte| codepage::symbol(*byte)).collect(),
            Self::Wingdings => bytes.iter().map(|byte| codepage::wingding(*byte)).collect(),
            Self::Dingbats => bytes.iter().map(|byte| codepage::dingbat(*byte)).collect(),
        }
    }

    /// Returns the character that a number of Unicode means: characters of a font of symbols may be written by the
    /// numbers they have there, or by their private ones.
    pub(super) fn character(self, character: char) -> char {
        let own = match (self, u32::from(character)) {
            (Self::Symbol, own @ 0x20..=0xFF) => own,
            (Self::Symbol | Self::Wingdings, private @ 0xF020..=0xF0FF) => private & 0xFF,
            _ => return character,
        };
        match self {
            Self::Symbol => codepage::symbol(own as u8),
            _ => codepage::wingding(own as u8),
        }
    }
}

/// Returns the code page that the end of a font's name means (`Arial CE`).
pub(super) fn code_page_of_name(name: &str) -> Option<u16> {
    let ends = [
        (" CE", 1250),
        (" Cyr", 1251),
        (" Greek", 1253),
        (" Tur", 1254),
        (" (Hebrew)", 1255),
        (" (Arabic)", 1256),
        (" Baltic", 1257),
        (" (Vietnamese)", 1258),
    ];
    let found = ends.into_iter().find(|(end, _)| name.ends_with(end));
    found.map(|(_, page)| page)
}
