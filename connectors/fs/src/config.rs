//! The configuration of the connector, closed, and the globs in it.

use std::path::{Component, Path, PathBuf};

use dpe_connector_files::{Case, Patterns};
use serde::{Deserialize, Serialize};

/// What the manifest's `config_schema` describes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    /// Absolute path of the folder.
    pub(crate) root: PathBuf,
    /// If not empty: only what one of these globs names, or what lies below it.
    #[serde(default)]
    pub(crate) include: Vec<String>,
    /// Nothing that one of these globs names.
    #[serde(default)]
    pub(crate) exclude: Vec<String>,
    /// Whether names beginning with a dot are enumerated.
    #[serde(default)]
    pub(crate) hidden: bool,
    /// Whether symbolic links are followed, as long as they stay below the root.
    #[serde(default)]
    pub(crate) follow_links: bool,
    /// Largest file that is read as a whole; images are not.
    #[serde(default = "default_max_file_bytes")]
    pub(crate) max_file_bytes: u64,
    /// What to do about files and folders that cannot be read.
    #[serde(default = "error")]
    pub(crate) unreadable: OnTrouble,
    /// What to do about files of formats nobody here understands.
    #[serde(default = "skip")]
    pub(crate) unsupported: OnTrouble,
    /// Enumerate these files alone, whatever the ignore rules say. Relative to the root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) only: Option<Vec<PathBuf>>,
}

/// Whether something is passed over or reported as a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum OnTrouble {
    /// An `error` item: the round ends as partial.
    Error,
    /// A line on stderr.
    Skip,
}

fn default_max_file_bytes() -> u64 {
    64 << 20
}

fn error() -> OnTrouble {
    OnTrouble::Error
}

fn skip() -> OnTrouble {
    OnTrouble::Skip
}

impl Config {
    /// Checks what the types do not say and compiles the globs.
    pub(crate) fn globs(&self) -> Result<Globs, String> {
        if !self.root.is_absolute() {
            return Err(format!("root: {} is not absolute", self.root.display()));
        }
        if let Some(path) = self.only.iter().flatten().find(|path| !stays_below(path)) {
            return Err(format!(
                "only: {} is not a path below the root",
                path.display()
            ));
        }
        Ok(Globs {
            include: (!self.include.is_empty())
                .then(|| compiled("include", &self.include))
                .transpose()?,
            exclude: compiled("exclude", &self.exclude)?,
        })
    }
}

fn stays_below(path: &Path) -> bool {
    path.components().any(|part| part != Component::CurDir)
        && path
            .components()
            .all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

fn compiled(member: &str, globs: &[String]) -> Result<Patterns, String> {
    Patterns::of_globs(globs).map_err(|why| format!("{member}: {why}"))
}

/// The compiled `include` and `exclude`.
#[derive(Clone, Debug)]
pub(crate) struct Globs {
    include: Option<Patterns>,
    exclude: Patterns,
}

impl Globs {
    /// Returns whether a walk goes on at `path`, relative to the root. The folders above it have
    /// been admitted already.
    pub(crate) fn admit(&self, path: &[u8], is_folder: bool) -> bool {
        let said =
            |globs: &Patterns, path, is_folder| globs.verdict(path, is_folder, Case::Sensitive);
        if said(&self.exclude, path, is_folder) == Some(true) {
            return false;
        }
        // A folder has to be entered to find out what in it is included.
        let Some(include) = self.include.as_ref().filter(|_| !is_folder) else {
            return true;
        };
        let folders = path
            .iter()
            .enumerate()
            .rev()
            .filter(|(_, byte)| **byte == b'/');
        said(include, path, false)
            .or_else(|| {
                folders
                    .map(|(end, _)| &path[..end])
                    .find_map(|folder| said(include, folder, true))
            })
            .unwrap_or(false)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn config(text: &str) -> Result<Config, serde_json::Error> {
        serde_json::from_str(text)
    }

    #[test]
    fn only_the_root_is_mandatory_and_unknown_members_are_refused() {
        let parsed = config(r#"{"root":"/x"}"#).unwrap();
        assert_eq!(parsed.max_file_bytes, 67_108_864);
        assert_eq!(parsed.unreadable, OnTrouble::Error);
        assert_eq!(parsed.unsupported, OnTrouble::Skip);
        assert!(parsed.globs().is_ok());
        assert!(config(r#"{"root":"/x","colour":1}"#).is_err());
        assert!(config("{}").is_err());
    }

    #[test]
    fn the_schema_of_the_manifest_names_the_members_and_their_defaults() {
        let manifest: serde_json::Value = serde_json::from_str(crate::MANIFEST).unwrap();
        let schema = manifest["config_schema"]["properties"].as_object().unwrap();
        let full = config(r#"{"root":"/x","only":["a"]}"#).unwrap();
        let members = serde_json::to_value(&full).unwrap();
        let members = members.as_object().unwrap();
        let names = |map: &serde_json::Map<_, _>| map.keys().cloned().collect::<BTreeSet<String>>();
        assert_eq!(names(schema), names(members));
        for (name, property) in schema {
            if let Some(default) = property.get("default") {
                assert_eq!(&members[name], default, "{name}");
            }
        }
    }

    #[test]
    fn paths_that_could_leave_the_root_are_refused() {
        for text in [
            r#"{"root":"docs"}"#,
            r#"{"root":"/x","only":["/etc/passwd"]}"#,
            r#"{"root":"/x","only":["../y"]}"#,
            r#"{"root":"/x","only":[""]}"#,
            r#"{"root":"/x","exclude":["a[b"]}"#,
        ] {
            assert!(config(text).unwrap().globs().is_err(), "{text}");
        }
    }

    #[test]
    fn include_names_files_or_the_folders_above_them() {
        let globs = config(r#"{"root":"/x","include":["*.md","/api/"],"exclude":["drafts/**"]}"#)
            .unwrap()
            .globs()
            .unwrap();
        let admitted = |path: &str| globs.admit(path.as_bytes(), false);
        assert!(admitted("a.md"));
        assert!(admitted("deep/down/a.md"));
        assert!(admitted("api/v1/spec.yaml"));
        assert!(!admitted("other/api/spec.yaml"));
        assert!(!admitted("a.txt"));
        assert!(!admitted("drafts/a.md"));
        assert!(globs.admit(b"deep", true));
    }
}
