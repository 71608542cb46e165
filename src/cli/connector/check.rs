//! The command `dpe connector check`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::ArgGroup;

use crate::config::CredentialSource;
use crate::error::Error;
use crate::ops::connector::check::{Asked, Command, Subject, check};
use crate::ops::connector::secret::SecretSource;
use crate::ui::connector::{checked_to_json, checked_to_text};
use crate::ui::printable;

use crate::cli::context::CommonArgs;
use crate::cli::exit::Exit;
use crate::cli::signal;

/// Check whether a connector keeps the connector contract
///
/// Starts it several times, tries out the obligations of plugins one by one, and prints a line for
/// each: what was checked, the verdict, the section of the connector contract, and what was seen. The
/// source should be small, since it is enumerated a few times, and stand still meanwhile. Nothing is
/// delivered anywhere. Exits with 1 if a rule is broken, with 3 if the connector cannot be started or
/// cannot read its source.
#[derive(Debug, clap::Args)]
#[command(override_usage = "dpe connector check [OPTIONS] <NAME>\n       \
                      dpe connector check [OPTIONS] --manifest <FILE> -- <COMMAND>...")]
#[command(group = ArgGroup::new("connector").args(["name", "command"]).required(true))]
pub(super) struct CheckArgs {
    /// A bundled connector
    #[arg(conflicts_with = "manifest")]
    name: Option<String>,

    /// The manifest of the connector
    #[arg(long, value_name = "FILE")]
    manifest: Option<PathBuf>,

    /// URI prefix of its documents
    #[arg(long, value_name = "URI", default_value = "dpe://check/")]
    prefix: String,

    /// A configuration it can work with, as JSON, or @ and a file
    // In place of the flag of the same name that names a configuration file, and so of its type.
    #[arg(long, value_name = "JSON|@FILE", default_value = "{}")]
    config: OsString,

    /// A configuration it has to refuse [default: one that its manifest forbids]
    #[arg(long, value_name = "JSON|@FILE")]
    bad_config: Option<String>,

    /// A secret of its manifest and where it is; may be repeated
    #[arg(long = "secret", value_name = "NAME=env:VAR|file:PATH")]
    secrets: Vec<SecretArg>,

    /// Wait so many seconds for each answer and each round [default: 30 to 300]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..))]
    wait: Option<u32>,

    /// The connector and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// A secret on the command line: its place, never itself.
#[derive(Clone, Debug)]
struct SecretArg(SecretSource);

impl FromStr for SecretArg {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let form = "a secret is NAME=env:VARIABLE or NAME=file:PATH";
        let (name, place) = text.split_once('=').ok_or(form)?;
        let source = match place.split_once(':') {
            Some(("env", name)) if !name.is_empty() => CredentialSource::Env(name.to_owned()),
            Some(("file", path)) if !path.is_empty() => CredentialSource::File(path.into()),
            _ => return Err(form),
        };
        if name.is_empty() {
            return Err(form);
        }
        let name = name.to_owned();
        Ok(Self(SecretSource { name, source }))
    }
}

impl CheckArgs {
    /// Runs the command.
    pub(super) async fn run(self, common: &CommonArgs) -> Result<Exit, Error> {
        let voice = common.voice();
        let on_line = move |line: &str| {
            if voice.verbose > 0 {
                voice.say(&printable(line));
            }
        };
        let subject = Subject::gather(self.asked(), on_line)?;
        let signal = signal::next();
        let mut written = Ok(true);
        let mut tell = |checked| {
            if matches!(written, Ok(true)) {
                written = voice.result(&if voice.json {
                    checked_to_json(&checked)
                } else {
                    checked_to_text(&checked)
                });
            }
        };
        let is_kept = tokio::select! {
            is_kept = check(&subject, &mut tell) => is_kept?,
            // The connector is in a group of its own: nobody else ends it.
            signal = signal => return Ok(Exit::of_signal(signal)),
        };
        written.map_err(Error::Output)?;
        Ok(if is_kept {
            Exit::Success
        } else {
            Exit::Partial
        })
    }

    fn asked(self) -> Asked {
        let mut command = self.command.into_iter();
        Asked {
            command: match (self.name, command.next()) {
                (_, Some(program)) => Command::Program(program.into(), command.collect()),
                (name, None) => Command::Bundled(name.unwrap_or_default()),
            },
            manifest: self.manifest,
            prefix: self.prefix,
            config: self.config.to_string_lossy().into_owned(),
            bad_config: self.bad_config,
            secrets: self
                .secrets
                .into_iter()
                .map(|SecretArg(secret)| secret)
                .collect(),
            patience: self.wait.map(|seconds| Duration::from_secs(seconds.into())),
        }
    }
}
