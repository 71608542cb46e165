//! The command `dpe push`.

use std::io;
use std::sync::Arc;

use crate::error::Error;
use crate::ops::push::{self, Push, Pushed};
use crate::sync::event::Observer;
use crate::sync::failure::Failure;
use crate::sync::report::{Outcome, Report};
use crate::ui::{Listing, Summary, Voice};

use super::context::CommonArgs;
use super::exit::Exit;
use super::sources::SourceArgs;
use super::switch::switch;

/// Deliver what changed in folders, files and repositories
///
/// Walks each SOURCE, turns its files into documents, compares them with what the remote holds,
/// and delivers exactly the difference. A second push of an unchanged source writes nothing.
///
/// With `--connector git` a SOURCE is a git repository, a folder in its work tree, or a URL. What is
/// committed is pushed, not what is checked out. A token for https URLs is taken from GIT_TOKEN.
#[derive(Debug, clap::Args)]
pub(super) struct PushArgs {
    #[command(flatten)]
    sources: SourceArgs,

    /// Show what would be done, and write nothing
    #[arg(short = 'n', long, env = "DPE_DRY_RUN", value_parser = switch())]
    dry_run: bool,

    /// Take the prefix over from a folder that was pushed under it and is gone
    #[arg(long, env = "DPE_ADOPT", value_parser = switch())]
    adopt: bool,
}

impl PushArgs {
    /// Runs the command.
    pub(super) async fn run(self, common: &CommonArgs) -> Result<Exit, Error> {
        let voice = common.voice();
        let sources = self.sources.resolve(common)?;
        let push = Push {
            state_dir: common.state_dir()?,
            dry_run: self.dry_run,
            adopt: self.adopt,
        };
        let listing: Arc<dyn Observer> = Arc::new(Listing::new(voice, self.dry_run));
        let pushed = push::push(&push, sources, &listing).await;
        let mut exit = Exit::Success;
        for pushed in &pushed {
            tell(voice, pushed, self.dry_run)?;
            exit = exit.max(Exit::of_push(pushed));
        }
        Ok(exit)
    }
}

/// Tells how one push ended: the report for programs, the closing line for people.
fn tell(voice: Voice, pushed: &Pushed, dry_run: bool) -> Result<(), Error> {
    let report = &pushed.report;
    // Unlike a listing, a report that nobody reads is lost (connector contract §28).
    if voice.json && !voice.result(&report.to_json()).map_err(Error::Output)? {
        return Err(Error::Output(io::ErrorKind::BrokenPipe.into()));
    }
    if let Some(error) = &pushed.error {
        voice.explain(error);
        voice.page(&error.failure());
    }
    let summary = Summary {
        source: &pushed.source,
        dry_run,
        aborted: report.outcome == Outcome::Failed,
        counts: report.counts,
        traffic: pushed.traffic,
        elapsed: pushed.elapsed,
    };
    match report.outcome {
        Outcome::Succeeded => voice.say(&summary.to_string()),
        Outcome::Failed => voice.warn(&summary.to_string()),
        Outcome::Partial => {
            voice.warn(way_out(report));
            voice.warn(&summary.to_string());
        }
    }
    Ok(())
}

/// What to do about documents that failed.
fn way_out(report: &Report) -> &'static str {
    let is_forbidden = |failure: &Failure| failure.code == "DPE_FORBIDDEN";
    if report.failures.iter().all(is_forbidden) {
        return "the remote does not let this caller do that: check DPE_AUTHORIZATION, or ask whoever runs the remote";
    }
    WAY_OUT
}

/// What follows from documents that failed, and what to do about them.
const WAY_OUT: &str = "what failed is tried again with every push; mend it, leave it \
    out with .dpeignore, or settle by `dpe rm` what somebody else has written";
