//! Reading a manifest with all the rules there are (connector contract §4, §5).
//!
//! The members and their names are judged by the crate every connector author uses; here is what
//! serde does not see: duplicate names inside the schema, depth, numbers out of range, and what
//! the schema of the configuration means.

use dpe_connector::manifest::Manifest;

use crate::json::canonical::{self, Nowhere};
use crate::json::{Text, Value};

use super::error::HostError;
use super::schema::{ConfigViolation, Schema, SchemaError};

/// Deepest nesting of a manifest (§4.1).
const MAX_DEPTH: usize = 64;

/// Reads the text of a `dpe-connector.json`.
///
/// # Errors
///
/// When it is not I-JSON, exceeds the limits, has another shape than §4 says, or when its
/// `config_schema` is outside of the subset. All of them are reported as `manifest_invalid`.
pub fn read_manifest(bytes: &[u8]) -> Result<Manifest, HostError> {
    let text = Text::parse(bytes).map_err(HostError::ManifestSyntax)?;
    let root = text.root();
    let depth = root.depth_bound();
    if depth > MAX_DEPTH {
        let why = format!("nested {depth} deep");
        return Err(HostError::ManifestLimits(why));
    }
    canonical::write(root, &mut Nowhere)
        .map_err(|why| HostError::ManifestLimits(why.to_string()))?;
    let manifest = Manifest::parse(text.source()).map_err(HostError::ManifestInvalid)?;
    let schema = root.member("config_schema");
    let schema = schema.expect("a manifest without a schema has not the shape");
    Schema::new(schema).map_err(|breach| {
        HostError::ManifestSchema(SchemaError {
            place: root.pointer_to(breach.offset),
            rule: breach.rule,
        })
    })?;
    Ok(manifest)
}

/// Returns what is wrong with the configuration of an instance, if anything (§4.3).
///
/// # Panics
///
/// If the manifest was not read by [`read_manifest`] and its schema breaks a rule.
pub fn config_violation(manifest: &Manifest, config: Value<'_>) -> Option<ConfigViolation> {
    let judged = "the manifest has been read, and so its schema judged";
    let text = Text::parse(manifest.config_schema.get().as_bytes()).expect(judged);
    let schema = Schema::new(text.root());
    schema.expect(judged).violation(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(schema: &str) -> Result<Manifest, HostError> {
        let text = format!(
            r#"{{"manifest_version":1,"name":"n","version":"1","protocol_versions":["dpe-connector/1"],"config_schema":{schema}}}"#
        );
        read_manifest(text.as_bytes())
    }

    #[test]
    fn the_schema_is_i_json_too() {
        assert!(manifest(r#"{"type":"object"}"#).is_ok());
        let duplicate = manifest(r#"{"type":"object","type":"object"}"#);
        assert!(matches!(duplicate, Err(HostError::ManifestSyntax(_))));
        let surrogate = manifest(r#"{"title":"\ud800"}"#);
        assert!(matches!(surrogate, Err(HostError::ManifestSyntax(_))));
    }

    #[test]
    fn numbers_nobody_can_carry_are_refused() {
        for number in ["9007199254740992", "1e400"] {
            let found = manifest(&format!(r#"{{"type":"object","default":[{number}]}}"#));
            assert!(
                matches!(found, Err(HostError::ManifestLimits(_))),
                "{number}"
            );
        }
        assert!(manifest(r#"{"type":"object","default":[9007199254740991,1e300]}"#).is_ok());
    }

    #[test]
    fn nesting_is_counted_over_the_whole_file() {
        let nested = |depth: usize| {
            let value = "[".repeat(depth) + &"]".repeat(depth);
            format!(r#"{{"type":"object","default":{value}}}"#)
        };
        assert!(manifest(&nested(62)).is_ok());
        let found = manifest(&nested(63));
        assert!(matches!(found, Err(HostError::ManifestLimits(_))));
    }
}
