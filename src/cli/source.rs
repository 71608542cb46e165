//! The command `dpe source`.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use crate::config::{ConfigFile, SourceEntry, nearest};
use crate::error::Error;
use crate::json::Writer;
use crate::ops::config::{self, ConfigError};

use super::config::is_free;
use super::context::CommonArgs;
use super::exit::Exit;

/// Manage the sources of dpe.toml
#[derive(Debug, Args)]
pub(super) struct SourceCommandArgs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Add(AddArgs),
    /// List the sources
    List,
    /// Show what dpe.toml says of a source
    Show {
        /// Its name
        name: String,
    },
    /// Remove a source from dpe.toml; its documents stay on the remote
    Remove {
        /// Its name
        name: String,
    },
}

/// Add a source to dpe.toml
#[derive(Debug, Args)]
struct AddArgs {
    /// Its name
    name: String,

    /// Folder, repository, or URL of a repository
    place: String,

    /// What reads it: fs for folders, git for repositories [default: git for URLs, or else fs]
    #[arg(long, env = "DPE_CONNECTOR", value_name = "fs|git", value_parser = ["fs", "git"], hide_possible_values = true)]
    connector: Option<String>,

    /// URI prefix of the documents [default: dpe://NAME/]
    #[arg(long, env = "DPE_PREFIX", value_name = "URI")]
    prefix: Option<String>,

    /// Leave out what this glob names, as in .gitignore; may be repeated
    #[arg(long, value_name = "GLOB")]
    exclude: Vec<String>,
}

impl SourceCommandArgs {
    /// Runs the command.
    pub(super) fn run(self, common: &CommonArgs) -> Result<Exit, Error> {
        match self.command {
            Command::Add(add) => add.run(common),
            Command::List => list(common),
            Command::Show { name } => show(common, &name),
            Command::Remove { name } => remove(common, &name),
        }
    }
}

impl AddArgs {
    fn run(self, common: &CommonArgs) -> Result<Exit, Error> {
        let mut draft = common.draft(false)?;
        is_free(&draft, "source", &self.name)?;
        let is_url = self.place.contains("://") || is_remote_path(&self.place);
        let connector = self.connector.as_deref();
        let connector = connector.unwrap_or(if is_url { "git" } else { "fs" });
        let place = if is_url {
            self.place.clone()
        } else {
            from_file(&common.here()?, &self.place, draft.path())
        };
        let root = if connector == "git" { "repo" } else { "root" };
        let mut config = toml_edit::InlineTable::new();
        config.insert(root, place.into());
        if !self.exclude.is_empty() {
            config.insert(
                "exclude",
                self.exclude.iter().collect::<toml_edit::Array>().into(),
            );
        }
        let prefix = self
            .prefix
            .unwrap_or_else(|| format!("dpe://{}/", self.name));
        let name = &*self.name;
        draft.set(&["source", name, "connector"], connector.into());
        draft.set(&["source", name, "prefix"], prefix.into());
        if let Some(remote) = &common.remote {
            draft.set(&["source", name, "remote"], remote.as_str().into());
        }
        draft.set(&["source", name, "config"], config.into());
        draft.save()?;
        let path = draft.path().display();
        common.voice().say(&format!(
            "added the source {name} to {path}; `dpe push {name}` pushes it"
        ));
        Ok(Exit::Success)
    }
}

/// Returns whether it is `user@host:path`.
fn is_remote_path(place: &str) -> bool {
    let host = place.split('/').next().unwrap_or_default();
    host.contains('@') && host.contains(':')
}

/// Returns a path from here as one from the directory of the file.
fn from_file(here: &Path, place: &str, file: &Path) -> String {
    let path = here.join(place);
    let path: PathBuf = path.canonicalize().unwrap_or(path);
    let directory = file.parent().unwrap_or(Path::new("/"));
    let directory = directory
        .canonicalize()
        .unwrap_or_else(|_| directory.to_owned());
    match path.strip_prefix(&directory) {
        Ok(below) if below.as_os_str().is_empty() => ".".to_owned(),
        Ok(below) => below.display().to_string(),
        Err(_) => path.display().to_string(),
    }
}

fn list(common: &CommonArgs) -> Result<Exit, Error> {
    let (voice, layers) = (common.voice(), common.layers()?);
    for file in &layers.files {
        for (name, entry) in &file.sources {
            let remote = layers.remote(entry.remote.as_deref())?;
            let place = remote.remote.location.describe();
            let remote = remote.name.unwrap_or(place);
            let line = if voice.json {
                to_json(name, entry, &remote)
            } else {
                format!("{name}\t{}\t{remote}", entry.prefix)
            };
            if !voice.result(&line).map_err(Error::Output)? {
                return Ok(Exit::Success);
            }
        }
    }
    Ok(Exit::Success)
}

fn to_json(name: &str, entry: &SourceEntry, remote: &str) -> String {
    let mut json = Writer::new();
    json.begin_object();
    json.name("type").string("source");
    json.name("name").string(name);
    json.name("uri_prefix").string(&entry.prefix);
    json.name("remote").string(remote);
    json.name("config").raw(&entry.config);
    json.end_object();
    json.into_string()
}

fn show(common: &CommonArgs, name: &str) -> Result<Exit, Error> {
    let layers = common.layers()?;
    let Some((file, entry)) = layers.source_entry(name) else {
        return Err(no_source(name, &layers.source_names()).into());
    };
    tell_entry(common, "source", name, file, &entry.span)
}

/// Prints what a file says of a remote or a source.
pub(super) fn tell_entry(
    common: &CommonArgs,
    kind: &str,
    name: &str,
    file: &ConfigFile,
    span: &std::ops::Range<usize>,
) -> Result<Exit, Error> {
    let voice = common.voice();
    voice.say(&format!("{}:{}", file.path.display(), file.line(span)));
    let own = [format!("{kind}.{name}."), format!("{kind}.{name:?}.")];
    for listed in config::list(&*common.layers()?) {
        let Some(key) = own
            .iter()
            .find_map(|own| listed.key.strip_prefix(own.as_str()))
        else {
            continue;
        };
        let written = voice.result(&format!("{key}={}", listed.value));
        if !written.map_err(Error::Output)? {
            break;
        }
    }
    Ok(Exit::Success)
}

fn remove(common: &CommonArgs, name: &str) -> Result<Exit, Error> {
    let mut draft = common.draft(false)?;
    let layers = common.layers()?;
    let prefix = layers
        .source_entry(name)
        .map(|(_, entry)| entry.prefix.clone());
    if !draft.unset(&["source", name]) {
        return Err(no_source(name, &layers.source_names()).into());
    }
    draft.save()?;
    let (path, prefix) = (draft.path().display(), prefix.unwrap_or_default());
    common.voice().say(&format!(
        "removed the source {name} from {path}; its documents stay on the remote, and `dpe rm -r {prefix}` deletes them"
    ));
    Ok(Exit::Success)
}

fn no_source(name: &str, names: &[&str]) -> ConfigError {
    let near = nearest(name, names).map(|near| format!("do you mean `{near}`? "));
    ConfigError::Missing {
        what: format!("source `{name}`"),
        way_out: format!(
            "{}`dpe source list` lists those there are",
            near.unwrap_or_default()
        ),
    }
}
