//! The command `dpe remote`.

mod test;

use std::path::Path;

use clap::{ArgGroup, Args, Subcommand};
use toml_edit::{InlineTable, Value};

use crate::config::{Credential, RemoteLocation, nearest};
use crate::error::Error;
use crate::json::Writer;
use crate::ops::config::ConfigError;

use super::config::is_free;
use super::context::CommonArgs;
use super::exit::Exit;
use super::source::tell_entry;

/// Manage the remotes of dpe.toml
#[derive(Debug, Args)]
pub(super) struct RemoteArgs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Add(AddArgs),
    /// List the remotes; with -v also where they are and where their credentials come from
    List,
    /// Show what dpe.toml says of a remote
    Show {
        /// Its name
        name: String,
    },
    /// Give a remote another name; sources follow
    Rename {
        /// Its name
        from: String,
        /// The new one
        to: String,
    },
    /// Remove a remote from dpe.toml; what it holds stays there
    Remove {
        /// Its name
        name: String,
        /// Even if sources use it, which then push to the usual remote
        #[arg(long)]
        force: bool,
    },
    Test(test::TestArgs),
}

/// Add a remote to dpe.toml
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("credential").args(["credential_env", "credential_file", "credential_command"]))]
struct AddArgs {
    /// Its name
    name: String,

    /// A URL, or the directory of an embedded remote
    place: String,

    /// Variable that holds its Authorization value
    #[arg(long, value_name = "VARIABLE")]
    credential_env: Option<String>,

    /// File that holds its Authorization value
    #[arg(long, value_name = "FILE")]
    credential_file: Option<String>,

    /// Program that prints its Authorization value, with its arguments; runs without a shell
    #[arg(long, value_name = "COMMAND", num_args = 1.., allow_hyphen_values = true)]
    credential_command: Option<Vec<String>>,

    /// Add it to the file of the user instead
    #[arg(long)]
    user: bool,
}

impl RemoteArgs {
    /// Runs the command.
    pub(super) async fn run(self, common: &CommonArgs) -> Result<Exit, Error> {
        match self.command {
            Command::Add(add) => add.run(common),
            Command::List => list(common),
            Command::Show { name } => show(common, &name),
            Command::Rename { from, to } => rename(common, &from, &to),
            Command::Remove { name, force } => remove(common, &name, force),
            Command::Test(test) => test.run(common).await,
        }
    }
}

impl AddArgs {
    fn run(self, common: &CommonArgs) -> Result<Exit, Error> {
        let mut draft = common.draft(self.user)?;
        let name = &*self.name;
        is_free(&draft, "remote", name)?;
        match RemoteLocation::parse(&self.place)? {
            RemoteLocation::Url(url) => draft.set(&["remote", name, "url"], url.as_str().into()),
            RemoteLocation::Store(store) => {
                let directory = draft.path().parent().unwrap_or(Path::new("/"));
                let store = match store.strip_prefix(directory) {
                    Ok(below) if !self.place.starts_with('/') => below.to_owned(),
                    _ => store,
                };
                let text = store.display().to_string();
                // As it was typed, the home stays the home of whoever reads the file.
                let text = if self.place.starts_with("~/") {
                    self.place.clone()
                } else {
                    text
                };
                draft.set(&["remote", name, "store"], text.into());
            }
        }
        if let Some(credential) = self.credential() {
            draft.set(&["remote", name, "credential"], credential);
        }
        draft.save()?;
        let path = draft.path().display();
        common.voice().say(&format!(
            "added the remote {name} to {path}; `dpe remote test {name}` tries it"
        ));
        Ok(Exit::Success)
    }

    fn credential(&self) -> Option<Value> {
        let mut table = InlineTable::new();
        if let Some(variable) = &self.credential_env {
            table.insert("env", variable.as_str().into());
        } else if let Some(file) = &self.credential_file {
            let file = std::path::absolute(file).unwrap_or_else(|_| file.into());
            table.insert("file", file.display().to_string().into());
        } else if let Some(command) = &self.credential_command {
            table.insert(
                "command",
                command.iter().collect::<toml_edit::Array>().into(),
            );
        }
        (!table.is_empty()).then(|| table.into())
    }
}

fn list(common: &CommonArgs) -> Result<Exit, Error> {
    let (voice, layers) = (common.voice(), common.layers()?);
    for name in layers.remote_names() {
        let Some((_, entry)) = layers.remote_entry(name) else {
            continue;
        };
        let place = match &entry.location {
            RemoteLocation::Url(url) => url.as_str().to_owned(),
            RemoteLocation::Store(store) => store.display().to_string(),
        };
        let credential = entry.credential.as_ref().map(source_of);
        let line = if voice.json {
            to_json(name, &place, credential.as_deref())
        } else if voice.verbose > 0 {
            format!(
                "{name}\t{place}\t{}",
                credential.unwrap_or_else(|| "-".to_owned())
            )
        } else {
            name.to_owned()
        };
        if !voice.result(&line).map_err(Error::Output)? {
            break;
        }
    }
    Ok(Exit::Success)
}

/// Says where a credential comes from.
fn source_of(credential: &Credential) -> String {
    match credential {
        Credential::Variable(name) => format!("env {name}"),
        Credential::File(path) => format!("file {}", path.display()),
        Credential::Program(command) => {
            format!("command {}", command.first().map_or("", String::as_str))
        }
        Credential::Value(_) | Credential::Command(_) => "environment".to_owned(),
    }
}

fn to_json(name: &str, place: &str, credential: Option<&str>) -> String {
    let mut json = Writer::new();
    json.begin_object();
    json.name("type").string("remote");
    json.name("name").string(name);
    json.name("location").string(place);
    match credential {
        Some(credential) => json.name("credential").string(credential),
        None => json.name("credential").null(),
    };
    json.end_object();
    json.into_string()
}

fn show(common: &CommonArgs, name: &str) -> Result<Exit, Error> {
    let layers = common.layers()?;
    let Some((file, entry)) = layers.remote_entry(name) else {
        return Err(no_remote(name, &layers.remote_names()).into());
    };
    tell_entry(common, "remote", name, file, &entry.span)
}

/// Returns the sources of the project that name a remote.
fn users(common: &CommonArgs, name: &str) -> Result<Vec<String>, Error> {
    let layers = common.layers()?;
    let sources = layers.files.iter().flat_map(|file| &file.sources);
    let users = sources.filter(|(_, entry)| entry.remote.as_deref() == Some(name));
    Ok(users.map(|(name, _)| name.clone()).collect())
}

fn rename(common: &CommonArgs, from: &str, to: &str) -> Result<Exit, Error> {
    let mut draft = common.draft(false)?;
    if !draft.has(&["remote", from]) {
        return Err(no_remote(from, &common.layers()?.remote_names()).into());
    }
    is_free(&draft, "remote", to)?;
    draft.rename("remote", from, to);
    for source in users(common, from)? {
        if draft.has(&["source", &source]) {
            draft.set(&["source", &source, "remote"], to.into());
        }
    }
    let defaults = common.layers()?;
    if draft.has(&["defaults", "remote"])
        && defaults
            .setting("remote")
            .is_some_and(|(name, _)| name == from)
    {
        draft.set(&["defaults", "remote"], to.into());
    }
    draft.save()?;
    common
        .voice()
        .say(&format!("renamed the remote {from} to {to}"));
    Ok(Exit::Success)
}

fn remove(common: &CommonArgs, name: &str, force: bool) -> Result<Exit, Error> {
    let mut draft = common.draft(false)?;
    let users = users(common, name)?;
    if !draft.unset(&["remote", name]) {
        return Err(no_remote(name, &common.layers()?.remote_names()).into());
    }
    if !users.is_empty() && !force {
        let error = ConfigError::InUse {
            name: name.to_owned(),
            users: users.join(", "),
        };
        return Err(error.into());
    }
    for source in users {
        draft.unset(&["source", &source, "remote"]);
    }
    draft.save()?;
    let path = draft.path().display();
    common.voice().say(&format!(
        "removed the remote {name} from {path}; what it holds is still there"
    ));
    Ok(Exit::Success)
}

fn no_remote(name: &str, names: &[&str]) -> ConfigError {
    let near = nearest(name, names).map(|near| format!("do you mean `{near}`? "));
    ConfigError::Missing {
        what: format!("remote `{name}`"),
        way_out: format!(
            "{}`dpe remote list` lists those there are",
            near.unwrap_or_default()
        ),
    }
}
