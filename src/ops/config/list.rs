//! What counts, key by key, and where it comes from.

use toml_edit::{Document, Item, TableLike, Value};

use crate::config::{ConfigFile, Layers, Origin, SETTINGS};

/// A key that says something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The key, such as `remote.origin.url`.
    pub key: String,
    /// Its value: a text as it is, anything else as TOML.
    pub value: String,
    /// Who said it.
    pub origin: Origin,
}

/// Returns everything that counts: the settings, then remotes and sources.
pub fn list(layers: &Layers) -> Vec<Listed> {
    let mut all = Vec::new();
    for setting in SETTINGS {
        let (value, origin) = match (layers.setting(setting.key), setting.default) {
            (Some((value, origin)), _) => (value.to_owned(), origin),
            (None, Some(default)) => (default.to_owned(), Origin::Default),
            (None, None) => continue,
        };
        let key = format!("defaults.{}", setting.key);
        all.push(Listed { key, value, origin });
    }
    for kind in ["remote", "source"] {
        let mut known: Vec<String> = Vec::new();
        for file in &layers.files {
            let found = of_file(file, kind, &known);
            known.extend(names(file, kind).map(str::to_owned));
            all.extend(found);
        }
    }
    all
}

fn names<'f>(file: &'f ConfigFile, kind: &str) -> Box<dyn Iterator<Item = &'f str> + 'f> {
    match kind {
        "remote" => Box::new(file.remotes.keys().map(String::as_str)),
        _ => Box::new(file.sources.keys().map(String::as_str)),
    }
}

/// Returns what a file says of remotes or sources that no nearer file knows.
fn of_file(file: &ConfigFile, kind: &str, known: &[String]) -> Vec<Listed> {
    let mut all = Vec::new();
    let Ok(document) = Document::parse(file.text.as_str()) else {
        return all;
    };
    let entries = document.as_table().get(kind).and_then(Item::as_table_like);
    for (name, item) in entries.into_iter().flat_map(TableLike::iter) {
        if known.iter().any(|known| known == name) {
            continue;
        }
        let key = format!("{kind}.{}", quoted(name));
        walk(file, key, item, &mut all);
    }
    all
}

fn walk(file: &ConfigFile, key: String, item: &Item, all: &mut Vec<Listed>) {
    match item {
        Item::Value(value) if !value.is_inline_table() => {
            let line = file.line(&item.span().unwrap_or_default());
            let path = file.path.clone();
            all.push(Listed {
                key,
                value: shown(value),
                origin: Origin::File { path, line },
            });
        }
        item => {
            for (name, item) in item.as_table_like().into_iter().flat_map(TableLike::iter) {
                walk(file, format!("{key}.{}", quoted(name)), item, all);
            }
        }
    }
}

fn shown(value: &Value) -> String {
    match value.as_str() {
        Some(text) => text.to_owned(),
        None => value.to_string().trim().to_owned(),
    }
}

/// Returns a name as a part of a key.
fn quoted(name: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    if name.chars().all(is_bare) {
        name.to_owned()
    } else {
        format!("{name:?}")
    }
}
