//! Looks up the secrets of a connector that is examined (connector contract §7.1).

use std::ffi::OsString;

use dpe_connector::manifest::Manifest;

use crate::config::{CredentialSource, Secret};
use crate::ops::credential;

use super::error::ConnectorError;

/// A secret of the manifest and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretSource {
    /// Name of the secret.
    pub name: String,
    /// Where it is.
    pub source: CredentialSource,
}

/// Returns the secrets by name, for the environment of the plugin.
///
/// # Errors
///
/// When one cannot be had, when a required one is not among them, or one is not declared.
pub(super) fn resolve(
    sources: &[SecretSource],
    manifest: Option<&Manifest>,
) -> Result<Vec<(String, Secret)>, ConnectorError> {
    let declared = |name: &str| {
        manifest.is_none_or(|manifest| manifest.secrets.iter().any(|secret| secret.name == name))
    };
    let mut found = Vec::new();
    for SecretSource { name, source } in sources {
        let name = name.clone();
        if !declared(&name) {
            return Err(ConnectorError::UndeclaredSecret { name });
        }
        match credential::resolve(source) {
            Ok(value) => found.push((name, value)),
            Err(why) => {
                let why = why.to_string();
                return Err(ConnectorError::Secret { name, why });
            }
        }
    }
    let declarations = manifest.map_or(&[][..], |manifest| &manifest.secrets);
    let is_missing = |name: &str| !found.iter().any(|(known, _)| known == name);
    let missing = declarations
        .iter()
        .find(|secret| secret.required && is_missing(&secret.name));
    match missing {
        Some(secret) => Err(ConnectorError::Secret {
            name: secret.name.clone(),
            why: "nobody said where it is".to_owned(),
        }),
        None => Ok(found),
    }
}

/// Returns the variables that carry the secrets.
pub(super) fn variables(secrets: &[(String, Secret)]) -> Vec<(OsString, OsString)> {
    let variable = |(name, secret): &(String, Secret)| (name.into(), secret.expose().into());
    secrets.iter().map(variable).collect()
}
