//! The command `dpe status`.

use std::io::IsTerminal;
use std::sync::Arc;

use clap::ValueEnum;

use crate::error::Error;
use crate::ops::status::{self, SourceStatus, Status};
use crate::sync::event::Observer;
use crate::ui::status as form;
use crate::ui::{Audience, Voice};

use super::context::CommonArgs;
use super::exit::Exit;
use super::signal::Ending;
use super::sources::SourceArgs;
use super::switch::switch;

/// Show what a push would do, and what only the remote has
///
/// Compares each SOURCE with the remote as a push would, and writes nothing. With --json, one object for each
/// change, and their counts in the last line; docs/scripting.md describes the forms for programs.
#[derive(Debug, clap::Args)]
pub(super) struct StatusArgs {
    #[command(flatten)]
    sources: SourceArgs,

    /// Show one line for each change: a letter and the URI
    #[arg(short, long, env = "DPE_SHORT", value_parser = switch())]
    short: bool,

    /// Show the short form, which stays as it is in later versions
    #[arg(
        long,
        value_name = "VERSION",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "v1",
        hide_possible_values = true
    )]
    porcelain: Option<Porcelain>,

    /// End each URI with NUL and show it as it is; the form of --porcelain
    #[arg(short = 'z', conflicts_with = "json")]
    terminated: bool,

    /// Show long lists on a terminal to their end
    #[arg(long, env = "DPE_ALL", value_parser = switch())]
    all: bool,

    /// Exit with 1 if a push would write anything or not end well
    #[arg(long, env = "DPE_EXIT_CODE", value_parser = switch())]
    exit_code: bool,
}

/// Versions of the form for programs.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Porcelain {
    V1,
}

impl StatusArgs {
    /// Runs the command.
    pub(super) async fn run(self, common: &CommonArgs) -> Result<Exit, Error> {
        let voice = common.voice();
        let sources = self.sources.resolve(common)?;
        let status = Status {
            state_dir: common.state_dir()?,
        };
        let ending = Ending::caught(voice);
        let work = async {
            let observer: Arc<dyn Observer> = Arc::new(Audience::of(voice, false));
            let all = status::status(&status, sources, &observer, &ending.cancel).await;
            // Nothing is painted any more where the result will stand.
            drop(observer);
            if ending.cancel.is_cancelled() {
                return Ok(Exit::Failed);
            }
            self.tell_all(voice, &all)
        };
        ending.bound(work).await
    }

    fn tell_all(&self, voice: Voice, all: &[SourceStatus]) -> Result<Exit, Error> {
        let mut exit = Exit::Success;
        for (number, status) in all.iter().enumerate() {
            self.tell(voice, status, number > 0)?;
            exit = exit.max(self.exit_of(status));
        }
        if voice.json {
            let counts = form::counts_to_json(all);
            voice.result(&counts).map_err(Error::Output)?;
        }
        Ok(exit)
    }

    fn tell(&self, voice: Voice, status: &SourceStatus, is_further: bool) -> Result<(), Error> {
        if let Some(error) = &status.error {
            voice.failure(error);
            voice.page(&error.failure());
            return Ok(());
        }
        let text = if voice.json {
            form::to_json_lines(status)
        } else if self.terminated {
            form::to_terminated(status)
        } else if self.short || self.porcelain.is_some() {
            form::to_short(status)
        } else if voice.quiet && !status.has_something_to_do() {
            String::new()
        } else {
            let is_bounded = std::io::stdout().is_terminal() && !self.all;
            let shown = if is_bounded { form::SHOWN } else { usize::MAX };
            let space = if is_further { "\n" } else { "" };
            format!("{space}{}", form::to_text(status, shown))
        };
        voice.whole_result(&text).map_err(Error::Output)?;
        Ok(())
    }

    fn exit_of(&self, status: &SourceStatus) -> Exit {
        match &status.error {
            Some(error) => Exit::of_source(error),
            None if self.exit_code && status.has_something_to_do() => Exit::Partial,
            None => Exit::Success,
        }
    }
}
