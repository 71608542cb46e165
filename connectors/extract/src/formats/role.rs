//! What the name of a style makes of its paragraphs, alike for all formats that have styles.
//!
//! Files have these names untranslated; headings and lists are told by more than names, and not here.

use dpe_connector::content::Category;

use crate::flow::{Container, Flow};
use crate::inline::Flat;

/// What a paragraph is for, apart from headings and items.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Role {
    #[default]
    Text,
    /// The title of the document.
    Title,
    Subtitle,
    Caption,
    Quote,
    /// A code in one paragraph.
    Code,
    /// A line of code.
    CodeLine,
}

impl Role {
    /// Returns what a style of this name makes of its paragraphs, whatever its case.
    pub(super) fn of_style(name: &str) -> Self {
        match &*name.to_ascii_lowercase() {
            "title" => Self::Title,
            "subtitle" => Self::Subtitle,
            "caption" | "image caption" | "table caption" => Self::Caption,
            "quote" | "intense quote" | "block text" | "quotations" => Self::Quote,
            "source code" => Self::Code,
            "code" | "html preformatted" | "macro" | "preformatted text" => Self::CodeLine,
            _ => Self::Text,
        }
    }

    /// Whether white space that begins or ends the text belongs to it.
    pub(super) fn is_code(self) -> bool {
        matches!(self, Self::Code | Self::CodeLine)
    }

    /// Adds a paragraph.
    pub(super) fn write(self, mut flat: Flat, flow: &mut Flow) {
        match self {
            Self::Text => flow.paragraph(flat),
            Self::Title | Self::Subtitle => flow.text(Category::Title, flat),
            // Some frame the picture together with what is said about it.
            Self::Caption => {
                let pictures = std::mem::take(&mut flat.pictures);
                flow.paragraph(Flat {
                    pictures,
                    ..Flat::default()
                });
                flow.text(Category::FigureCaption, flat);
            }
            Self::Quote => {
                flow.open(Container::Quote { alert: None });
                flow.paragraph(flat);
                flow.close();
            }
            Self::Code => {
                flow.code(&flat.text, None);
                flow.paragraph(flat.into_pictures());
            }
            Self::CodeLine => {
                flow.code_line(&flat.text);
                flow.paragraph(flat.into_pictures());
            }
        }
    }
}
