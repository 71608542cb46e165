//! The configuration of the connector, closed.

use std::path::{Component, Path, PathBuf};

use dpe_connector_files::{Bounds, Globs, OnRefused, OnTrouble};
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
    #[serde(default = "Bounds::max_file_bytes")]
    pub(crate) max_file_bytes: u64,
    /// What to do about files and folders that cannot be read.
    #[serde(default = "error")]
    pub(crate) unreadable: OnTrouble,
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
    /// Enumerate these files alone, whatever the ignore rules say. Relative to the root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) only: Option<Vec<PathBuf>>,
}

fn error() -> OnTrouble {
    OnTrouble::Error
}

fn skip() -> OnTrouble {
    OnTrouble::Skip
}

impl Config {
    /// Returns the configuration as far as it decides what the same files give.
    pub(crate) fn content(&self) -> Self {
        Self {
            say_skipped: false,
            ..self.clone()
        }
    }

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
        Globs::new(&self.include, &self.exclude)
    }
}

fn stays_below(path: &Path) -> bool {
    path.components().any(|part| part != Component::CurDir)
        && path
            .components()
            .all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
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
    fn only_the_root_is_mandatory_and_unknown_members_are_refused() {
        let parsed = config(r#"{"root":"/x"}"#).unwrap();
        assert_eq!(parsed.max_file_bytes, 134_217_728);
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
        let full = config(r#"{"root":"/x","only":["a"],"say_skipped":true}"#).unwrap();
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
}
