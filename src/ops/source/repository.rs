//! A git repository as a source of documents.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use dpe_connector::manifest::Manifest;
use dpe_connector_git::Place;
use serde_json::value::RawValue;

use crate::config::{Mask, Secret};
use crate::json::{Text, Writer};

use super::Unresolved;
use super::error::SourceError;
use super::naming::{digest, prefix_of, shown};

/// What of a repository is pushed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RepositoryOptions {
    /// A branch, a tag, a commit; HEAD if nothing is given.
    pub reference: Option<String>,
    /// What becomes of it.
    pub mode: RepositoryMode,
}

/// What the documents of a repository are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RepositoryMode {
    /// Its files.
    #[default]
    Files,
    /// Its commits.
    History,
}

impl RepositoryMode {
    fn name(self) -> &'static str {
        match self {
            Self::Files => "files",
            Self::History => "history",
        }
    }
}

/// A repository to push.
#[derive(Clone, Debug)]
pub struct RepositorySource {
    /// The source, as a person named it, without credentials.
    pub name: String,
    /// Where it is.
    pub place: Place,
    /// The same as the connector is told it; may hold a credential.
    repo: String,
    /// The folder of the tree that was named, if it was one in a work tree.
    pub subdir: Option<String>,
    /// What of it is pushed.
    pub options: RepositoryOptions,
    /// URI prefix of the documents; ends with `/`.
    pub uri_prefix: String,
    /// Further configuration of the connector: a JSON object.
    pub settings: String,
}

/// The secret of the connector.
const TOKEN: &str = "GIT_TOKEN";

/// A user of a URL with so many bytes may be a token. A shorter one is a part of too many words.
const TOKEN_BYTES: usize = 12;

/// Variables by which a user has set up git and what it starts. The connector hands them on.
const SETTINGS: [&str; 22] = [
    "ALL_PROXY",
    "DBUS_SESSION_BUS_ADDRESS",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CONFIG_SYSTEM",
    "GIT_PROXY_COMMAND",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH",
    "HTTPS_PROXY",
    "NO_PROXY",
    "SSH_AUTH_SOCK",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_RUNTIME_DIR",
    "all_proxy",
    "http_proxy",
    "https_proxy",
    "no_proxy",
];

/// Returns the variables of our environment that the connector needs.
pub(super) fn environment() -> Vec<(OsString, OsString)> {
    let names = SETTINGS.into_iter().chain([TOKEN]);
    names
        .filter_map(|name| Some((name.into(), std::env::var_os(name)?)))
        .collect()
}

/// Finds the repository that was named: by a path, which may lead into a work tree, or by a URL.
pub(super) fn resolve(
    named: &Path,
    options: &RepositoryOptions,
    prefix: Option<&str>,
) -> Result<RepositorySource, Unresolved> {
    let unresolved = |error| (shown(named), Box::new(error));
    if !named.exists()
        && let Some(text) = named.to_str()
    {
        match Place::parse(text) {
            Ok(place @ Place::Url(_)) => return Ok(somewhere_else(text, place, options, prefix)),
            Err(why) if text.contains("://") || text.contains('@') => {
                let url = shown(named);
                return Err(unresolved(SourceError::Url { url, why }));
            }
            _ => {}
        }
    }
    on_this_machine(named, options, prefix).map_err(unresolved)
}

fn somewhere_else(
    text: &str,
    place: Place,
    options: &RepositoryOptions,
    prefix: Option<&str>,
) -> RepositorySource {
    let own = || prefix_of(&place.name());
    RepositorySource {
        name: place.to_string(),
        uri_prefix: prefix.map_or_else(own, str::to_owned),
        repo: text.to_owned(),
        settings: "{}".to_owned(),
        subdir: None,
        options: options.clone(),
        place,
    }
}

fn on_this_machine(
    named: &Path,
    options: &RepositoryOptions,
    prefix: Option<&str>,
) -> Result<RepositorySource, SourceError> {
    let path = named.canonicalize().map_err(|source| SourceError::Source {
        name: shown(named),
        source,
    })?;
    let not_unicode = || SourceError::NotUnicode { path: path.clone() };
    let (root, subdir) = match options.mode {
        RepositoryMode::Files => around(&path),
        // A folder that contains repositories may lie in a work tree itself.
        RepositoryMode::History => (path.clone(), PathBuf::new()),
    };
    let repo = root.to_str().ok_or_else(not_unicode)?.to_owned();
    let subdir = subdir.to_str().ok_or_else(not_unicode)?;
    let name = Place::Folder(path.clone()).name();
    Ok(RepositorySource {
        name: named.display().to_string(),
        uri_prefix: prefix.map_or_else(|| prefix_of(&name), str::to_owned),
        place: Place::Folder(root),
        subdir: (!subdir.is_empty()).then(|| subdir.to_owned()),
        options: options.clone(),
        settings: "{}".to_owned(),
        repo,
    })
}

/// Returns the repository at `path`, or the one in whose work tree it lies, and the way from there.
fn around(path: &Path) -> (PathBuf, PathBuf) {
    let is_bare = path.join("HEAD").is_file() && path.join("objects").is_dir();
    let top = path
        .ancestors()
        .find(|above| above.join(".git").exists())
        .filter(|_| !is_bare);
    match top.map(|top| (top, path.strip_prefix(top))) {
        Some((top, Ok(below))) => (top.to_owned(), below.to_owned()),
        // Whether it is one is for the connector to find out.
        _ => (path.to_owned(), PathBuf::new()),
    }
}

impl RepositorySource {
    /// Takes a folder of the tree, from where it is already, for the whole.
    pub(super) fn below(&mut self, subdir: &str) {
        let subdir = subdir.trim_matches('/');
        self.subdir = Some(match &self.subdir {
            Some(above) => format!("{above}/{subdir}"),
            None => subdir.to_owned(),
        });
    }

    /// Returns the configuration of the connector.
    pub fn config(&self) -> Box<RawValue> {
        let mut json = Writer::new();
        json.begin_object();
        json.name("repo").string(&self.repo);
        json.name("mode").string(self.options.mode.name());
        if let Some(reference) = &self.options.reference {
            json.name("ref").string(reference);
        }
        if let Some(subdir) = &self.subdir {
            json.name("subdir").string(subdir);
        }
        let settings = Text::parse(self.settings.as_bytes()).expect("settings are JSON");
        for (name, value) in settings.root().members().into_iter().flatten() {
            if !["repo", "mode", "ref", "subdir", "say_skipped"].contains(&&*name) {
                json.name(&name).raw(&value.compact());
            }
        }
        json.end_object();
        RawValue::from_string(json.into_string()).expect("the writer writes JSON")
    }

    /// Returns what hides the credentials of the repository.
    pub(super) fn mask(&self) -> Mask {
        let token = std::env::var(TOKEN).ok();
        let password = self.place.password().map(str::to_owned);
        // The connector hides users of any length itself, with less harm to what is around them.
        let user = self.place.user().filter(|user| user.len() >= TOKEN_BYTES);
        let secrets = token
            .into_iter()
            .chain(password)
            .chain(user.map(str::to_owned));
        Mask::of_instance(secrets.map(Secret::new), None)
    }

    /// Returns the id of the instance: the same repository, prefix and remote are the same
    /// instance, whatever commit is pushed.
    pub fn instance_id(&self, remote_url: &str) -> String {
        let identity = digest(&[
            dpe_connector_git::NAME,
            &self.place.to_string(),
            self.subdir.as_deref().unwrap_or_default(),
            self.options.mode.name(),
            &self.uri_prefix,
            remote_url,
        ]);
        format!("push-{}", &identity[..32])
    }

    /// Returns the content identity (connector contract §8.3). The reference is no part of it: what
    /// differs between two of them is what has changed.
    pub fn fingerprint(&self, remote_url: &str, plugin: &Manifest) -> String {
        digest(&[&self.instance_id(remote_url), &plugin.name, &plugin.version])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(named: &Path, mode: RepositoryMode) -> RepositorySource {
        let options = RepositoryOptions {
            reference: Some("v1".to_owned()),
            mode,
        };
        resolve(named, &options, None)
            .map_err(|(_, why)| why)
            .unwrap()
    }

    #[test]
    fn a_folder_in_a_work_tree_is_a_folder_of_the_tree() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap().join("proj");
        std::fs::create_dir_all(root.join("docs/api")).unwrap();
        std::fs::create_dir(root.join(".git")).unwrap();
        let whole = resolved(&root, RepositoryMode::Files);
        assert_eq!(
            (whole.subdir.as_deref(), &*whole.uri_prefix),
            (None, "dpe://proj/")
        );
        let part = resolved(&root.join("docs/api"), RepositoryMode::Files);
        assert_eq!(part.place, whole.place);
        assert_eq!(
            (part.subdir.as_deref(), &*part.uri_prefix),
            (Some("docs/api"), "dpe://api/")
        );
        let config = part.config();
        let expected = format!(
            r#"{{"repo":"{}","mode":"files","ref":"v1","subdir":"docs/api"}}"#,
            root.display()
        );
        assert_eq!(config.get(), expected);
        let dot_git = resolved(&root.join(".git"), RepositoryMode::History);
        assert_eq!(dot_git.uri_prefix, "dpe://proj/");
    }

    #[test]
    fn a_url_is_named_without_its_credentials() {
        let source = resolved(
            Path::new("https://me:pass@example.com/x/docs.git"),
            RepositoryMode::Files,
        );
        assert_eq!(source.name, "https://example.com/x/docs.git");
        assert_eq!(source.uri_prefix, "dpe://docs/");
        assert_eq!(source.mask().hide("say pass"), "say [REDACTED]");
        let other = resolved(
            Path::new("https://example.com/x/docs.git"),
            RepositoryMode::Files,
        );
        assert_eq!(source.instance_id("r"), other.instance_id("r"));
    }
}
