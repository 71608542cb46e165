//! The command line: one file per command, thin over `ops`.
//!
//! Flags are turned into values at the door; what a command does is in `ops`, what it says is in
//! `ui`, and how it ends is in `exit`.

mod commit;
mod connector;
mod context;
mod document_uri;
mod exit;
mod extract;
mod hash_object;
mod ls;
mod mv;
mod push;
mod rm;
mod run;
mod serve;
mod show;
mod signal;
mod sources;
mod switch;
mod variable;

use std::process::ExitCode;

use clap::builder::Resettable;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use tokio::runtime::Runtime;

use crate::error::Error;

use context::CommonArgs;
use exit::Exit;

/// git push for documents
///
/// dpe walks a source, turns its files into documents, pages and elements, compares their hashes
/// with what a remote holds, and delivers exactly what changed.
#[derive(Debug, Parser)]
#[command(name = "dpe", version, propagate_version = true, after_long_help = EXIT_CODES)]
struct Cli {
    #[command(flatten)]
    common: CommonArgs,
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "\
Exit codes:
  0    all is well
  1    some documents failed, or the answer is no
  2    failed; mostly worth another try later
  3    failed; somebody has to change something first
  4    the same source is being pushed already
  64   the command line is wrong
  70   the program has a defect
  74   the result could not be written
  130  ended by SIGINT (143: by SIGTERM)";

#[derive(Debug, Subcommand)]
enum Command {
    Push(push::PushArgs),
    Ls(ls::LsArgs),
    Show(show::ShowArgs),
    Mv(mv::MvArgs),
    Rm(rm::RmArgs),
    Commit(commit::CommitArgs),
    Run(run::RunArgs),
    Serve(Box<serve::ServeArgs>),
    HashObject(hash_object::HashObjectArgs),
    Extract(extract::ExtractArgs),
    Connector(connector::Connector),
}

/// Runs the program and returns its exit code.
pub fn main() -> ExitCode {
    let cli = match Cli::from_call() {
        Ok(cli) => cli,
        Err(mut error) => {
            variable::point_out(&mut error, &mut Cli::command());
            // Help that nobody reads any more is no failure.
            let _ = error.print();
            let asked = !error.use_stderr();
            return if asked { Exit::Success } else { Exit::Usage }.into();
        }
    };
    let voice = cli.common.voice();
    match run(cli) {
        Ok(exit) => exit,
        Err(error) => {
            voice.failure(&error);
            if let Some(failure) = error.remote_failure() {
                voice.page(failure);
            }
            Exit::of_error(&error).into()
        }
    }
}

impl Cli {
    /// Reads the command line, and what variables say of flags.
    fn from_call() -> Result<Self, clap::Error> {
        Self::try_parse().or_else(|error| Self::run_alone().ok_or(error))
    }

    /// Reads the command line of `dpe run` without the variables of flags that mean nothing to it:
    /// a wrong one among them is no wrong usage (connector contract §24).
    fn run_alone() -> Option<Self> {
        let mut command = Self::command();
        for flag in run::NO_FLAGS {
            command = command.mut_arg(flag, |arg| arg.env(Resettable::Reset));
        }
        let matches = command.try_get_matches().ok()?;
        let cli = Self::from_arg_matches(&matches).ok()?;
        matches!(cli.command, Command::Run(_)).then_some(cli)
    }
}

fn run(cli: Cli) -> Result<ExitCode, Error> {
    let Cli { common, command } = cli;
    if let Some(directory) = &common.directory {
        std::env::set_current_dir(directory).map_err(|source| Error::Directory {
            path: directory.clone(),
            source,
        })?;
    }
    match command {
        Command::Connector(connector) => connector.run(&common),
        Command::Extract(extract) => extract.run(&common).map(ExitCode::from),
        Command::HashObject(hash_object) => hash_object.run().map(ExitCode::from),
        Command::Push(push) => block_on(push.run(&common)),
        Command::Ls(ls) => block_on(ls.run(&common)),
        Command::Show(show) => block_on(show.run(&common)),
        Command::Mv(mv) => block_on(mv.run(&common)),
        Command::Rm(rm) => block_on(rm.run(&common)),
        Command::Commit(commit) => block_on(commit.run(&common)),
        Command::Run(run) => {
            let runtime = runtime()?;
            let exit = runtime.block_on(run.run(&common));
            // A name that is being looked up, or a file that is being read, keeps nobody waiting who was
            // interrupted: nothing that is written is left to these threads.
            runtime.shutdown_background();
            Ok(exit.into())
        }
        Command::Serve(serve) => block_on(serve.run(&common)),
    }
}

fn block_on(command: impl Future<Output = Result<Exit, Error>>) -> Result<ExitCode, Error> {
    runtime()?.block_on(command).map(ExitCode::from)
}

fn runtime() -> Result<Runtime, Error> {
    Runtime::new().map_err(Error::Runtime)
}
