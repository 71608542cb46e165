//! `dpe-connector.json`, the manifest of a plugin (connector contract §4).
//!
//! Checks the closed shape and the names. Whether the text is I-JSON within the limits of §4.1 is
//! for the host's strict parser; what `config_schema` says is not judged here.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::rpc::not_null;

/// Environment variables every plugin gets when they exist (§7.2); besides these, all that
/// begin with `LC_`.
pub const BASE_ENVIRONMENT: [&str; 5] = ["PATH", "HOME", "LANG", "TZ", "TMPDIR"];

/// The same, further ones on Windows.
pub const BASE_ENVIRONMENT_WINDOWS: [&str; 6] = [
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "USERPROFILE",
    "PATHEXT",
    "COMSPEC",
];

/// Beginning of the names of locale variables, all of which belong to the base environment.
pub const BASE_ENVIRONMENT_LOCALE: &str = "LC_";

/// What a plugin says of itself without being run.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    manifest_version: u64,
    /// Name of the connector.
    pub name: String,
    /// Version; changes whenever the same source would give other content.
    pub version: String,
    /// One sentence for people.
    #[serde(default, deserialize_with = "not_null")]
    pub description: Option<String>,
    /// Versions of the protocol it speaks.
    pub protocol_versions: Vec<String>,
    /// JSON Schema of its configuration, in the subset of §4.3: the text of an object.
    pub config_schema: Box<RawValue>,
    /// Credentials it needs.
    #[serde(default)]
    pub secrets: Vec<SecretDeclaration>,
}

/// A credential a plugin wants in its environment.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SecretDeclaration {
    /// Name of the environment variable.
    pub name: String,
    /// One sentence for people.
    #[serde(default, deserialize_with = "not_null")]
    pub description: Option<String>,
    /// Whether the plugin is of no use without it.
    #[serde(default = "yes")]
    pub required: bool,
}

fn yes() -> bool {
    true
}

/// Why a text is no manifest.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// Not the shape of §4.1.
    #[error("{0}")]
    Shape(#[from] serde_json::Error),
    /// A version of the format nobody here knows.
    #[error("`manifest_version` is {0}, only 1 is known")]
    Version(u64),
    /// A schema that is no object.
    #[error("`config_schema` is no object")]
    Schema,
    /// A member that may not be empty.
    #[error("`{0}` is empty")]
    Empty(&'static str),
    /// A secret whose name is not allowed.
    #[error("secret `{name}`: {why}")]
    SecretName {
        /// The name.
        name: String,
        /// The rule of §4.2 it breaks.
        why: &'static str,
    },
}

impl Manifest {
    /// Reads a manifest.
    ///
    /// # Errors
    ///
    /// The first rule of §4.1 or §4.2 that is broken.
    pub fn parse(text: &str) -> Result<Self, ManifestError> {
        let manifest: Self = serde_json::from_str(text)?;
        if manifest.manifest_version != 1 {
            return Err(ManifestError::Version(manifest.manifest_version));
        }
        let empty = [
            ("name", manifest.name.is_empty()),
            ("version", manifest.version.is_empty()),
            ("protocol_versions", manifest.protocol_versions.is_empty()),
        ];
        if let Some((member, _)) = empty.into_iter().find(|(_, empty)| *empty) {
            return Err(ManifestError::Empty(member));
        }
        if !manifest.config_schema.get().starts_with('{') {
            return Err(ManifestError::Schema);
        }
        for (index, secret) in manifest.secrets.iter().enumerate() {
            check_secret(secret, &manifest.secrets[..index])?;
        }
        Ok(manifest)
    }
}

fn check_secret(
    secret: &SecretDeclaration,
    before: &[SecretDeclaration],
) -> Result<(), ManifestError> {
    let name = &secret.name;
    let why = if !is_secret_name(name) {
        "a name is a capital letter, then capital letters, digits and `_`"
    } else if name.starts_with("DPE_") {
        "names beginning with `DPE_` are reserved"
    } else if is_base_environment(name) {
        "the name belongs to the base environment"
    } else if before.iter().any(|other| other.name == *name) {
        "declared twice"
    } else {
        return Ok(());
    };
    let name = name.clone();
    Err(ManifestError::SecretName { name, why })
}

fn is_secret_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_uppercase())
        && bytes.all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
}

/// Returns whether `name` belongs to the base environment of any platform (§7.2).
pub fn is_base_environment(name: &str) -> bool {
    name.starts_with(BASE_ENVIRONMENT_LOCALE)
        || BASE_ENVIRONMENT.contains(&name)
        || BASE_ENVIRONMENT_WINDOWS.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of §4.1.
    const WIKI: &str = r#"{"manifest_version":1,"name":"wiki-connector","version":"2.3.0",
 "protocol_versions":["dpe-connector/1"],
 "config_schema":{"type":"object","required":["space"],"additionalProperties":false,
   "properties":{"space":{"type":"string","pattern":"^[A-Z]{2,10}$"},
                 "depth":{"type":"integer","minimum":1,"maximum":20,"default":5}}},
 "secrets":[{"name":"WIKI_TOKEN"},{"name":"WIKI_PROXY_PASS","required":false}]}"#;

    #[test]
    fn the_example_of_the_contract_is_read() {
        let manifest = Manifest::parse(WIKI).unwrap();
        assert_eq!(manifest.name, "wiki-connector");
        assert_eq!(manifest.version, "2.3.0");
        let required: Vec<bool> = manifest.secrets.iter().map(|s| s.required).collect();
        assert_eq!(required, [true, false]);
    }

    #[test]
    fn shapes_the_contract_closes_are_refused() {
        let cases = [
            ("\"manifest_version\":1", "\"manifest_version\":1.0"),
            ("\"manifest_version\":1", "\"manifest_version\":2"),
            ("\"manifest_version\":1,", ""),
            ("\"wiki-connector\"", "\"\""),
            ("\"wiki-connector\"", "null"),
            ("\"2.3.0\"", "\"2.3.0\",\"description\":null"),
            ("\"2.3.0\"", "\"2.3.0\",\"licence\":\"MIT\""),
            ("\"2.3.0\"", "\"2.3.0\",\"version\":\"2.3.1\""),
            ("[\"dpe-connector/1\"]", "[]"),
            (
                "\"config_schema\":{",
                "\"config_schema\":true,\"secrets\":[],\"x\":{",
            ),
            ("\"required\":false}]", "\"required\":null}]"),
            ("\"required\":false}]", "\"need\":false}]"),
        ];
        for (part, replacement) in cases {
            let text = WIKI.replacen(part, replacement, 1);
            assert_ne!(text, WIKI);
            assert!(Manifest::parse(&text).is_err(), "{replacement}");
        }
    }

    #[test]
    fn a_schema_is_an_object() {
        for schema in ["{}", " {}", "[]", "null", "true"] {
            let text = format!(
                r#"{{"manifest_version":1,"name":"n","version":"1","protocol_versions":["p"],"config_schema":{schema}}}"#
            );
            assert_eq!(
                Manifest::parse(&text).is_ok(),
                schema.contains('{'),
                "{schema}"
            );
        }
    }

    #[test]
    fn secret_names_keep_off_reserved_ones() {
        for name in [
            "wiki",
            "1A",
            "A-B",
            "",
            "DPE_X",
            "PATH",
            "LC_ALL",
            "TEMP",
            "WIKI_PROXY_PASS",
        ] {
            let text = WIKI.replacen("WIKI_TOKEN", name, 1);
            assert!(Manifest::parse(&text).is_err(), "{name}");
        }
    }
}
