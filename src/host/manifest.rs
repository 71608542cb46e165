//! Reading a manifest with the strict parser (connector contract §4.1).
//!
//! The shape is judged by the crate every connector author uses; here is what serde does not
//! see: duplicate names inside the schema, depth, and numbers out of range.

use dpe_connector::manifest::Manifest;

use crate::json::Text;
use crate::json::canonical::{self, Nowhere};

use super::error::HostError;

/// Deepest nesting of a manifest (§4.1).
const MAX_DEPTH: usize = 64;

/// Reads the text of a `dpe-connector.json`.
///
/// # Errors
///
/// When it is not I-JSON, exceeds the limits, or has another shape than §4 says. All of them are
/// reported as `manifest_invalid`.
pub fn read_manifest(bytes: &[u8]) -> Result<Manifest, HostError> {
    let text = Text::parse(bytes).map_err(HostError::ManifestSyntax)?;
    let depth = text.root().depth_bound();
    if depth > MAX_DEPTH {
        let why = format!("nested {depth} deep");
        return Err(HostError::ManifestLimits(why));
    }
    canonical::write(text.root(), &mut Nowhere)
        .map_err(|why| HostError::ManifestLimits(why.to_string()))?;
    Manifest::parse(text.source()).map_err(HostError::ManifestInvalid)
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
            let found = manifest(&format!(r#"{{"default":[{number}]}}"#));
            assert!(
                matches!(found, Err(HostError::ManifestLimits(_))),
                "{number}"
            );
        }
        assert!(manifest(r#"{"default":[9007199254740991,1e300]}"#).is_ok());
    }

    #[test]
    fn nesting_is_counted_over_the_whole_file() {
        let nested = |depth: usize| "{\"a\":".repeat(depth) + "1" + &"}".repeat(depth);
        assert!(manifest(&nested(63)).is_ok());
        let found = manifest(&nested(64));
        assert!(matches!(found, Err(HostError::ManifestLimits(_))));
    }
}
