//! The table of §6, member by member.

use std::path::Path;

use dpe_connector::manifest::is_base_environment;

use crate::config::credential_source::CredentialSource;
use crate::config::remote::RemoteUrl;
use crate::json::{Text, Value};
use crate::model::FileUri;

use super::error::DefinitionError;
use super::members::{Place, place_of};
use super::{ConflictAction, ConflictPolicy, Definition, Known};

type Read<T> = Result<T, DefinitionError>;

/// The members of a definition.
const MEMBERS: [&str; 9] = [
    "definition_version",
    "id",
    "remote",
    "uri_prefix",
    "plugin",
    "config",
    "secrets",
    "conflict_policy",
    "runner",
];

/// Returns how the place of something in a definition is told: by the member that it is in, since names
/// further inside may be anything.
pub(super) fn defined(pointer: &str) -> &str {
    let is_inside = |member: &&&str| {
        let rest = pointer
            .strip_prefix('/')
            .and_then(|rest| rest.strip_prefix(**member));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let member = MEMBERS.iter().find(is_inside);
    place_of(member.map_or("", |member| &pointer[..=member.len()]))
}

pub(super) fn definition(root: Value<'_>, directory: &Path) -> Read<Definition> {
    let root = Place::root(root);
    let [
        version,
        id,
        remote,
        uri_prefix,
        plugin,
        config,
        secrets,
        conflict_policy,
        runner,
    ] = root.closed(MEMBERS)?;
    check_version(&root.required("definition_version", version)?)?;
    let id = valid_id(&root.required("id", id)?)?;
    let (remote_url, credential) = read_remote(&root.required("remote", remote)?, directory)?;
    let uri_prefix = valid_prefix(&root.required("uri_prefix", uri_prefix)?)?;
    let plugin = read_plugin(&root.required("plugin", plugin)?)?;
    let config = object(&root.required("config", config)?)?;
    let secrets = secrets.map(|secrets| read_secrets(&secrets, directory));
    let conflict_policy = conflict_policy.map(|policy| read_policy(&policy));
    Ok(Definition {
        id,
        remote_url,
        credential,
        uri_prefix,
        manifest: directory.join(plugin.manifest),
        command: plugin.command,
        environment: plugin.environment,
        config,
        secrets: secrets.transpose()?.unwrap_or_default(),
        conflict_policy: conflict_policy.transpose()?.unwrap_or_default(),
        runner: runner.map(|runner| object(&runner)).transpose()?,
        directory: directory.to_owned(),
    })
}

/// Reads the id and judges nothing else but the version (§29).
pub(super) fn id(root: Value<'_>) -> Read<String> {
    let place = Place::root(root);
    let (mut version, mut id) = (None, None);
    for (name, member) in place.open()? {
        match &*name {
            "definition_version" => version = Some(member),
            "id" => id = Some(member),
            _ => {}
        }
    }
    check_version(&place.required("definition_version", version)?)?;
    valid_id(&place.required("id", id)?)
}

pub(super) fn known(root: Value<'_>) -> Known {
    let member = |name| root.member(name).map(Place::root);
    let version = member("definition_version");
    if version.is_none_or(|version| check_version(&version).is_err()) {
        return Known::default();
    }
    let remote_url = root
        .member("remote")
        .and_then(|remote| remote.member("url"))
        .and_then(|url| valid_url(&Place::root(url)).ok());
    Known {
        id: member("id").and_then(|id| valid_id(&id).ok()),
        uri_prefix: member("uri_prefix").and_then(|prefix| valid_prefix(&prefix).ok()),
        remote_url: remote_url.map(|url| url.as_str().to_owned()),
    }
}

fn check_version(version: &Place<'_>) -> Read<()> {
    match version.value.number().map(|number| number.literal()) {
        Some("1") => Ok(()),
        _ => Err(version.refused("is not the integer 1, the only version there is")),
    }
}

fn valid_id(place: &Place<'_>) -> Read<String> {
    let id = place.string()?;
    let mut bytes = id.bytes();
    let is_valid = bytes
        .next()
        .is_some_and(|first| first.is_ascii_alphanumeric())
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
        && id.len() <= 128;
    if !is_valid {
        return Err(place.refused("does not match [A-Za-z0-9][A-Za-z0-9._-]{0,127}"));
    }
    Ok(id.into_owned())
}

fn valid_url(place: &Place<'_>) -> Read<RemoteUrl> {
    RemoteUrl::parse(&place.string()?)
        .map_err(|why| place.refused(format!("is no URL of a remote: {why}")))
}

fn valid_prefix(place: &Place<'_>) -> Read<String> {
    let prefix = place.string()?;
    let uri = FileUri::parse(&prefix);
    let uri = uri.map_err(|why| place.refused(format!("is no URI: {why}")))?;
    if uri.as_str() != prefix {
        return Err(place.refused("is not in normal form"));
    }
    Ok(prefix.into_owned())
}

fn read_remote(place: &Place<'_>, directory: &Path) -> Read<(RemoteUrl, Option<CredentialSource>)> {
    let [url, credential] = place.closed(["url", "credential"])?;
    let url = valid_url(&place.required("url", url)?)?;
    let credential = credential.map(|source| source_reference(&source, directory));
    Ok((url, credential.transpose()?))
}

/// Reads a source reference: a closed object with exactly one member (§7.1).
fn source_reference(place: &Place<'_>, directory: &Path) -> Read<CredentialSource> {
    match place.closed(["env", "file"])? {
        [Some(name), None] => Ok(CredentialSource::Env(name.string()?.into_owned())),
        [None, Some(path)] => Ok(CredentialSource::File(directory.join(&*path.string()?))),
        _ => Err(place.refused("has to have exactly one of \"env\" and \"file\"")),
    }
}

struct Plugin {
    manifest: String,
    command: Vec<String>,
    environment: Vec<(String, String)>,
}

fn read_plugin(place: &Place<'_>) -> Read<Plugin> {
    let [manifest, command, env] = place.closed(["manifest", "command", "env"])?;
    let manifest = place.required("manifest", manifest)?;
    let path = manifest.string()?;
    if path.is_empty() {
        return Err(manifest.refused("is empty"));
    }
    Ok(Plugin {
        manifest: path.into_owned(),
        command: read_command(&place.required("command", command)?)?,
        environment: match env {
            Some(env) => read_environment(&env)?,
            None => Vec::new(),
        },
    })
}

fn read_command(place: &Place<'_>) -> Read<Vec<String>> {
    let mut command = Vec::new();
    for item in place.items()? {
        let word = item.string()?;
        if word.contains('\0') {
            return Err(item.refused("contains NUL"));
        }
        command.push(word.into_owned());
    }
    match command.first().map(String::as_str) {
        None => Err(place.refused("is empty")),
        Some("") => Err(place.refused("names no program")),
        Some(_) => Ok(command),
    }
}

fn read_environment(place: &Place<'_>) -> Read<Vec<(String, String)>> {
    let mut environment = Vec::new();
    for (name, member) in place.open()? {
        if name.is_empty() || name.contains(['=', '\0']) {
            return Err(place.refused("has a member whose name no environment variable can have"));
        }
        let value = member.string()?;
        if value.contains('\0') {
            return Err(member.refused("contains NUL"));
        }
        if name.starts_with("DPE_") || is_base_environment(&name) {
            return Err(member.refused("has a reserved name"));
        }
        environment.push((name.into_owned(), value.into_owned()));
    }
    Ok(environment)
}

fn read_secrets(place: &Place<'_>, directory: &Path) -> Read<Vec<(String, CredentialSource)>> {
    let mut secrets = Vec::new();
    for (name, member) in place.open()? {
        let source = source_reference(&member, directory)?;
        secrets.push((name.into_owned(), source));
    }
    Ok(secrets)
}

fn read_policy(place: &Place<'_>) -> Read<ConflictPolicy> {
    let [commit, delete] = place.closed(["commit", "delete"])?;
    let usual = ConflictPolicy::default();
    Ok(ConflictPolicy {
        commit: commit.map_or(Ok(usual.commit), |action| read_action(&action))?,
        delete: delete.map_or(Ok(usual.delete), |action| read_action(&action))?,
    })
}

fn read_action(place: &Place<'_>) -> Read<ConflictAction> {
    match place.value.as_str().as_deref() {
        Some("source_wins") => Ok(ConflictAction::SourceWins),
        Some("report") => Ok(ConflictAction::Report),
        _ => Err(place.refused("is neither \"source_wins\" nor \"report\"")),
    }
}

/// Takes an object out of its text, as it is written.
fn object(place: &Place<'_>) -> Read<Text<'static>> {
    if !place.value.is_object() {
        return Err(place.refused("is no object"));
    }
    let bytes = place.value.raw().as_bytes().to_vec();
    Ok(Text::parse_owned(bytes).expect("a part of a strict text is strict"))
}
