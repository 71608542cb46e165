//! The closed enumeration of element categories and what each allows (hash contract §5.2).

/// Content fields a category allows, in the order they are validated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentFields {
    /// `text`.
    Text,
    /// `text`, `text_as_html`.
    Html,
    /// `text`, `blob`, `mime_type`.
    Blob,
}

impl ContentFields {
    /// Returns the names in validation order.
    pub fn names(self) -> &'static [&'static str] {
        match self {
            Self::Text => &["text"],
            Self::Html => &["text", "text_as_html"],
            Self::Blob => &["text", "blob", "mime_type"],
        }
    }
}

/// One category.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Category {
    /// Its exact name.
    pub name: &'static str,
    /// The content fields it allows.
    pub fields: ContentFields,
}

/// All categories. The order has no meaning; frequent ones are found first.
pub const CATEGORIES: [Category; 20] = [
    category("NarrativeText", ContentFields::Text),
    category("Title", ContentFields::Text),
    category("ListItem", ContentFields::Text),
    category("CodeSnippet", ContentFields::Text),
    category("Table", ContentFields::Html),
    category("Image", ContentFields::Blob),
    category("UncategorizedText", ContentFields::Text),
    category("CheckBox", ContentFields::Text),
    category("CompositeElement", ContentFields::Text),
    category("FigureCaption", ContentFields::Text),
    category("Address", ContentFields::Text),
    category("EmailAddress", ContentFields::Text),
    category("PageBreak", ContentFields::Text),
    category("TableChunk", ContentFields::Text),
    category("Formula", ContentFields::Html),
    category("Header", ContentFields::Text),
    category("Footer", ContentFields::Text),
    category("PageNumber", ContentFields::Text),
    category("FormKeysValues", ContentFields::Text),
    category("tfchat", ContentFields::Text),
];

const fn category(name: &'static str, fields: ContentFields) -> Category {
    Category { name, fields }
}

impl Category {
    /// Returns the category of that exact name.
    pub fn from_name(name: &str) -> Option<&'static Self> {
        CATEGORIES.iter().find(|category| category.name == name)
    }
}
