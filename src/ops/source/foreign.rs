//! A source that somebody else's connector reads, as a configuration file describes it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use dpe_connector::manifest::Manifest;
use serde_json::value::RawValue;

use crate::config::{ConnectorEntry, Mask, Places, Secret, SourceEntry};
use crate::host::{config_violation, read_manifest};
use crate::json::{Text, canonical};
use crate::ops::causes::with_causes;
use crate::ops::connector::list;
use crate::ops::{credential, regular_file};

use super::connector::Connector;
use super::error::SourceError;
use super::naming::digest;

/// Where more connectors are looked for.
const PATH: &str = "DPE_CONNECTOR_PATH";

/// A source of a connector that is not part of this program.
#[derive(Clone, Debug)]
pub struct ForeignSource {
    /// Its name in the configuration file.
    pub name: String,
    /// Name of the connector.
    pub connector: String,
    /// URI prefix of the documents; ends with `/`.
    pub uri_prefix: String,
    /// By which a person knows it.
    pub origin: String,
    /// Configuration of the connector, canonical.
    config: String,
    /// Variables for it, its secrets among them.
    environment: Vec<(OsString, OsString)>,
    /// Hides its secrets.
    mask: Mask,
}

/// Returns the source of an entry of the file at `file`, and its connector.
///
/// # Errors
///
/// When the manifest, the configuration or a secret is of no use.
pub(super) fn resolve(
    name: &str,
    entry: &SourceEntry,
    file: &Path,
) -> Result<(ForeignSource, Connector), SourceError> {
    let refused = |why: String| SourceError::Entry {
        name: name.to_owned(),
        why,
    };
    let (path, command) = manifest_of(&entry.connector).map_err(refused)?;
    let manifest = read(&path).map_err(refused)?;
    let config = Text::parse(entry.config.as_bytes()).expect("the writer writes JSON");
    if let Some(violation) = config_violation(&manifest, config.root()) {
        return Err(refused(violation.to_string()));
    }
    let mut text = Vec::new();
    canonical::write(config.root(), &mut text).map_err(|why| refused(why.to_string()))?;
    let secrets = secrets(entry, &manifest).map_err(refused)?;
    let given = entry.environment.iter();
    let given = given.map(|(name, value)| (name.into(), value.into()));
    let hidden = secrets
        .iter()
        .map(|(name, value)| (name.into(), value.expose().into()));
    let source = ForeignSource {
        name: name.to_owned(),
        connector: manifest.name.clone(),
        uri_prefix: entry.prefix.clone(),
        origin: format!("{name} of {}", file.display()),
        config: String::from_utf8(text).expect("canonical text is UTF-8"),
        environment: hidden.chain(given).collect(),
        mask: Mask::of_instance(secrets.into_iter().map(|(_, secret)| secret), None),
    };
    let mut command = command.iter();
    let program = command.next().map(PathBuf::from);
    let args = command.map(OsString::from).collect();
    Ok((
        source,
        Connector {
            manifest,
            program,
            args,
        },
    ))
}

/// Returns the manifest of a connector and what starts it.
fn manifest_of(connector: &ConnectorEntry) -> Result<(PathBuf, &[String]), String> {
    match connector {
        ConnectorEntry::Manifest { manifest, command } => Ok((manifest.clone(), command)),
        ConnectorEntry::Installed { name, command } => {
            let named = std::env::var_os(PATH).unwrap_or_default();
            let named = std::env::split_paths(&named).filter(|path| !path.as_os_str().is_empty());
            let directories: Vec<PathBuf> = named.chain(Places::connectors()).collect();
            let installed = list::list(&directories);
            let is_it = |manifest: &Manifest| manifest.name == *name;
            let found = installed
                .into_iter()
                .find(|listed| listed.manifest.as_ref().is_ok_and(is_it));
            let path = found.and_then(|listed| listed.manifest_path);
            let path = path.ok_or_else(|| {
                format!(
                    "no connector {name} is installed; `dpe connector list` shows those there are"
                )
            })?;
            Ok((path, command))
        }
        ConnectorEntry::Bundled(name) => Err(format!("{name} is part of this program")),
    }
}

fn read(path: &Path) -> Result<Manifest, String> {
    let bytes = regular_file::read(path)
        .map_err(|error| format!("the manifest {} cannot be read: {error}", path.display()))?;
    read_manifest(&bytes).map_err(|error| with_causes(&error))
}

/// Returns the secrets that the manifest declares (connector contract §7.1).
fn secrets(entry: &SourceEntry, manifest: &Manifest) -> Result<Vec<(String, Secret)>, String> {
    let declares = |name: &str| manifest.secrets.iter().any(|secret| secret.name == name);
    if let Some((name, _)) = entry.secrets.iter().find(|(name, _)| !declares(name)) {
        return Err(format!("the connector declares no secret {name}"));
    }
    let mut secrets = Vec::new();
    for declared in &manifest.secrets {
        let name = &declared.name;
        let mut places = entry.secrets.iter();
        let place = places
            .find(|(given, _)| given == name)
            .map(|(_, place)| place);
        match place.map(credential::resolve) {
            Some(Ok(secret)) => secrets.push((name.clone(), secret)),
            Some(Err(why)) if declared.required => return Err(format!("the secret {name}: {why}")),
            None if declared.required => {
                return Err(format!(
                    "the connector needs the secret {name}; say where it is: secrets = {{ {name} = {{ env = \"{name}\" }} }}"
                ));
            }
            _ => {}
        }
    }
    Ok(secrets)
}

impl ForeignSource {
    /// Returns the configuration of the connector.
    pub(super) fn config(&self) -> Box<RawValue> {
        RawValue::from_string(self.config.clone()).expect("canonical text is JSON")
    }

    /// Returns what the connector gets to see besides the base variables.
    pub(super) fn environment(&self) -> Vec<(OsString, OsString)> {
        self.environment.clone()
    }

    /// Returns what hides the secrets of the connector.
    pub(super) fn mask(&self) -> Mask {
        self.mask.clone()
    }

    /// Returns the id of the instance: the same connector, prefix and remote are the same instance,
    /// whatever it is configured to read.
    pub(super) fn instance_id(&self, remote_url: &str) -> String {
        let identity = digest(&["connector", &self.connector, &self.uri_prefix, remote_url]);
        format!("push-{}", &identity[..32])
    }

    /// Returns the content identity (connector contract §8.3).
    pub(super) fn fingerprint(&self, remote_url: &str, plugin: &Manifest) -> String {
        digest(&[
            remote_url,
            &self.uri_prefix,
            &self.config,
            &plugin.name,
            &plugin.version,
        ])
    }
}
