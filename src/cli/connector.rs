//! `dpe connector`: be a bundled connector.

use std::io;
use std::process::ExitCode;

use clap::{Args, Subcommand, ValueEnum};

/// Find, check and be connectors.
#[derive(Debug, Args)]
pub(super) struct Connector {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Be a bundled connector: speak the connector protocol on stdin and stdout.
    Serve {
        /// Which one.
        name: Name,
    },
}

/// The bundled connectors.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Name {
    /// A folder of files.
    Fs,
}

impl Connector {
    /// Runs the command. The exit code is the connector's own.
    pub(super) fn run(self) -> ExitCode {
        match self.command {
            Command::Serve { name: Name::Fs } => ExitCode::from(dpe_connector_fs::main(
                io::stdin(),
                io::stdout(),
                io::stderr(),
            )),
        }
    }
}
