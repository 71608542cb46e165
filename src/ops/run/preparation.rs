//! Everything that can be judged before state, remote and plugin are touched: steps 2 and 4 to 10 of
//! connector contract §24.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use dpe_connector::manifest::Manifest;

use crate::config::{Definition, DefinitionError, Known, Mask, Secret, Tuning};
use crate::host::{config_violation, plugin_environment, read_manifest};
use crate::ops::causes::with_causes;
use crate::ops::{credential, regular_file};
use crate::sync::failure::Failure;
use crate::sync::guard::DeleteLimit;

use super::{command, distinct};

/// What a round needs besides state and remote.
pub(super) struct Prepared {
    pub(super) manifest: Manifest,
    pub(super) tuning: Tuning,
    pub(super) delete_limit: DeleteLimit,
    /// The `Authorization` value as it is now.
    pub(super) credential: Option<Secret>,
    pub(super) environment: Vec<(OsString, OsString)>,
    pub(super) program: PathBuf,
    /// Hides the credential and all secrets of the plugin.
    pub(super) mask: Mask,
}

/// A definition, and what is known of the instance even if it is none.
pub(super) struct ReadDefinition {
    pub(super) known: Known,
    pub(super) definition: Result<Definition, Failure>,
}

/// Reads the text of the definition in the file `path`.
pub(super) fn read_definition(text: &[u8], path: &Path) -> ReadDefinition {
    let directory = path.parent().unwrap_or(Path::new(""));
    let definition = Definition::parse(text, directory).and_then(|definition| {
        distinct::check_distinct(&definition)?;
        Ok(definition)
    });
    ReadDefinition {
        known: Known::of(text),
        definition: definition.map_err(|error| definition_invalid(&error)),
    }
}

pub(super) fn definition_invalid(error: &DefinitionError) -> Failure {
    Failure::instance("definition_invalid", with_causes(error))
}

/// Takes the steps from the manifest to the command, in their order.
pub(super) fn prepare(definition: &Definition) -> Result<Prepared, Failure> {
    let manifest = manifest(&definition.manifest)?;
    check_names(definition, &manifest).map_err(|error| definition_invalid(&error))?;
    check_config(definition, &manifest)?;
    let tuning = definition
        .tuning()
        .map_err(|error| definition_invalid(&error))?;
    let delete_limit = delete_limit(&tuning)?;
    let credential = credential(definition)?;
    let secrets = secrets(definition, &manifest)?;
    let environment = environment(definition, &secrets);
    let program = command::program(definition, &environment)
        .map_err(|why| Failure::instance("definition_invalid", why))?;
    let hidden = secrets.into_iter().map(|(_, secret)| secret);
    Ok(Prepared {
        mask: Mask::of_instance(hidden, credential.as_ref()),
        manifest,
        tuning,
        delete_limit,
        credential,
        environment,
        program,
    })
}

fn manifest(path: &Path) -> Result<Manifest, Failure> {
    let bytes = regular_file::read(path).map_err(|error| {
        let path = path.display();
        let why = format!("the manifest {path} cannot be read: {error}");
        Failure::instance("manifest_invalid", why)
    })?;
    read_manifest(&bytes)
        .map_err(|error| Failure::instance("manifest_invalid", with_causes(&error)))
}

/// Compares the names in the definition with the secrets of the manifest (§6).
fn check_names(definition: &Definition, manifest: &Manifest) -> Result<(), DefinitionError> {
    let declares = |name: &str| manifest.secrets.iter().any(|secret| secret.name == name);
    for (name, _) in &definition.secrets {
        if !declares(name) {
            return Err(undeclared(manifest));
        }
    }
    for (name, _) in &definition.environment {
        if declares(name) {
            let why = "is a secret that the manifest declares";
            return Err(DefinitionError::inside("/plugin/env", name, why));
        }
    }
    Ok(())
}

/// A name that nobody declared may be a secret in the wrong place: those that are declared help too.
fn undeclared(manifest: &Manifest) -> DefinitionError {
    let declared: Vec<_> = manifest.secrets.iter().map(|one| &*one.name).collect();
    let why = match &declared[..] {
        [] => "has members, and the manifest declares no secrets".to_owned(),
        _ => format!(
            "has a member that is none of the secrets that the manifest declares: {}",
            declared.join(", ")
        ),
    };
    DefinitionError::member("/secrets", why)
}

/// Judges the configuration by the schema of the manifest (§4.3).
fn check_config(definition: &Definition, manifest: &Manifest) -> Result<(), Failure> {
    match config_violation(manifest, definition.config.root()) {
        None => Ok(()),
        Some(violation) => Err(Failure::instance(
            "config_schema_violation",
            violation.to_string(),
        )),
    }
}

/// Returns when deletes are too many: never, unless somebody asks for it.
fn delete_limit(tuning: &Tuning) -> Result<DeleteLimit, Failure> {
    match &tuning.max_delete {
        None => Ok(DeleteLimit::Unlimited),
        Some(text) => text.parse().map_err(|error| {
            let why = format!("is not what it should be: {error}");
            definition_invalid(&DefinitionError::member("/runner/max_delete", why))
        }),
    }
}

fn credential(definition: &Definition) -> Result<Option<Secret>, Failure> {
    let Some(source) = &definition.credential else {
        return Ok(None);
    };
    let credential = credential::resolve(source).map_err(|why| {
        let place = "/remote/credential";
        secret_missing("the credential of the remote", place, &why.to_string())
    })?;
    Ok(Some(credential))
}

/// Returns the three parts of the environment of the plugin (§7.2).
fn environment(definition: &Definition, secrets: &[(String, Secret)]) -> Vec<(OsString, OsString)> {
    let secrets = secrets
        .iter()
        .map(|(name, secret)| (name.into(), secret.expose().into()));
    let given = definition
        .environment
        .iter()
        .map(|(name, value)| (name.into(), value.into()));
    plugin_environment(secrets.chain(given).collect())
}

/// Looks up the secrets that the manifest declares. An optional one that cannot be had is left out
/// (§7.1).
fn secrets(definition: &Definition, manifest: &Manifest) -> Result<Vec<(String, Secret)>, Failure> {
    let mut secrets = Vec::new();
    for declared in &manifest.secrets {
        let referenced = definition.secrets.iter();
        let source = referenced
            .filter(|(name, _)| *name == declared.name)
            .map(|(_, source)| source)
            .next();
        let name = &declared.name;
        let (place, why) = match source.map(credential::resolve) {
            Some(Ok(secret)) => {
                secrets.push((name.clone(), secret));
                continue;
            }
            Some(Err(why)) => (format!("/secrets/{name}"), why.to_string()),
            None => ("/secrets".to_owned(), "it is not there".to_owned()),
        };
        if declared.required {
            let what = format!("the secret {name}");
            return Err(secret_missing(&what, &place, &why));
        }
    }
    Ok(secrets)
}

/// Says which credential is missing, where the definition says where it is, and why that is of no use.
fn secret_missing(what: &str, place: &str, why: &str) -> Failure {
    let why = format!("{what} cannot be had by {place} of the definition: {why}");
    Failure::instance("secret_missing", why)
}
