//! The command `dpe config`.

use clap::{Args, Subcommand};

use crate::config::{Origin, SETTINGS, nearest};
use crate::error::Error;
use crate::json::Writer;
use crate::ops::config::{self, ConfigError, Draft, Listed};

use super::context::CommonArgs;
use super::exit::Exit;
use super::switch::switch;

/// Show and change the configuration
///
/// A flag counts before its variable, a variable before the project's dpe.toml, and that before the
/// user's config.toml.
#[derive(Debug, Args)]
pub(super) struct ConfigArgs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List everything that counts
    List {
        /// Say where each value comes from
        #[arg(long, value_parser = switch(), env = "DPE_SHOW_ORIGIN")]
        show_origin: bool,
    },
    /// Print the value of one key; exits with 1 if nobody said anything
    Get {
        /// The key, such as remote.origin.url
        key: String,
    },
    /// Set a key in dpe.toml
    Set {
        /// The key, such as defaults.timeout
        key: String,
        /// The value: a text, or TOML
        #[arg(allow_hyphen_values = true)]
        value: String,
        /// Change the file of the user instead
        #[arg(long)]
        user: bool,
    },
    /// Remove a key from dpe.toml; exits with 1 if it is not there
    Unset {
        /// The key, such as defaults.timeout
        key: String,
        /// Change the file of the user instead
        #[arg(long)]
        user: bool,
    },
}

impl ConfigArgs {
    /// Runs the command.
    pub(super) fn run(self, common: &CommonArgs) -> Result<Exit, Error> {
        match self.command {
            Command::List { show_origin } => list(common, show_origin),
            Command::Get { key } => get(common, &key),
            Command::Set { key, value, user } => {
                let keys = config::keys(&key)?;
                let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
                let draft = config::set(&common.draft(user)?, &keys, &value)?;
                draft.save()?;
                let path = draft.path().display();
                common.voice().say(&format!("set {key} in {path}"));
                Ok(Exit::Success)
            }
            Command::Unset { key, user } => unset(&mut common.draft(user)?, &key, common),
        }
    }
}

fn unset(draft: &mut Draft, key: &str, common: &CommonArgs) -> Result<Exit, Error> {
    let keys = config::keys(key)?;
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    let path = draft.path().display().to_string();
    if !draft.unset(&keys) {
        common.voice().warn(&format!("there is no {key} in {path}"));
        return Ok(Exit::Partial);
    }
    draft.save()?;
    common.voice().say(&format!("removed {key} from {path}"));
    Ok(Exit::Success)
}

fn list(common: &CommonArgs, show_origin: bool) -> Result<Exit, Error> {
    let voice = common.voice();
    for listed in config::list(&*common.layers()?) {
        let line = match (voice.json, show_origin) {
            (true, _) => to_json(&listed),
            (false, true) => format!("{}\t{}={}", shown(&listed.origin), listed.key, listed.value),
            (false, false) => format!("{}={}", listed.key, listed.value),
        };
        if !voice.result(&line).map_err(Error::Output)? {
            break;
        }
    }
    Ok(Exit::Success)
}

fn get(common: &CommonArgs, key: &str) -> Result<Exit, Error> {
    let voice = common.voice();
    let all = config::list(&*common.layers()?);
    if let Some(listed) = all.iter().find(|listed| listed.key == key) {
        let line = if voice.json {
            to_json(listed)
        } else {
            listed.value.clone()
        };
        voice.result(&line).map_err(Error::Output)?;
        return Ok(Exit::Success);
    }
    let settings = SETTINGS.map(|setting| format!("defaults.{}", setting.key));
    let mut known: Vec<&str> = all.iter().map(|listed| &*listed.key).collect();
    known.extend(settings.iter().map(String::as_str));
    if settings.iter().any(|setting| setting == key) {
        return Ok(Exit::Partial);
    }
    let near = nearest(key, &known).map(|near| format!("; do you mean {near}?"));
    voice.warn(&format!(
        "nothing is set for {key}{}",
        near.unwrap_or_default()
    ));
    Ok(Exit::Partial)
}

fn shown(origin: &Origin) -> String {
    match origin {
        Origin::Flag(flag) => format!("flag {flag}"),
        Origin::Variable(variable) => format!("variable {variable}"),
        Origin::File { path, line } => format!("{}:{line}", path.display()),
        Origin::Default => "default".to_owned(),
    }
}

fn to_json(listed: &Listed) -> String {
    let mut json = Writer::new();
    json.begin_object();
    json.name("type").string("setting");
    json.name("key").string(&listed.key);
    json.name("value").string(&listed.value);
    json.name("origin").begin_object();
    match &listed.origin {
        Origin::Flag(flag) => drop(json.name("flag").string(flag)),
        Origin::Variable(variable) => drop(json.name("variable").string(variable)),
        Origin::File { path, line } => {
            json.name("file").string(&path.to_string_lossy());
            json.name("line")
                .integer(i64::try_from(*line).unwrap_or(i64::MAX));
        }
        Origin::Default => drop(json.name("default").boolean(true)),
    }
    json.end_object();
    json.end_object();
    json.into_string()
}

impl CommonArgs {
    /// Begins to change the file of the project, or that of the user.
    ///
    /// # Errors
    ///
    /// When a file cannot be used as it is.
    pub(super) fn draft(&self, of_user: bool) -> Result<Draft, Error> {
        let named = self.config.as_ref().map(std::path::Path::new);
        // The file may be about to be made.
        let is_new = named.is_some_and(|path| !path.exists());
        let layers = if is_new {
            Default::default()
        } else {
            self.layers()?
        };
        let target = config::target(&self.here()?, named, of_user)?;
        Ok(Draft::open(&target, &layers)?)
    }
}

/// Refuses a name that is taken.
pub(super) fn is_free(draft: &Draft, kind: &str, name: &str) -> Result<(), Error> {
    if !draft.has(&[kind, name]) {
        return Ok(());
    }
    let error = ConfigError::Exists {
        what: format!("a {kind} `{name}` in {}", draft.path().display()),
        way_out: format!("take another name, or remove it first with `dpe {kind} remove {name}`"),
    };
    Err(error.into())
}
