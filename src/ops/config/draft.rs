//! Changes a configuration file and nothing else in it: comments, layout, mode and links stay.
//!
//! What is written is read first, as every command will read it; what would not load is not written.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use toml_edit::{DocumentMut, Item, Key, Table, TableLike, Value};

use crate::config::{ConfigFile, Layers, Owner};

use super::error::ConfigError;
use super::judge::judge;
use super::load::{FILE_NAME, project_file, user_file};

/// A file that is being changed.
#[derive(Clone, Debug)]
pub struct Draft {
    path: PathBuf,
    /// The comment at the beginning, which is that of the file and not of its first table.
    lead: String,
    document: DocumentMut,
    has_crlf: bool,
    /// The other files of the call, which it has to go with.
    others: Vec<ConfigFile>,
}

/// Returns the file that a change is meant for: the user's, or that of the project, which may have to
/// be made.
///
/// # Errors
///
/// When it is to be the user's, and the user has no home.
pub fn target(here: &Path, named: Option<&Path>, of_user: bool) -> Result<PathBuf, ConfigError> {
    if of_user {
        return user_file().ok_or(ConfigError::NoHome);
    }
    Ok(match named {
        Some(path) => here.join(path),
        None => project_file(here).unwrap_or_else(|| here.join(FILE_NAME)),
    })
}

impl Draft {
    /// Begins with what the file says; one that is not there says nothing.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub fn open(path: &Path, layers: &Layers) -> Result<Self, ConfigError> {
        let unwritable = |source| ConfigError::unwritable(path, source);
        let text = match fs::read_to_string(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            text => text.map_err(unwritable)?,
        };
        let has_crlf = text.contains("\r\n");
        let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
        let (lead, text) = text.split_at(lead(&text));
        let document = text.parse::<DocumentMut>();
        let document = document.map_err(|error| unwritable(io::Error::other(error.to_string())))?;
        let others = layers.files.iter().filter(|file| file.path != path);
        Ok(Self {
            path: path.to_owned(),
            lead: lead.to_owned(),
            document,
            has_crlf,
            others: others.cloned().collect(),
        })
    }

    /// Returns the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether the file has this key.
    pub fn has(&self, keys: &[&str]) -> bool {
        let mut table: &dyn TableLike = self.document.as_table();
        let Some((last, above)) = keys.split_last() else {
            return false;
        };
        for key in above {
            match table.get(key).and_then(Item::as_table_like) {
                Some(below) => table = below,
                None => return false,
            }
        }
        table.contains_key(last)
    }

    /// Sets a key; tables on the way are made.
    pub fn set(&mut self, keys: &[&str], value: Value) {
        let Some((last, above)) = keys.split_last() else {
            return;
        };
        let mut table: &mut dyn TableLike = self.document.as_table_mut();
        for (depth, key) in above.iter().enumerate() {
            let entry = table.entry(key).or_insert_with(|| {
                let mut made = Table::new();
                // Only the table of a name has a header.
                made.set_implicit(depth == 0 && above.len() > 1);
                Item::Table(made)
            });
            if !entry.is_table_like() {
                *entry = Item::Table(Table::new());
            }
            table = entry.as_table_like_mut().expect("it was made one");
        }
        match table.get_mut(last) {
            Some(Item::Value(old)) => {
                let decor = old.decor().clone();
                *old = value;
                *old.decor_mut() = decor;
            }
            _ => drop(table.insert(last, Item::Value(value))),
        }
    }

    /// Removes a key, and returns whether it was there.
    pub fn unset(&mut self, keys: &[&str]) -> bool {
        let Some((last, above)) = keys.split_last() else {
            return false;
        };
        let mut table: &mut dyn TableLike = self.document.as_table_mut();
        for key in above {
            match table.get_mut(key).and_then(Item::as_table_like_mut) {
                Some(below) => table = below,
                None => return false,
            }
        }
        let was_there = table.remove(last).is_some();
        self.drop_empty_defaults();
        was_there
    }

    /// Removes the table of defaults when nothing is left of it, not even a comment.
    fn drop_empty_defaults(&mut self) {
        let defaults = self.document.get("defaults").and_then(Item::as_table);
        let is_nothing = defaults.is_some_and(|table| {
            let before = table.decor().prefix().and_then(|before| before.as_str());
            table.is_empty() && before.is_none_or(|before| before.trim().is_empty())
        });
        if is_nothing {
            self.document.remove("defaults");
        }
    }

    /// Gives a table another name in its place.
    pub fn rename(&mut self, kind: &str, from: &str, to: &str) {
        let Some(entries) = self
            .document
            .get_mut(kind)
            .and_then(Item::as_table_like_mut)
        else {
            return;
        };
        if let Some(item) = entries.remove(from) {
            entries.insert(to, item);
        }
    }

    /// Returns the text as it would be written.
    pub fn text(&self) -> String {
        // A table that was added to nothing begins with an empty line of its own.
        let body = self.document.to_string();
        let text = format!("{}{}", self.lead, body.trim_start_matches('\n'));
        if self.has_crlf {
            text.replace('\n', "\r\n")
        } else {
            text
        }
    }

    /// Reads what would be written.
    ///
    /// # Errors
    ///
    /// All mistakes it has.
    pub fn check(&self) -> Result<(), ConfigError> {
        let file = ConfigFile::parse(&self.text(), &self.path, Owner::Trusted);
        let mut files = vec![file.map_err(ConfigError::WouldNotLoad)?];
        files.extend(self.others.iter().cloned());
        judge(&files).map_err(ConfigError::WouldNotLoad)
    }

    /// Writes the file, all of it or nothing.
    ///
    /// # Errors
    ///
    /// When it would not load, or cannot be written.
    pub fn save(&self) -> Result<(), ConfigError> {
        self.check()?;
        let write = || -> io::Result<()> {
            // Through a link, so that the link stays one.
            let path = self
                .path
                .canonicalize()
                .unwrap_or_else(|_| self.path.clone());
            let directory = path.parent().unwrap_or(Path::new("/"));
            fs::create_dir_all(directory)?;
            let mut file = tempfile::NamedTempFile::new_in(directory)?;
            file.write_all(self.text().as_bytes())?;
            match path.metadata() {
                Ok(metadata) => file.as_file().set_permissions(metadata.permissions())?,
                Err(_) => usual_mode(file.as_file())?,
            }
            file.as_file().sync_all()?;
            file.persist(&path)?;
            Ok(())
        };
        write().map_err(|source| ConfigError::unwritable(&self.path, source))
    }
}

/// Returns the length of the comment at the beginning of a file: up to the last empty line before
/// something else, or all of it.
fn lead(text: &str) -> usize {
    let (mut length, mut at) = (0, 0);
    for line in text.split_inclusive('\n') {
        at += line.len();
        match line.trim() {
            "" => length = at,
            comment if comment.starts_with('#') => {}
            _ => return length,
        }
    }
    text.len()
}

/// Gives a new file the mode that it would have had.
#[cfg(unix)]
fn usual_mode(file: &fs::File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;

    // There are no secrets in it, and a project is read by many.
    file.set_permissions(fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn usual_mode(_: &fs::File) -> io::Result<()> {
    Ok(())
}

/// Reads a key such as `remote.origin.url`; parts with dots stand in quotes.
///
/// # Errors
///
/// [`ConfigError::Key`].
pub fn keys(text: &str) -> Result<Vec<String>, ConfigError> {
    let keys = Key::parse(text).map_err(|_| ConfigError::Key {
        key: text.to_owned(),
    })?;
    Ok(keys.iter().map(|key| key.get().to_owned()).collect())
}

/// Sets a key to a value as somebody types it: as TOML if that loads, else as a text.
///
/// # Errors
///
/// When neither loads.
pub fn set(draft: &Draft, keys: &[&str], text: &str) -> Result<Draft, ConfigError> {
    let typed = text.parse::<Value>().ok();
    let is_structure = typed
        .as_ref()
        .is_some_and(|value| value.is_array() || value.is_inline_table());
    let mut with_text = draft.clone();
    with_text.set(keys, Value::from(text));
    let Some(typed) = typed else {
        with_text.check()?;
        return Ok(with_text);
    };
    let mut with_value = draft.clone();
    with_value.set(keys, typed);
    match with_value.check() {
        Ok(()) => Ok(with_value),
        Err(error) if is_structure => Err(error),
        Err(_) => {
            with_text.check()?;
            Ok(with_text)
        }
    }
}
