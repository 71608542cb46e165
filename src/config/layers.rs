//! What holds: a flag before a variable, before the project's file, before the user's, before the
//! default. This is the only place that knows the order.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use miette::Diagnostic;
use thiserror::Error;

use super::credential::Credential;
use super::file::{ConfigFile, Owner, RemoteEntry, SETTINGS, SourceEntry, nearest};
use super::network::{Network, Remote};
use super::place::{PlaceError, Places};
use super::remote::{LocationError, RemoteLocation};

/// Name of the remote that is meant when there are several and nobody says which.
const ORIGIN: &str = "origin";

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A flag of this call.
    Flag(&'static str),
    /// A variable.
    Variable(&'static str),
    /// A line of a file, from 1.
    File {
        /// The file.
        path: PathBuf,
        /// The line.
        line: usize,
    },
    /// Nobody said anything.
    Default,
}

/// All that was said, the strongest first.
#[derive(Clone, Debug, Default)]
pub struct Layers {
    /// What flags and variables say, by key.
    pub given: BTreeMap<&'static str, (String, Origin)>,
    /// The files, the project's before the user's.
    pub files: Vec<ConfigFile>,
    /// The credential that the environment names, for remotes without one of their own.
    pub credential: Option<Credential>,
}

/// A remote, and what the files call it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedRemote {
    /// Its name, if it has one.
    pub name: Option<String>,
    /// The remote.
    pub remote: Remote,
}

/// Which remote is meant cannot be found out.
#[derive(Debug, Error, Diagnostic)]
pub enum UnknownRemote {
    /// A word that names nothing.
    #[error("there is no remote `{name}`")]
    #[diagnostic(code(dpe::config::unknown_remote), help("{way_out}"))]
    Name {
        /// What was given.
        name: String,
        /// What to give instead.
        way_out: String,
    },
    /// It is no place.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Location(#[from] LocationError),
    /// Without a remote it would be the user's own, and there is no user.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Place(#[from] PlaceError),
}

impl Layers {
    /// Returns the value of a setting and where it comes from; nothing if nobody said anything.
    pub fn setting(&self, key: &str) -> Option<(&str, Origin)> {
        if let Some((value, origin)) = self.given.get(key) {
            return Some((value, origin.clone()));
        }
        self.files.iter().find_map(|file| {
            let entry = file.defaults.get(key)?;
            let line = file.line(&entry.span);
            let path = file.path.clone();
            Some((entry.value.as_str(), Origin::File { path, line }))
        })
    }

    /// Returns the value of a setting. What flags and files say was judged when it was read.
    pub fn value<T: FromStr>(&self, key: &str) -> Option<T> {
        debug_assert!(SETTINGS.iter().any(|setting| setting.key == key));
        self.setting(key).and_then(|(value, _)| value.parse().ok())
    }

    /// Returns the remote of this name and the file it is in; the table of the nearest file counts as a
    /// whole.
    pub fn remote_entry(&self, name: &str) -> Option<(&ConfigFile, &RemoteEntry)> {
        self.files
            .iter()
            .find_map(|file| Some((file, file.remotes.get(name)?)))
    }

    /// Returns the source of this name, and the file it is in.
    pub fn source_entry(&self, name: &str) -> Option<(&ConfigFile, &SourceEntry)> {
        self.files
            .iter()
            .find_map(|file| Some((file, file.sources.get(name)?)))
    }

    /// Returns the names of all remotes.
    pub fn remote_names(&self) -> Vec<&str> {
        let mut names: Vec<_> = self
            .files
            .iter()
            .flat_map(|file| file.remotes.keys().map(String::as_str))
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Returns the file whose sources are meant when none is named: the nearest that has some.
    pub fn file_of_sources(&self) -> Option<&ConfigFile> {
        self.files.iter().find(|file| !file.sources.is_empty())
    }

    /// Returns the names of all sources, those of the nearest file first.
    pub fn source_names(&self) -> Vec<&str> {
        let all = self.files.iter().flat_map(|file| file.sources.keys());
        all.map(String::as_str).collect()
    }

    /// Returns where state is kept.
    ///
    /// # Errors
    ///
    /// When nobody says, and the user has no home.
    pub fn state_dir(&self) -> Result<PathBuf, PlaceError> {
        match self.setting("state_dir") {
            Some((path, _)) => Ok(path.into()),
            None => Places::default_state(),
        }
    }

    /// Returns the remote that is meant: the one that flag or variable name, or else `own`, which is
    /// the source's, or else the usual one.
    ///
    /// # Errors
    ///
    /// [`UnknownRemote`].
    pub fn remote(&self, own: Option<&str>) -> Result<NamedRemote, UnknownRemote> {
        if let Some((text, _)) = self.given.get("remote") {
            return self.named(text);
        }
        if let Some(name) = own {
            return self.known(name);
        }
        if let Some((name, _)) = self.setting("remote") {
            return self.known(name);
        }
        let names = self.remote_names();
        match names.as_slice() {
            [only] => self.known(only),
            names if names.contains(&ORIGIN) => self.known(ORIGIN),
            _ => Ok(NamedRemote {
                name: None,
                remote: self.place(RemoteLocation::Store(Places::default_store()?)),
            }),
        }
    }

    /// Returns the remote that somebody names by its name, its URL or its path.
    ///
    /// # Errors
    ///
    /// [`UnknownRemote`].
    pub fn named(&self, text: &str) -> Result<NamedRemote, UnknownRemote> {
        if self.remote_entry(text).is_some() || is_word(text) {
            return self.known(text);
        }
        let remote = self.place(RemoteLocation::parse(text)?);
        Ok(NamedRemote { name: None, remote })
    }

    /// Returns the remote of this name.
    fn known(&self, name: &str) -> Result<NamedRemote, UnknownRemote> {
        let Some((file, entry)) = self.remote_entry(name) else {
            return Err(UnknownRemote::Name {
                name: name.to_owned(),
                way_out: self.way_out(name),
            });
        };
        // Where a stranger's file leads, no credential of ours is sent.
        let ours = self.credential.as_ref();
        let ours = ours.filter(|_| file.owner == Owner::Trusted);
        let credential = entry.credential.as_ref().or(ours).cloned();
        let remote = Remote {
            location: entry.location.clone(),
            network: self.network(Some(entry), credential),
        };
        let name = Some(name.to_owned());
        Ok(NamedRemote { name, remote })
    }

    fn place(&self, location: RemoteLocation) -> Remote {
        // A store may turn out to be served, and is then reached over the network too.
        let network = self.network(None, self.credential.clone());
        Remote { location, network }
    }

    /// Returns how a remote is reached: what is said for this call, for this remote, for all.
    pub fn network(&self, entry: Option<&RemoteEntry>, credential: Option<Credential>) -> Network {
        let usual = Network::default();
        let given = |key| self.given.contains_key(key);
        let own = |key| entry.filter(|_| !given(key));
        let timeout = own("timeout").and_then(|entry| entry.timeout);
        let seconds = |seconds| Duration::from_secs(u64::from(seconds));
        Network {
            timeout: match timeout.or_else(|| self.value("timeout")) {
                None => usual.timeout,
                Some(0) => None,
                Some(given) => Some(seconds(given)),
            },
            upload_limit: own("limit_upload")
                .and_then(|entry| entry.limit_upload)
                .or_else(|| self.value("limit_upload")),
            authorities: own("cacert")
                .and_then(|entry| entry.cacert.clone())
                .or_else(|| self.value("cacert")),
            client_certificate: own("client_cert")
                .and_then(|entry| entry.client_cert.clone())
                .or_else(|| self.value("client_cert")),
            credential,
        }
    }

    fn way_out(&self, name: &str) -> String {
        let names = self.remote_names();
        let near = nearest(name, &names).map(|near| format!("do you mean `{near}`? "));
        let known = match names.as_slice() {
            [] => String::new(),
            names => format!("The remotes here are {}. ", names.join(", ")),
        };
        format!(
            "{}{known}A directory is named as ./{name}, and `dpe remote add {name} URL` adds a remote",
            near.unwrap_or_default(),
        )
    }
}

/// Returns whether it can only be meant as a name. What is a directory may be meant.
fn is_word(text: &str) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || "_-".contains(c);
    !text.is_empty() && text.chars().all(is_name) && !std::path::Path::new(text).is_dir()
}
