//! Fields of forms (ISO 32000-1 §12.7): what they are called, and what is filled in.

use dpe_connector::content::{Category, Metadata};
use unpdf::parser::raw::{PdfDict, PdfObject, RawDocument};

use super::facts::entry;
use super::text_string::text_string;

/// Nothing has more levels of fields.
const MOST_LEVELS: usize = 32;

/// Bytes of a name that people can read; those of all levels come with each field.
const MOST_NAME: usize = 1000;

/// A button that is only pressed (table 226).
const PUSHED: i64 = 1 << 16;

/// A field as it is shown in one place.
pub(super) struct Field<'d> {
    file: &'d RawDocument,
    /// What is shown, the field it belongs to, and those above.
    levels: Vec<&'d PdfDict>,
}

impl<'d> Field<'d> {
    pub(super) fn of(file: &'d RawDocument, shown: &'d PdfDict) -> Self {
        let parent = |level: &&'d PdfDict| entry(file, level, b"Parent")?.as_dict();
        let levels = std::iter::successors(Some(shown), parent).take(MOST_LEVELS);
        Self {
            file,
            levels: levels.collect(),
        }
    }

    /// Returns the text of the field; that of a box is its state, if it is not off.
    pub(super) fn read(
        &self,
        painted: impl FnOnce() -> Option<String>,
    ) -> (Category, String, Metadata) {
        let mut metadata = Metadata::new();
        if let Some(name) = self.name() {
            metadata.insert("name".to_owned(), name.into());
        }
        if self.is_box() {
            metadata.insert("checked".to_owned(), true.into());
            return (
                Category::CheckBox,
                self.state().unwrap_or_default(),
                metadata,
            );
        }
        let text = painted().or_else(|| self.value()).unwrap_or_default();
        (Category::FormKeysValues, text, metadata)
    }

    fn inherited(&self, name: &[u8]) -> Option<&'d PdfObject> {
        let mut levels = self.levels.iter();
        levels.find_map(|level| entry(self.file, level, name))
    }

    /// Returns the name for people, else the names of all levels.
    fn name(&self) -> Option<String> {
        let text = |name: &'static [u8]| {
            let levels = self.levels.iter();
            levels.filter_map(move |level| entry(self.file, level, name)?.as_str_bytes())
        };
        let readable = text(b"TU").next().map(text_string);
        let readable = readable.map(|name| name.trim().to_owned());
        if let Some(name) = readable.filter(|name| (1..=MOST_NAME).contains(&name.len())) {
            return Some(name);
        }
        if text(b"T").map(<[u8]>::len).sum::<usize>() > MOST_NAME {
            return None;
        }
        let mut names: Vec<String> = text(b"T").map(text_string).collect();
        names.reverse();
        Some(names.join(".")).filter(|name| !name.is_empty())
    }

    fn kind(&self) -> Option<&'d [u8]> {
        self.inherited(b"FT").and_then(PdfObject::as_name)
    }

    /// Whether it is a box to tick, or one of several to choose from.
    fn is_box(&self) -> bool {
        let flags = self.inherited(b"Ff").and_then(PdfObject::as_i64);
        self.kind() == Some(b"Btn") && flags.unwrap_or(0) & PUSHED == 0
    }

    fn state(&self) -> Option<String> {
        let shown = self.levels.first()?;
        let state = entry(self.file, shown, b"AS").or_else(|| self.inherited(b"V"))?;
        let state = state.as_name().filter(|state| *state != b"Off")?;
        Some(String::from_utf8_lossy(state).into_owned())
    }

    /// Returns what is filled in and still to be painted.
    fn value(&self) -> Option<String> {
        if !matches!(self.kind(), None | Some(b"Tx" | b"Ch")) {
            return None;
        }
        let value = self.inherited(b"V")?;
        let chosen = match value {
            PdfObject::Array(chosen) => chosen.as_slice(),
            one => std::slice::from_ref(one),
        };
        let texts = chosen
            .iter()
            .filter_map(|one| self.file.resolve(one).as_str_bytes());
        let texts: Vec<String> = texts.map(text_string).collect();
        Some(texts.join("\n"))
    }
}

#[cfg(test)]
mod tests {
    use dpe_connector::content::Category;
    use unpdf::parser::raw::RawDocument;

    use super::Field;

    /// Category, text and name of the field of object 3, which stands below those of objects 2 and 1.
    fn read(levels: [&str; 3]) -> (Category, String, Option<String>) {
        let [top, middle, shown] = levels;
        let file = format!(
            "%PDF-1.4\n1 0 obj <</Type/Catalog {top}>> endobj\n2 0 obj <</Parent 1 0 R {middle}>> endobj\n\
            3 0 obj <</Parent 2 0 R {shown}>> endobj\n"
        );
        let file = RawDocument::load(file.as_bytes()).unwrap();
        let field = Field::of(&file, file.get_dict((3, 0)).unwrap());
        let (category, text, metadata) = field.read(|| None);
        let name = metadata.get("name").and_then(|name| name.as_str());
        (category, text, name.map(str::to_owned))
    }

    #[test]
    fn fields_have_the_name_for_people_else_those_of_their_levels() {
        let value = |name: Option<&str>| {
            let name = name.map(str::to_owned);
            (Category::FormKeysValues, "x".to_owned(), name)
        };
        let levels = ["/T(person)", "/T(name)", "/T(first)/FT/Tx/V(x)"];
        assert_eq!(read(levels), value(Some("person.name.first")));
        let levels = ["/T(person)", "/TU(Your name)/FT/Tx/V(x)", ""];
        assert_eq!(read(levels), value(Some("Your name")));
        assert_eq!(read(["", "", "/FT/Ch/V[(x)]"]), value(None));
        let long = format!("/T({})/V(x)", "n".repeat(2000));
        assert_eq!(read([&long, "", ""]), value(None));
    }

    #[test]
    fn boxes_are_their_state_unless_they_are_off() {
        let ticked = |levels| {
            let (category, text, _) = read(levels);
            assert_eq!(category, Category::CheckBox);
            text
        };
        assert_eq!(ticked(["/FT/Btn/V/red", "", "/AS/red"]), "red");
        assert_eq!(ticked(["/FT/Btn/V/red", "", "/AS/Off"]), "");
        assert_eq!(ticked(["/FT/Btn/V/Yes", "", ""]), "Yes");
        let pressed = read(["/FT/Btn/Ff 65536", "", "/AS/On"]);
        assert_eq!(pressed, (Category::FormKeysValues, String::new(), None));
    }

    #[test]
    fn fields_that_are_above_themselves_end() {
        let levels = ["/Parent 3 0 R/T(a)", "", "/FT/Tx"];
        assert!(read(levels).2.unwrap().starts_with("a.a."));
    }
}
