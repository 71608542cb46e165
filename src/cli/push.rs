//! The command `dpe push`.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use crate::error::Error;
use crate::ops::push::{self, Push, Pushed};
use crate::sync::event::Observer;
use crate::sync::failure::Failure;
use crate::sync::guard::DeleteLimit;
use crate::sync::report::{Outcome, Report};
use crate::ui::{Listing, Summary, Voice};

use super::context::CommonArgs;
use super::exit::Exit;
use super::switch::switch;

/// Deliver what changed in folders and files
///
/// Walks each SOURCE, turns its files into documents, compares them with what the remote holds,
/// and delivers exactly the difference. A second push of an unchanged source writes nothing.
#[derive(Debug, clap::Args)]
pub(super) struct PushArgs {
    /// Folders or files to push
    #[arg(required = true, value_name = "SOURCE")]
    sources: Vec<PathBuf>,

    /// URI prefix of the documents [default: dpe://FOLDER/]
    #[arg(long, env = "DPE_PREFIX", value_name = "URI")]
    prefix: Option<String>,

    /// Show what would be done, and write nothing
    #[arg(short = 'n', long, env = "DPE_DRY_RUN", value_parser = switch())]
    dry_run: bool,

    /// Take the prefix over from a folder that was pushed under it and is gone
    #[arg(long, env = "DPE_ADOPT", value_parser = switch())]
    adopt: bool,

    /// Allow a round to delete up to N documents, or N% of them [default: half, or 20]
    #[arg(long, env = "DPE_MAX_DELETE", value_name = "N|N%")]
    max_delete: Option<DeleteLimit>,
}

impl PushArgs {
    /// Runs the command.
    pub(super) async fn run(self, common: &CommonArgs) -> Result<Exit, Error> {
        let voice = common.voice();
        let push = Push {
            sources: self.sources,
            prefix: self.prefix,
            remote: common.remote()?,
            state_dir: common.state_dir()?,
            dry_run: self.dry_run,
            delete_limit: self.max_delete.unwrap_or(DeleteLimit::Usual),
            adopt: self.adopt,
        };
        let listing: Arc<dyn Observer> = Arc::new(Listing::new(voice, self.dry_run));
        let pushed = push::push(&push, &listing).await?;
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
const WAY_OUT: &str = "what failed is tried again with every push, which may read everything until then; mend it, leave it \
    out with .dpeignore, or settle by `dpe rm` what somebody else has written";
