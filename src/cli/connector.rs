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
    /// Git repositories.
    Git,
}

impl Connector {
    /// Runs the command. The exit code is the connector's own.
    pub(super) fn run(self) -> ExitCode {
        let Command::Serve { name } = self.command;
        let (stdin, stdout, stderr) = (io::stdin(), io::stdout(), io::stderr());
        ExitCode::from(match name {
            Name::Fs => dpe_connector_fs::main(stdin, stdout, stderr),
            Name::Git => dpe_connector_git::main(stdin, stdout, stderr),
        })
    }
}
