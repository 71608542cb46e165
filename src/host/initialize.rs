//! Judges what a plugin answers to `initialize` (connector contract §10).

use dpe_connector::PROTOCOL_VERSION;
use dpe_connector::manifest::Manifest;

use crate::json::Value;
use crate::sync::failure::{Failure, FailureSource, Level};
use crate::sync::ports::PluginIdentity;

use super::message::ErrorResponse;

/// Reads the result of `initialize` and compares it with the manifest.
pub(super) fn identity(result: Value<'_>, manifest: &Manifest) -> Result<PluginIdentity, Failure> {
    let identity = shape(result)
        .map_err(|why| Failure::protocol(format!("the result of initialize: {why}")))?;
    if identity.protocol_version != PROTOCOL_VERSION {
        let why = format!(
            "the plugin chose protocol {:?}, only {PROTOCOL_VERSION} was offered",
            identity.protocol_version
        );
        return Err(Failure::instance("version_unsupported", why));
    }
    compare(&identity, manifest)?;
    Ok(identity)
}

/// Returns the failure for a plugin that refuses to be initialised.
pub(super) fn refused(error: &ErrorResponse) -> Failure {
    Failure::new(
        Level::Instance,
        FailureSource::Plugin,
        error.name(),
        error.message.clone(),
    )
}

fn compare(identity: &PluginIdentity, manifest: &Manifest) -> Result<(), Failure> {
    let (name, version) = (&identity.name, &identity.version);
    let why = if *name != manifest.name || *version != manifest.version {
        format!(
            "the plugin calls itself {name:?} {version:?}, its manifest says {:?} {:?}",
            manifest.name, manifest.version
        )
    } else if !manifest
        .protocol_versions
        .contains(&identity.protocol_version)
    {
        format!("the manifest does not list {}", identity.protocol_version)
    } else {
        return Ok(());
    };
    Err(Failure::instance("plugin_mismatch", why))
}

/// Reads the result of `initialize`, whoever it is.
pub(super) fn shape(result: Value<'_>) -> Result<PluginIdentity, &'static str> {
    let mut identity = PluginIdentity {
        name: String::new(),
        version: String::new(),
        protocol_version: String::new(),
        supports_cursor: false,
    };
    let (mut has_version, mut has_plugin) = (false, false);
    for (name, value) in result.members().ok_or("no object")? {
        match &*name {
            "protocol_version" => {
                has_version = true;
                let version = value.as_str().ok_or("`protocol_version` is no string")?;
                identity.protocol_version = version.into_owned();
            }
            "plugin" => {
                has_plugin = true;
                (identity.name, identity.version) = plugin(value)?;
            }
            "capabilities" => identity.supports_cursor = supports_cursor(value)?,
            _ => return Err("an undefined member"),
        }
    }
    if !(has_version && has_plugin) {
        return Err("`protocol_version` or `plugin` is missing");
    }
    Ok(identity)
}

fn plugin(value: Value<'_>) -> Result<(String, String), &'static str> {
    let (mut name, mut version) = (None, None);
    for (member, value) in value.members().ok_or("`plugin` is no object")? {
        let text = value.as_str().filter(|text| !text.is_empty());
        let text = text.ok_or("a member of `plugin` is no non-empty string")?;
        match &*member {
            "name" => name = Some(text.into_owned()),
            "version" => version = Some(text.into_owned()),
            _ => return Err("an undefined member of `plugin`"),
        }
    }
    name.zip(version)
        .ok_or("`plugin` lacks its name or version")
}

fn supports_cursor(capabilities: Value<'_>) -> Result<bool, &'static str> {
    if !capabilities.is_object() {
        return Err("`capabilities` is no object");
    }
    capabilities
        .member("supports_cursor")
        .map_or(Ok(false), |value| {
            value.as_bool().ok_or("`supports_cursor` is no boolean")
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Text;

    fn judged(result: &str) -> Result<PluginIdentity, Failure> {
        let manifest = Manifest::parse(
            r#"{"manifest_version":1,"name":"wiki-connector","version":"2.3.0","protocol_versions":["dpe-connector/1"],"config_schema":{"type":"object"}}"#,
        );
        let text = Text::parse(result.as_bytes()).unwrap();
        identity(text.root(), &manifest.unwrap())
    }

    /// The example of §17.
    const WIKI: &str = r#"{"protocol_version":"dpe-connector/1","plugin":{"name":"wiki-connector","version":"2.3.0"},"capabilities":{"supports_cursor":true}}"#;

    #[test]
    fn the_example_of_the_contract_is_accepted() {
        let identity = judged(WIKI).unwrap();
        assert!(identity.supports_cursor);
        assert_eq!(identity.name, "wiki-connector");
        let more = WIKI.replace("true", "false,\"later\":null");
        assert!(!judged(&more).unwrap().supports_cursor);
    }

    #[test]
    fn malformed_results_are_protocol_errors() {
        for (part, replacement) in [
            (WIKI, "[]"),
            ("\"protocol_version\":\"dpe-connector/1\",", ""),
            ("\"dpe-connector/1\"", "1"),
            ("{\"name\":\"wiki-connector\",\"version\":\"2.3.0\"}", "{}"),
            ("\"2.3.0\"", "\"\""),
            ("\"2.3.0\"", "\"2.3.0\",\"url\":\"x\""),
            ("{\"supports_cursor\":true}", "null"),
            ("true", "null"),
            ("}}", "},\"more\":1}"),
        ] {
            let failure = judged(&WIKI.replace(part, replacement)).unwrap_err();
            assert_eq!(failure.code, "protocol_error", "{replacement}");
            assert_eq!(failure.level, Level::Protocol);
        }
    }

    #[test]
    fn another_version_or_identity_is_a_failure_of_the_instance() {
        for (part, replacement, code) in [
            ("connector/1", "connector/2", "version_unsupported"),
            ("2.3.0", "2.3.1", "plugin_mismatch"),
            ("wiki-", "wiki_", "plugin_mismatch"),
        ] {
            let failure = judged(&WIKI.replace(part, replacement)).unwrap_err();
            assert_eq!((&*failure.code, failure.level), (code, Level::Instance));
            assert_eq!(failure.source, FailureSource::Runner);
        }
    }
}
