//! The command line: one file per command, thin over `ops`.
//!
//! Flags are turned into values at the door; what a command does is in `ops`, what it says is in
//! `ui`, and how it ends is in `exit`.

mod check;
mod check_ignore;
mod commit;
mod completions;
mod config;
mod connector;
mod context;
mod definition;
mod document_uri;
mod exit;
mod extract;
mod hash_object;
mod init;
mod ls;
mod man;
mod mv;
mod push;
mod question;
#[cfg(test)]
mod reference;
mod refusal;
mod remote;
mod rm;
mod run;
mod serve;
mod show;
mod signal;
mod source;
mod sources;
mod state;
mod status;
mod switch;
mod variable;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Command as Definition, FromArgMatches, Parser, Subcommand};
use tokio::runtime::Runtime;

use crate::error::Error;

use context::CommonArgs;
use exit::Exit;

/// git push for documents
///
/// dpe walks a source, turns its files into documents, pages and elements, compares their hashes
/// with what a remote holds, and delivers exactly what changed.
#[derive(Debug, Parser)]
#[command(name = "dpe", version, propagate_version = true, after_long_help = Exit::table())]
struct Cli {
    #[command(flatten)]
    common: CommonArgs,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Push(push::PushArgs),
    Status(status::StatusArgs),
    Check(check::CheckArgs),
    Ls(ls::LsArgs),
    Show(show::ShowArgs),
    Mv(mv::MvArgs),
    Rm(rm::RmArgs),
    Commit(commit::CommitArgs),
    Run(run::RunArgs),
    CheckIgnore(check_ignore::CheckIgnoreArgs),
    State(state::StateArgs),
    Serve(Box<serve::ServeArgs>),
    HashObject(hash_object::HashObjectArgs),
    Extract(extract::ExtractArgs),
    Connector(connector::Connector),
    Init(init::InitArgs),
    Remote(remote::RemoteArgs),
    Source(source::SourceCommandArgs),
    Config(config::ConfigArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
}

/// Runs the program and returns its exit code.
pub fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let cli = match Cli::read(&arguments) {
        Ok(cli) => cli,
        Err(error) => return refusal::tell(error, &arguments).into(),
    };
    let voice = cli.common.voice();
    let is_push = matches!(cli.command, Command::Push(_));
    if is_push {
        voice.hold();
    }
    let exit = run(cli).unwrap_or_else(|error| {
        voice.failure(&error);
        if let Some(failure) = error.remote_failure() {
            voice.page(failure);
        }
        // What could not be told may have been done all the same.
        if is_push && !matches!(error, Error::Output(_)) {
            voice.warn("gave up before anything was pushed");
        }
        Exit::of_error(&error).into()
    });
    voice.release();
    exit
}

impl Cli {
    /// Reads the command line, and what variables say of flags.
    fn read(arguments: &[OsString]) -> Result<Self, clap::Error> {
        let texts = arguments
            .iter()
            .map(|text| text.to_string_lossy().into_owned());
        let color = definition::color(&texts.collect::<Vec<_>>(), std::env::var("DPE_COLOR").ok());
        let read = |definition: Definition| {
            let mut definition = definition.color(color);
            let matches = definition.try_get_matches_from_mut(arguments)?;
            Self::from_arg_matches_mut(&mut matches.clone())
                .map_err(|error| error.format(&mut definition))
        };
        read(definition::command()).or_else(|error| {
            let alone = read(definition::command_of_run()).ok();
            let is_run = |cli: &Self| matches!(cli.command, Command::Run(_));
            alone.filter(is_run).ok_or(error)
        })
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
    if matches!(command, Command::Push(_) | Command::Status(_)) {
        common.keep_log()?;
    }
    match command {
        Command::Connector(connector) => connector.run(&common),
        Command::Extract(extract) => extract.run(&common).map(ExitCode::from),
        Command::HashObject(hash_object) => hash_object.run().map(ExitCode::from),
        Command::CheckIgnore(check) => check.run(&common).map(ExitCode::from),
        Command::State(state) => state.run(&common).map(ExitCode::from),
        Command::Push(push) => interruptible(push.run(&common)),
        Command::Status(status) => interruptible(status.run(&common)),
        Command::Check(check) => interruptible(check.run(&common)),
        Command::Init(init) => init.run(&common).map(ExitCode::from),
        Command::Remote(remote) => block_on(remote.run(&common)),
        Command::Source(source) => source.run(&common).map(ExitCode::from),
        Command::Config(config) => config.run(&common).map(ExitCode::from),
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
        Command::Completions(completions) => completions.run(&common).map(ExitCode::from),
        Command::Man(man) => man.run(&common).map(ExitCode::from),
    }
}

fn block_on(command: impl Future<Output = Result<Exit, Error>>) -> Result<ExitCode, Error> {
    runtime()?.block_on(command).map(ExitCode::from)
}

/// As [`block_on`], for commands that signals end: nobody who interrupts waits for a name that is looked up, or
/// a file that is read.
fn interruptible(command: impl Future<Output = Result<Exit, Error>>) -> Result<ExitCode, Error> {
    let runtime = runtime()?;
    let exit = runtime.block_on(command);
    runtime.shutdown_background();
    exit.map(ExitCode::from)
}

fn runtime() -> Result<Runtime, Error> {
    Runtime::new().map_err(Error::Runtime)
}
