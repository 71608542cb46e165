//! Marks around what a content stream paints (ISO 32000-1 §14.6): which part of the structure it is, and what it means.

use unpdf::parser::raw::{PdfDict, PdfObject, RawDocument};

use super::facts::entry;
use super::images;
use super::text_string::text_string;

/// Nobody nests deeper.
const MOST_MARKS: usize = 256;

/// What the innermost mark says about a piece of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// Nothing.
    None,
    /// It is content that the structure of the document knows by this number.
    Content(i64),
    /// It is no content, but decoration; head or foot of the page if it says so.
    Artifact(Option<End>),
}

/// An end of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Head,
    Foot,
}

/// The marks that are open.
#[derive(Default)]
pub(super) struct Marks<'d> {
    /// The file, and the properties that the page has names for.
    named: Option<(&'d RawDocument, &'d PdfDict)>,
    open: Vec<Open>,
    /// Marks beyond those that are kept.
    more: usize,
}

struct Open {
    mark: Mark,
    meaning: Meaning,
}

/// The text that a mark stands for, until it is painted.
enum Meaning {
    None,
    Text(String),
    Painted,
}

impl<'d> Marks<'d> {
    /// Returns none, for the content of a page.
    pub(super) fn of_page(file: &'d RawDocument, page: &'d PdfDict) -> Self {
        let resources = images::resources(file, page);
        let named =
            resources.and_then(|resources| entry(file, resources, b"Properties")?.as_dict());
        Self {
            named: named.map(|named| (file, named)),
            ..Self::default()
        }
    }

    /// Opens a mark; within forms numbers of content are those of the form.
    pub(super) fn open(&mut self, operands: &[PdfObject], forms: usize) {
        if self.open.len() >= MOST_MARKS {
            self.more += 1;
            return;
        }
        let properties = operands
            .get(1)
            .and_then(|properties| match properties.as_name() {
                Some(name) if forms == 0 => {
                    let (file, named) = self.named?;
                    entry(file, named, name)?.as_dict()
                }
                _ => properties.as_dict(),
            });
        let property = |name: &[u8]| properties?.get(name);
        let number = property(b"MCID").and_then(PdfObject::as_i64);
        let is_artifact = operands.first().and_then(PdfObject::as_name) == Some(b"Artifact");
        let mark = match number.filter(|_| forms == 0) {
            _ if is_artifact => Mark::Artifact(end(&property)),
            Some(number) => Mark::Content(number),
            None => self.innermost(),
        };
        let meaning = property(b"ActualText").and_then(PdfObject::as_str_bytes);
        let meaning = meaning.map_or(Meaning::None, |text| Meaning::Text(text_string(text)));
        self.open.push(Open { mark, meaning });
    }

    pub(super) fn close(&mut self) {
        match self.more {
            0 => drop(self.open.pop()),
            _ => self.more -= 1,
        }
    }

    pub(super) fn innermost(&self) -> Mark {
        self.open.last().map_or(Mark::None, |open| open.mark)
    }

    /// Returns what the next piece means, if a mark says it; the further pieces in that mark mean nothing.
    pub(super) fn meaning(&mut self) -> Option<String> {
        let mut marks = self.open.iter_mut();
        let open = marks.find(|open| !matches!(open.meaning, Meaning::None))?;
        match std::mem::replace(&mut open.meaning, Meaning::Painted) {
            Meaning::Text(text) => Some(text),
            _ => Some(String::new()),
        }
    }
}

fn end<'o>(property: &impl Fn(&[u8]) -> Option<&'o PdfObject>) -> Option<End> {
    match property(b"Subtype").and_then(PdfObject::as_name) {
        Some(b"Header") => Some(End::Head),
        Some(b"Footer") => Some(End::Foot),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use unpdf::parser::raw::tokenizer::parse_object;
    use unpdf::parser::raw::{PdfObject, RawDocument};

    use super::{End, Mark, Marks};

    #[test]
    fn names_of_marks_are_those_that_the_page_inherits() {
        let file = "%PDF-1.4\n1 0 obj <</Type/Catalog>> endobj\n3 0 obj <</Parent 4 0 R>> endobj\n\
            4 0 obj <</Resources<</Properties<</A<</MCID 5>>>>>>>> endobj\n";
        let file = RawDocument::load(file.as_bytes()).unwrap();
        let mut marks = Marks::of_page(&file, file.get_dict((3, 0)).unwrap());
        let name = |name: &[u8]| PdfObject::Name(name.to_vec());
        marks.open(&[name(b"P"), name(b"A")], 0);
        assert_eq!(marks.innermost(), Mark::Content(5));
    }

    #[test]
    fn innermost_mark_with_a_number_counts_and_a_meaning_is_painted_once() {
        let mut marks = Marks::default();
        let open = |marks: &mut Marks<'_>, operands: &[&[u8]], forms: usize| {
            let operands = operands.iter().map(|text| parse_object(text, 0).unwrap().0);
            marks.open(&operands.collect::<Vec<_>>(), forms);
        };
        open(&mut marks, &[b"/P ", b"<</MCID 3>>"], 0);
        open(&mut marks, &[b"/Span ", b"<</ActualText (fi)>>"], 0);
        assert_eq!(marks.innermost(), Mark::Content(3));
        assert_eq!(marks.meaning().as_deref(), Some("fi"));
        assert_eq!(marks.meaning().as_deref(), Some(""));
        open(&mut marks, &[b"/P ", b"<</MCID 7>>"], 1);
        assert_eq!(marks.innermost(), Mark::Content(3));
        marks.close();
        marks.close();
        assert_eq!(marks.meaning(), None);
        open(&mut marks, &[b"/Artifact ", b"<</Subtype/Footer>>"], 0);
        assert_eq!(marks.innermost(), Mark::Artifact(Some(End::Foot)));
    }
}
