//! A folder, or some files of it, as a source of documents.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use dpe_connector::manifest::Manifest;
use dpe_connector::path;
use serde_json::value::RawValue;

use crate::json::{Text, Writer};
use crate::model::FileUri;

use super::Unresolved;
use super::error::SourceError;
use super::naming::{digest, prefix_of, shown};

/// A folder to push: all of it, or the files that were named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderSource {
    /// The source, as a person named it.
    pub name: String,
    /// Absolute path of the folder, links resolved.
    pub root: PathBuf,
    /// The files that were named, relative to the folder.
    pub only: Option<Vec<String>>,
    /// URI prefix of the documents; ends with `/`.
    pub uri_prefix: String,
    /// Further configuration of the connector: a JSON object.
    pub settings: String,
}

/// Turns what was named into sources. Files of one folder are one source, which shares its state
/// with the folder. What does not exist, or is neither a folder nor a file, is told for itself.
pub(super) fn resolve(
    named: &[PathBuf],
    prefix: Option<&str>,
) -> Vec<Result<FolderSource, Unresolved>> {
    let mut sources = Vec::new();
    let mut files: BTreeMap<PathBuf, Vec<PathBuf>> = BTreeMap::new();
    for path in named {
        let unresolved = |error| (shown(path), Box::new(error));
        match kind(path) {
            Err(error) => sources.push(Err(unresolved(error))),
            Ok(Kind::Folder) => {
                sources.push(folder(path, prefix).map_err(unresolved));
            }
            Ok(Kind::File) => {
                let folder = path.parent().unwrap_or(Path::new(""));
                files
                    .entry(folder.to_owned())
                    .or_default()
                    .push(path.clone());
            }
        }
    }
    for (parent, paths) in files {
        let name = match paths.as_slice() {
            [one] => one.display().to_string(),
            many => format!("{} files of {}", many.len(), parent.display()),
        };
        let source = some_files(&parent, &paths, &name, prefix);
        sources.push(source.map_err(|error| (name, Box::new(error))));
    }
    sources
}

fn some_files(
    parent: &Path,
    paths: &[PathBuf],
    name: &str,
    prefix: Option<&str>,
) -> Result<FolderSource, SourceError> {
    let here = Path::new(".");
    let parent = if parent.as_os_str().is_empty() {
        here
    } else {
        parent
    };
    let names = paths.iter().map(|path| file_name(path));
    Ok(FolderSource {
        name: name.to_owned(),
        only: Some(names.collect::<Result<_, _>>()?),
        ..folder(parent, prefix)?
    })
}

enum Kind {
    Folder,
    File,
}

fn kind(path: &Path) -> Result<Kind, SourceError> {
    let metadata = std::fs::metadata(path).map_err(|source| {
        let name = shown(path);
        // What the system says of such a name helps nobody.
        if name.contains("://") {
            return SourceError::Connector { url: name };
        }
        SourceError::Source { name, source }
    })?;
    let inside_git = path
        .components()
        .any(|part| part == Component::Normal(OsStr::new(".git")));
    if inside_git {
        return Err(SourceError::Git {
            path: path.to_owned(),
        });
    }
    if metadata.is_dir() && is_bare_repository(path) {
        Err(SourceError::Bare {
            path: path.to_owned(),
        })
    } else if metadata.is_dir() {
        Ok(Kind::Folder)
    } else if metadata.is_file() {
        Ok(Kind::File)
    } else {
        Err(SourceError::Special {
            path: path.to_owned(),
        })
    }
}

/// Returns whether a folder holds what git keeps, as git itself finds out.
fn is_bare_repository(folder: &Path) -> bool {
    let is_folder = |name| folder.join(name).is_dir();
    folder.join("HEAD").is_file() && is_folder("objects") && is_folder("refs")
}

fn folder(path: &Path, prefix: Option<&str>) -> Result<FolderSource, SourceError> {
    let root = path.canonicalize().map_err(|source| SourceError::Source {
        name: shown(path),
        source,
    })?;
    if root.to_str().is_none() {
        return Err(SourceError::NotUnicode { path: root });
    }
    let uri_prefix = match prefix {
        Some(prefix) => prefix.to_owned(),
        None => own_prefix(path, &root),
    };
    Ok(FolderSource {
        name: path.display().to_string(),
        root,
        only: None,
        uri_prefix,
        settings: "{}".to_owned(),
    })
}

/// Returns the prefix with the name by which the folder was given, or its own.
fn own_prefix(given: &Path, root: &Path) -> String {
    let name = match given.components().next_back() {
        Some(Component::Normal(name)) => Some(name),
        _ => root.file_name(),
    };
    prefix_of(name.unwrap_or(OsStr::new("root")).as_encoded_bytes())
}

fn file_name(path: &Path) -> Result<String, SourceError> {
    path.file_name()
        .and_then(OsStr::to_str)
        .map(str::to_owned)
        .ok_or_else(|| SourceError::NotUnicode {
            path: path.to_owned(),
        })
}

impl FolderSource {
    /// Returns the configuration of the connector. Of the folder, `left_out` is not enumerated.
    pub fn config(&self, left_out: &[PathBuf]) -> Box<RawValue> {
        let mut json = Writer::new();
        json.begin_object();
        json.name("root").string(&self.root.to_string_lossy());
        let settings = Text::parse(self.settings.as_bytes()).expect("settings are JSON");
        for (name, value) in settings.root().members().into_iter().flatten() {
            if !["root", "exclude", "only", "say_skipped"].contains(&&*name) {
                json.name(&name).raw(&value.compact());
            }
        }
        json.name("exclude").begin_array();
        let exclude = settings.root().member("exclude");
        for glob in exclude
            .and_then(|exclude| exclude.items())
            .into_iter()
            .flatten()
        {
            json.raw(&glob.compact());
        }
        for path in left_out {
            if let Some(glob) = self.glob_of(path) {
                json.string(&glob);
            }
        }
        json.end_array();
        if let Some(only) = &self.only {
            json.name("only").begin_array();
            for name in only {
                json.string(name);
            }
            json.end_array();
        }
        json.end_object();
        RawValue::from_string(json.into_string()).expect("the writer writes JSON")
    }

    /// Returns whether an enumeration names what it cannot read. If the configuration has that passed over, nothing
    /// follows from what is not named.
    pub fn names_what_is_unreadable(&self) -> bool {
        let settings = Text::parse(self.settings.as_bytes()).expect("settings are JSON");
        let unreadable = settings.root().member("unreadable");
        unreadable.and_then(|value| value.as_str()).as_deref() != Some("skip")
    }

    /// Returns whether the folder still has the file of a document.
    pub fn has(&self, uri: &FileUri) -> bool {
        let path = path::path_of(&self.uri_prefix, uri.as_str());
        path.is_some_and(|path| {
            let path = OsStr::from_bytes(&path);
            self.root.join(path).symlink_metadata().is_ok()
        })
    }

    /// Returns the glob that matches `path` alone, if it lies inside the folder.
    fn glob_of(&self, path: &Path) -> Option<String> {
        let inside = path.strip_prefix(&self.root).ok()?.to_str()?;
        if inside.is_empty() {
            return None;
        }
        let mut glob = String::from("/");
        for character in inside.chars() {
            if matches!(character, '\\' | '*' | '?' | '[' | ']' | '{' | '}' | ' ') {
                glob.push('\\');
            }
            glob.push(character);
        }
        Some(glob)
    }

    /// Returns the id of the instance: the same folder, prefix and remote are the same instance.
    pub fn instance_id(&self, remote_url: &str) -> String {
        let identity = digest(&[&self.root.to_string_lossy(), &self.uri_prefix, remote_url]);
        format!("push-{}", &identity[..32])
    }

    /// Returns the content identity (connector contract §8.3). What is named or left out selects
    /// documents and changes none, so it is no part of it.
    pub fn fingerprint(&self, remote_url: &str, plugin: &Manifest) -> String {
        digest(&[
            remote_url,
            &self.uri_prefix,
            &self.root.to_string_lossy(),
            &plugin.name,
            &plugin.version,
        ])
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::{FolderSource, SourceError, own_prefix, resolve};

    fn place() -> tempfile::TempDir {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir_all(place.path().join("docs")).unwrap();
        for name in ["docs/a.md", "docs/b.md"] {
            fs::write(place.path().join(name), "x").unwrap();
        }
        place
    }

    fn one(named: &[PathBuf]) -> FolderSource {
        let mut sources = resolve(named, None);
        assert_eq!(sources.len(), 1);
        sources.remove(0).unwrap()
    }

    #[test]
    fn own_places_inside_the_folder_are_left_out() {
        let place = place();
        let source = one(&[place.path().join("docs")]);
        let root = source.root.clone();
        let config = source.config(&[root.join("my store[1]"), root.clone(), "/elsewhere".into()]);
        assert!(
            config.get().contains(r#""exclude":["/my\\ store\\[1\\]"]"#),
            "{config}"
        );
    }

    #[test]
    fn a_folder_gives_its_name_to_its_documents() {
        let root = Path::new("/home/u/My Docs");
        assert_eq!(own_prefix(Path::new("My Docs"), root), "dpe://my%20docs/");
        assert_eq!(own_prefix(Path::new("."), root), "dpe://my%20docs/");
        assert_eq!(own_prefix(Path::new("/"), Path::new("/")), "dpe://root/");
    }

    #[test]
    fn named_files_of_one_folder_are_one_source_and_share_its_state() {
        let place = place();
        let docs = place.path().join("docs");
        let whole = one(std::slice::from_ref(&docs));
        let some = one(&[docs.join("a.md"), docs.join("b.md")]);
        assert_eq!(some.only, Some(vec!["a.md".to_owned(), "b.md".to_owned()]));
        assert_eq!(some.uri_prefix, whole.uri_prefix);
        assert_eq!(some.instance_id("r"), whole.instance_id("r"));
    }

    #[test]
    fn what_does_not_exist_is_refused() {
        let missing = resolve(&["/no/such/place".into()], None).remove(0);
        assert!(missing.is_err_and(|(_, why)| matches!(*why, SourceError::Source { .. })));
    }

    #[test]
    fn the_instance_depends_on_folder_prefix_and_remote() {
        let place = place();
        let source = one(&[place.path().join("docs")]);
        let other = FolderSource {
            uri_prefix: "dpe://other/".into(),
            ..source.clone()
        };
        assert_ne!(source.instance_id("r"), other.instance_id("r"));
        assert_ne!(source.instance_id("r"), source.instance_id("s"));
        assert_eq!(source.instance_id("r"), source.instance_id("r"));
    }
}
