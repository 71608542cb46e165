//! What tells instances and rounds apart.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

use dpe_connector::manifest::Manifest;
use sha2::{Digest, Sha256};

use crate::config::Definition;
use crate::json::{Writer, canonical};

/// Returns the content identity of an instance (connector contract §8.3).
pub(super) fn fingerprint(definition: &Definition, manifest: &Manifest) -> String {
    let mut config = Vec::new();
    canonical::write(definition.config.root(), &mut config)
        .expect("a definition with numbers out of range is refused");
    let config = String::from_utf8(config).expect("canonical text is UTF-8");
    let mut identity = Writer::new();
    identity.begin_object();
    identity.name("config").raw(&config);
    identity.name("plugin").begin_object();
    identity.name("name").string(&manifest.name);
    identity.name("version").string(&manifest.version);
    identity.end_object();
    let url = definition.remote_url.as_str();
    identity.name("remote_url").string(url);
    identity.name("uri_prefix").string(&definition.uri_prefix);
    identity.end_object();
    let digest = Sha256::digest(identity.into_bytes());
    let hex = digest.iter().map(|byte| format!("{byte:02x}"));
    format!("sha256:{}", hex.collect::<String>())
}

/// Returns an id that no other round has. It only has to tell lines of logs apart.
pub(super) fn round_id() -> String {
    // Each of these is seeded by the system.
    let [high, low] = [0, 1].map(|part: u8| RandomState::new().hash_one(part));
    format!("{high:016x}{low:016x}")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use dpe_connector::manifest::Manifest;

    use super::{fingerprint, round_id};
    use crate::config::Definition;

    /// `printf %s '{"config":{"a":1,"z":[true]},"plugin":{"name":"n","version":"1"},"remote_url":"https://h/r","uri_prefix":"t:"}' | sha256sum`
    const EXPECTED: &str =
        "sha256:79904f79900b4e0326679be6e5758a1b1617ea2ae2db17f10a83a78ae6eec122";

    #[test]
    fn the_fingerprint_is_the_digest_of_the_canonical_identity() {
        let definition = |config: &str| {
            let text = format!(
                r#"{{"definition_version":1,"id":"a","remote":{{"url":"https://h/r"}},"uri_prefix":"t:","plugin":{{"manifest":"m","command":["c"]}},"config":{config}}}"#
            );
            Definition::parse(text.as_bytes(), Path::new("/")).unwrap()
        };
        let manifest = Manifest::parse(
            r#"{"manifest_version":1,"name":"n","version":"1","protocol_versions":["x"],"config_schema":{"type":"object"}}"#,
        )
        .unwrap();
        for spelled in [
            r#"{"a":1,"z":[true]}"#,
            "{ \"z\" : [ true ], \"\\u0061\" : 1.0 }",
        ] {
            assert_eq!(fingerprint(&definition(spelled), &manifest), EXPECTED);
        }
        assert_ne!(fingerprint(&definition("{}"), &manifest), EXPECTED);
    }

    #[test]
    fn no_two_rounds_have_one_id() {
        assert_ne!(round_id(), round_id());
        assert_eq!(round_id().len(), 32);
    }
}
