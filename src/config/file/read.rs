//! Reads the text of a configuration file and notes every mistake with its place.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::mistake::{FileError, Mistake};
use super::token::{REFERENCE, is_secret_name, looks_like_token};
use super::{ConfigFile, Owner, defaults, remote, source};

/// A value and where it is.
pub(super) type Item<'t> = Spanned<DeValue<'t>>;
/// A key and where it is.
pub(super) type Key<'t> = Spanned<DeString<'t>>;

/// Tables at the root.
const TABLES: [&str; 3] = ["defaults", "remote", "source"];

/// Beyond this distance a name is another one.
const NEAR: f64 = 0.7;

/// What to do with a secret in the file.
const OUT_OF_THE_FILE: &str = "keep it in a variable, a file or a program, and write where it is: { env = \"NAME\" }, \
     { file = \"path\" } or { command = [\"program\", \"argument\"] }";

/// Reads a file.
pub(super) fn file(text: &str, path: &Path, owner: Owner) -> Result<ConfigFile, FileError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (root, errors) = DeTable::parse_recoverable(text);
    let mut reader = Reader {
        directory: path.parent().unwrap_or(Path::new("/")),
        owner,
        mistakes: errors.iter().map(syntax).collect(),
    };
    if !reader.mistakes.is_empty() {
        // What follows from half a text would only be noise.
        return Err(FileError::mistakes(path, text, reader.mistakes));
    }
    let mut file = ConfigFile {
        path: path.to_owned(),
        owner,
        text: text.to_owned(),
        remotes: BTreeMap::new(),
        sources: BTreeMap::new(),
        defaults: BTreeMap::new(),
    };
    reader.refuse_tokens(root.get_ref(), false);
    for (key, item) in root.get_ref() {
        match &**key.get_ref() {
            "defaults" => file.defaults = defaults::read(&mut reader, item),
            "remote" => file.remotes = reader.entries("remote", item, remote::read),
            "source" => file.sources = reader.entries("source", item, source::read),
            _ => reader.unknown(key, &TABLES, ""),
        }
    }
    reader.overlaps(&file);
    if reader.mistakes.is_empty() {
        return Ok(file);
    }
    Err(FileError::mistakes(path, text, reader.mistakes))
}

fn syntax(error: &toml::de::Error) -> Mistake {
    Mistake {
        code: "dpe::config::syntax",
        what: format!("this is no TOML: {}", error.message()),
        way_out: "see https://toml.io for the syntax; texts stand in quotes".to_owned(),
        span: error.span().unwrap_or_default(),
    }
}

/// Reads values and collects mistakes.
pub(super) struct Reader<'a> {
    /// Where paths begin.
    pub(super) directory: &'a Path,
    pub(super) owner: Owner,
    mistakes: Vec<Mistake>,
}

impl Reader<'_> {
    /// Notes a mistake.
    pub(super) fn note(
        &mut self,
        code: &'static str,
        what: impl Into<String>,
        way_out: impl Into<String>,
        span: Range<usize>,
    ) {
        self.mistakes.push(Mistake {
            code,
            what: what.into(),
            way_out: way_out.into(),
            span,
        });
    }

    /// Notes a key that means nothing; `within` is the table it is in.
    pub(super) fn unknown(&mut self, key: &Key<'_>, known: &[&str], within: &str) {
        let name = key.get_ref();
        let place = match within {
            "" => "at the top of the file".to_owned(),
            within => format!("in [{within}]"),
        };
        let way_out = match nearest(name, known) {
            Some(near) => format!("do you mean `{near}`? The keys here are {}", list(known)),
            None => format!("the keys here are {}", list(known)),
        };
        let what = format!("there is no key `{name}` {place}");
        self.note("dpe::config::unknown_key", what, way_out, key.span());
    }

    /// Notes a value of the wrong type.
    pub(super) fn wrong(&mut self, key: &str, item: &Item<'_>, wanted: &str, example: &str) {
        let what = format!("`{key}` has to be {wanted}");
        let way_out = format!("for example: {key} = {example}");
        self.note("dpe::config::wrong_type", what, way_out, item.span());
    }

    /// Returns the value, or notes that it is none.
    pub(super) fn or_wrong<T>(
        &mut self,
        value: Option<T>,
        key: &str,
        item: &Item<'_>,
        wanted: &str,
        example: &str,
    ) -> Option<T> {
        if value.is_none() {
            self.wrong(key, item, wanted, example);
        }
        value
    }

    pub(super) fn string(&mut self, key: &str, item: &Item<'_>, example: &str) -> Option<String> {
        let text = item.get_ref().as_str().filter(|text| !text.is_empty());
        self.or_wrong(text.map(str::to_owned), key, item, "a text", example)
    }

    pub(super) fn strings(
        &mut self,
        key: &str,
        item: &Item<'_>,
        example: &str,
    ) -> Option<Vec<String>> {
        let items = item.get_ref().as_array();
        let texts = items.and_then(|items| {
            let texts = items
                .iter()
                .map(|item| Some(item.get_ref().as_str()?.to_owned()));
            texts.collect::<Option<Vec<_>>>()
        });
        let texts = texts.filter(|texts| texts.first().is_some_and(|first| !first.is_empty()));
        self.or_wrong(texts, key, item, "a list of texts", example)
    }

    /// Returns a path as one from the directory of the file.
    pub(super) fn path_value(&mut self, key: &str, item: &Item<'_>) -> Option<PathBuf> {
        let text = self.string(key, item, "\"path\"")?;
        Some(self.path(&text))
    }

    /// Returns a path as one from the directory of the file; `~/` is the home of the user.
    pub(super) fn path(&self, text: &str) -> PathBuf {
        let home = text.strip_prefix("~/").and_then(|rest| {
            let home = etcetera::home_dir().ok()?;
            Some(home.join(rest))
        });
        home.unwrap_or_else(|| self.directory.join(text))
    }

    pub(super) fn table<'t>(&mut self, key: &str, item: &'t Item<'t>) -> Option<&'t DeTable<'t>> {
        let table = item.get_ref().as_table();
        self.or_wrong(table, key, item, "a table", "{ … }")
    }

    /// Reads tables with names.
    fn entries<T>(
        &mut self,
        kind: &str,
        item: &Item<'_>,
        read: impl Fn(&mut Self, &Key<'_>, &Item<'_>) -> Option<T>,
    ) -> BTreeMap<String, T> {
        let mut entries = BTreeMap::new();
        let Some(table) = self.table(kind, item) else {
            return entries;
        };
        for (key, item) in table {
            let name = key.get_ref();
            let is_name = |c: char| c.is_alphanumeric() || "._-".contains(c);
            if name.is_empty() || !name.chars().all(is_name) || name.starts_with(['-', '.']) {
                let what = format!("this is no name of a {kind}");
                let way_out = "names have letters, digits, `.`, `_` and `-`, and begin with a letter or digit";
                self.note("dpe::config::name", what, way_out, key.span());
            } else if let Some(entry) = read(self, key, item) {
                entries.insert(name.to_string(), entry);
            }
        }
        entries
    }

    /// Refuses everything that looks like a secret, wherever it stands. Below a reference to a secret
    /// there are names of places only.
    fn refuse_tokens(&mut self, table: &DeTable<'_>, is_reference: bool) {
        for (key, item) in table {
            let name = key.get_ref();
            let is_place = REFERENCE.contains(&&**name) || &**name == "secrets";
            let is_secret = !is_place && (is_reference || is_secret_name(name));
            self.refuse_token(item, is_secret, &**name == "secrets");
        }
    }

    fn refuse_token(&mut self, item: &Item<'_>, is_secret: bool, is_reference: bool) {
        match item.get_ref() {
            DeValue::String(text) if !text.is_empty() && (is_secret || looks_like_token(text)) => {
                let what = "a secret is written down here";
                self.note("dpe::config::secret", what, OUT_OF_THE_FILE, item.span());
            }
            DeValue::Array(items) => {
                for item in items {
                    self.refuse_token(item, is_secret, is_reference);
                }
            }
            DeValue::Table(table) => self.refuse_tokens(table, is_reference || is_secret),
            _ => {}
        }
    }

    /// Notes sources that name an unknown remote, and those whose documents would lie within each
    /// other's.
    fn overlaps(&mut self, file: &ConfigFile) {
        let sources: Vec<_> = file.sources.iter().collect();
        for (index, (name, source)) in sources.iter().enumerate() {
            let earlier = sources[..index].iter().find(|(_, other)| {
                other.remote == source.remote
                    && (other.prefix.starts_with(&source.prefix)
                        || source.prefix.starts_with(&other.prefix))
            });
            if let Some((other, _)) = earlier {
                let what = format!(
                    "the documents of `{name}` and of `{other}` would lie below one prefix"
                );
                let way_out = "each source needs a prefix of its own on a remote, such as prefix = \"dpe://other/\"";
                self.note("dpe::config::overlap", what, way_out, source.span.clone());
            }
        }
    }
}

/// Returns the known name that is most like `name`.
pub fn nearest<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    let name = name.to_lowercase();
    // In a short name, two letters in each other's place leave little that is alike.
    let is_slip = |known: &str| name.len() > 2 && strsim::osa_distance(&name, known) <= 1;
    let likeness = |known: &str| match is_slip(known) {
        true => 1.0,
        false => strsim::jaro_winkler(&name, known),
    };
    let best = known
        .iter()
        .map(|known| (likeness(known), *known))
        .max_by(|one, other| one.0.total_cmp(&other.0));
    best.filter(|(likeness, _)| *likeness >= NEAR)
        .map(|(_, known)| known)
}

fn list(names: &[&str]) -> String {
    names.join(", ")
}
