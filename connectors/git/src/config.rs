//! The configuration of the connector, closed.

use std::path::{Component, Path, PathBuf};

use dpe_connector_files::{Bounds, Globs, OnRefused, OnTrouble};
use serde::{Deserialize, Serialize};

use crate::place::Place;
use crate::selection::Selection;

/// What the manifest's `config_schema` describes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    /// Absolute path of a repository, or its URL.
    pub(crate) repo: String,
    /// What is enumerated.
    #[serde(rename = "ref", default = "head")]
    pub(crate) reference: String,
    /// What becomes of it.
    #[serde(default = "files")]
    pub(crate) mode: Mode,
    /// Only this folder of the tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) subdir: Option<String>,
    /// If not empty: only what one of these globs names, or what lies below it.
    #[serde(default)]
    pub(crate) include: Vec<String>,
    /// Nothing that one of these globs names.
    #[serde(default)]
    pub(crate) exclude: Vec<String>,
    /// Whether names beginning with a dot are enumerated.
    #[serde(default)]
    pub(crate) hidden: bool,
    /// Largest file that is read as a whole; images are not.
    #[serde(default = "Bounds::max_file_bytes")]
    pub(crate) max_file_bytes: u64,
    /// What to do about files of formats nobody here understands.
    #[serde(default = "skip")]
    pub(crate) unsupported: OnTrouble,
    /// What to do about files that give no document for another reason.
    #[serde(default)]
    pub(crate) on_refused: OnRefused,
    /// How much one file may cost.
    #[serde(default)]
    pub(crate) limits: Bounds,
    /// Whether what is passed over is said by its name, for somebody who only looks.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) say_skipped: bool,
    /// Where fetched repositories are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cache: Option<PathBuf>,
}

/// What the documents are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Mode {
    /// The files of a tree.
    Files,
    /// Repositories with their commits.
    History,
}

fn head() -> String {
    "HEAD".to_owned()
}

fn files() -> Mode {
    Mode::Files
}

fn skip() -> OnTrouble {
    OnTrouble::Skip
}

/// The configuration, with everything in it that has to be understood first.
#[derive(Debug)]
pub(crate) struct Checked {
    /// Where the repository is.
    pub(crate) place: Place,
    /// Which paths are enumerated.
    pub(crate) selection: Selection,
}

impl Config {
    /// Checks what the types do not say.
    ///
    /// # Errors
    ///
    /// Names the member and what is wrong with it.
    pub(crate) fn check(&self) -> Result<Checked, String> {
        if self.mode == Mode::History && self.subdir.is_some() {
            return Err("subdir: the history is that of the whole repository".to_owned());
        }
        if self
            .cache
            .as_ref()
            .is_some_and(|cache| !cache.is_absolute())
        {
            return Err("cache: the path is not absolute".to_owned());
        }
        Ok(Checked {
            place: Place::parse(&self.repo).map_err(|why| format!("repo: {why}"))?,
            selection: Selection::new(
                Globs::new(&self.include, &self.exclude)?,
                self.hidden,
                self.subdir.as_deref().map_or(Ok(Vec::new()), folder)?,
            ),
        })
    }
}

impl Config {
    /// Returns the configuration as far as it decides what the same commit gives: without the
    /// reference, since what differs between two of them is what has changed, without credentials,
    /// without the place of the cache, and whatever is said by its name besides.
    pub(crate) fn content(&self, place: &Place) -> Self {
        Self {
            repo: place.to_string(),
            reference: head(),
            cache: None,
            say_skipped: false,
            ..self.clone()
        }
    }
}

/// Returns the path of a folder in a tree, without slashes at its ends.
fn folder(subdir: &str) -> Result<Vec<u8>, String> {
    let mut parts = Vec::new();
    for part in Path::new(subdir).components() {
        match part {
            Component::Normal(name) => parts.push(name.as_encoded_bytes()),
            Component::CurDir => {}
            _ => return Err(format!("subdir: {subdir} is not a path below the root")),
        }
    }
    Ok(parts.join(&b'/'))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use dpe_connector_files::Reason;

    use super::*;

    fn config(text: &str) -> Result<Config, serde_json::Error> {
        serde_json::from_str(text)
    }

    #[test]
    fn only_the_repository_is_mandatory_and_unknown_members_are_refused() {
        let parsed = config(r#"{"repo":"/x"}"#).unwrap();
        assert_eq!(
            (parsed.mode, parsed.reference.as_str()),
            (Mode::Files, "HEAD")
        );
        assert!(parsed.check().is_ok());
        assert!(config(r#"{"repo":"/x","colour":1}"#).is_err());
        assert!(config("{}").is_err());
    }

    #[test]
    fn the_schema_of_the_manifest_names_the_members_and_their_defaults() {
        let manifest: serde_json::Value = serde_json::from_str(crate::MANIFEST).unwrap();
        let schema = manifest["config_schema"]["properties"].as_object().unwrap();
        let full = config(r#"{"repo":"/x","subdir":"d","cache":"/c","say_skipped":true}"#).unwrap();
        let members = serde_json::to_value(&full).unwrap();
        let members = members.as_object().unwrap();
        let names = |map: &serde_json::Map<_, _>| map.keys().cloned().collect::<BTreeSet<String>>();
        assert_eq!(names(schema), names(members));
        for (name, property) in schema {
            if let Some(default) = property.get("default") {
                assert_eq!(&members[name], default, "{name}");
            }
        }
        let limits = schema["limits"]["properties"].as_object().unwrap();
        assert_eq!(names(limits), names(members["limits"].as_object().unwrap()));
        for (name, property) in limits {
            assert_eq!(members["limits"][name], property["default"], "{name}");
        }
        let reasons = schema["on_refused"]["properties"].as_object().unwrap();
        let known = Reason::ALL.map(|reason| reason.name().to_owned());
        let known = known
            .into_iter()
            .filter(|name| name != "unsupported_format");
        assert_eq!(names(reasons), known.collect());
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        for text in [
            r#"{"repo":"docs"}"#,
            r#"{"repo":"/x","subdir":"../y"}"#,
            r#"{"repo":"/x","subdir":"/y"}"#,
            r#"{"repo":"/x","exclude":["a[b"]}"#,
            r#"{"repo":"/x","cache":"c"}"#,
            r#"{"repo":"/x","mode":"history","subdir":"d"}"#,
        ] {
            assert!(config(text).unwrap().check().is_err(), "{text}");
        }
    }

    #[test]
    fn a_folder_of_the_tree_is_named_with_or_without_slashes_and_dots() {
        for text in ["a/b", "a/b/", "./a/./b", "a//b"] {
            assert_eq!(folder(text).unwrap(), b"a/b", "{text}");
        }
        assert_eq!(folder(".").unwrap(), b"");
    }
}
