//! The command `dpe connector`.

mod check;

use std::io::{self, Read};
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use dpe_connector_files::serve_worker;

use crate::config::Places;
use crate::error::Error;
use crate::ops::connector::list;
use crate::ops::extract;
use crate::ui::connector::{listed_to_json, listed_to_text};

use super::block_on;
use super::context::CommonArgs;
use super::exit::Exit;

/// Find, check and be connectors
#[derive(Debug, Args)]
pub(super) struct Connector {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    List(ListArgs),
    Manifest(ManifestArgs),
    Check(Box<check::CheckArgs>),
    /// Be a bundled connector: speak the connector protocol on stdin and stdout
    Serve {
        /// Which one
        name: Name,
    },
    /// Be a process that extracts files for a connector
    #[command(hide = true)]
    ExtractWorker {
        /// How many bytes of memory a file may need
        memory_bytes: u64,
    },
}

/// List the connectors there are, and where
///
/// Those that are part of this program, and those whose manifest, dpe-connector.json, is in one of
/// the directories of DPE_CONNECTOR_PATH or of the user's data directory, or in a directory right
/// below it. Exits with 3 if one of the directories that were named cannot be read.
#[derive(Debug, Args)]
struct ListArgs {
    /// Directories to look in, besides the user's own
    #[arg(
        long = "path",
        env = "DPE_CONNECTOR_PATH",
        value_name = "DIR",
        value_delimiter = ':'
    )]
    directories: Vec<PathBuf>,
}

/// Print the manifest of a bundled connector
#[derive(Debug, Args)]
struct ManifestArgs {
    /// Which one
    name: String,
}

/// The bundled connectors.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Name {
    /// A folder of files
    Fs,
    /// Git repositories
    Git,
}

impl Connector {
    /// Runs the command. When it is a connector, the exit code is the connector's own.
    pub(super) fn run(self, common: &CommonArgs) -> Result<ExitCode, Error> {
        match self.command {
            Command::List(list) => list.run(common).map(ExitCode::from),
            Command::Manifest(manifest) => manifest.run(common).map(ExitCode::from),
            Command::Check(check) => block_on(check.run(common)),
            Command::Serve { name } => Ok(ExitCode::from(name.serve()?)),
            Command::ExtractWorker { memory_bytes } => {
                let code = serve_worker(memory_bytes, io::stdin(), io::stdout());
                Ok(ExitCode::from(code))
            }
        }
    }
}

impl Name {
    fn serve(self) -> Result<u8, Error> {
        let (stdin, stdout, stderr) = (Awaited(io::stdin()), io::stdout(), io::stderr());
        let worker = extract::worker().map_err(Error::Executable)?;
        Ok(match self {
            Self::Fs => dpe_connector_fs::main_with(worker, stdin, stdout, stderr),
            Self::Git => dpe_connector_git::main_with(worker, stdin, stdout, stderr),
        })
    }
}

/// How long a connector may go on once nobody is there any more.
const LONGEST_END: Duration = Duration::from_secs(5);

/// The input of a connector, which ends soon after it (connector contract §17): whatever still works then
/// waits for something that may never come, such as the other end of a pipe.
struct Awaited<R>(R);

impl<R: Read> Read for Awaited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.0.read(buffer);
        let is_over = match &read {
            Ok(count) => *count == 0 && !buffer.is_empty(),
            Err(why) => why.kind() != io::ErrorKind::Interrupted,
        };
        if is_over {
            thread::spawn(|| {
                thread::sleep(LONGEST_END);
                std::process::exit(0);
            });
        }
        read
    }
}

impl ListArgs {
    fn run(self, common: &CommonArgs) -> Result<Exit, Error> {
        let voice = common.voice();
        let given = self.directories.into_iter();
        let named: Vec<PathBuf> = given
            .filter(|directory| !directory.as_os_str().is_empty())
            .collect();
        let own = Places::connectors();
        let directories: Vec<PathBuf> = named.iter().cloned().chain(own).collect();
        for listed in list::list(&directories) {
            let line = if voice.json {
                listed_to_json(&listed)
            } else {
                listed_to_text(&listed)
            };
            if !voice.result(&line).map_err(Error::Output)? {
                break;
            }
        }
        list::readable(&named)?;
        Ok(Exit::Success)
    }
}

impl ManifestArgs {
    fn run(self, common: &CommonArgs) -> Result<Exit, Error> {
        let text = list::bundled_manifest(&self.name)?;
        let written = common.voice().result(text.trim_end());
        written.map_err(Error::Output)?;
        Ok(Exit::Success)
    }
}
