//! The command `dpe push`.

use std::io;
use std::sync::Arc;

use crate::error::Error;
use crate::model::FileUri;
use crate::ops::push::{self, Confirm, Push, Pushed};
use crate::ops::source::SourceError;
use crate::sync::event::Observer;
use crate::sync::failure::Failure;
use crate::sync::report::{Outcome, Report};
use crate::ui::{Audience, End, Summary, Voice, report_line};

use super::context::CommonArgs;
use super::exit::Exit;
use super::question::{self, Answer, somebody_is_there};
use super::signal::Ending;
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

    /// Delete what only the remote has below the prefix, too, after showing it and asking
    #[arg(long, env = "DPE_PRUNE", value_parser = switch())]
    prune: bool,

    /// Do not ask before pruning
    #[arg(short, long, env = "DPE_YES", value_parser = switch())]
    yes: bool,
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
            prune: self.prune(voice)?,
        };
        let ending = Ending::caught(voice);
        let observer: Arc<dyn Observer> = Arc::new(Audience::of(voice, self.dry_run));
        let mut told = Told::default();
        let work = async {
            let tell = |pushed| told.take(voice, &pushed, self.dry_run);
            push::push(&push, sources, &observer, &ending.cancel, tell).await?;
            told.tell_all(voice);
            Ok(told.exit)
        };
        ending.bound(work).await
    }
}

/// What was told of all the sources together.
#[derive(Debug, Default)]
struct Told {
    exit: Exit,
    sources: usize,
    succeeded: usize,
}

impl Told {
    /// Tells how one push ended, and keeps count.
    fn take(&mut self, voice: Voice, pushed: &Pushed, dry_run: bool) -> Result<(), Error> {
        let told = tell(voice, pushed, dry_run);
        voice.settle();
        let exit = Exit::of_push(pushed);
        self.exit = self.exit.max(exit);
        self.sources += 1;
        self.succeeded += usize::from(exit == Exit::Success);
        told
    }

    /// Says what several pushes come to.
    fn tell_all(&self, voice: Voice) {
        let Self {
            sources, succeeded, ..
        } = *self;
        if sources < 2 {
            return;
        }
        if succeeded == sources {
            voice.say(&format!("all {sources} sources succeeded"));
        } else {
            voice.warn(&format!("{succeeded} of {sources} sources succeeded"));
        }
    }
}

impl PushArgs {
    /// Returns how documents that only the remote has are confirmed, if they are to be deleted.
    fn prune(&self, voice: Voice) -> Result<Option<Confirm>, Error> {
        if !self.prune {
            return Ok(None);
        }
        if !self.yes && !self.dry_run && !somebody_is_there() {
            return Err(Error::usage(
                "--prune asks before it deletes, and there is no terminal to ask on",
                "give --yes to delete without a question, or -n to see what would be deleted",
            ));
        }
        Ok(Some(match (self.yes, voice.quiet) {
            (true, true) => |_| true,
            (true, false) => |uris| {
                list(uris);
                true
            },
            (false, _) => |uris| {
                list(uris);
                ask(uris.len())
            },
        }))
    }
}

/// Lists what only the remote has.
fn list(uris: &[FileUri]) {
    let voice = Voice::default();
    for uri in uris {
        voice.warn(&format!("only on the remote: {uri}"));
    }
}

/// Asks whether so many documents are to be deleted.
fn ask(count: usize) -> bool {
    let what = if count == 1 { "document" } else { "documents" };
    let question = format!("Delete {count} {what} that only the remote has?");
    question::ask(Voice::default(), &question) == Answer::Yes
}

/// Tells how one push ended: the report for programs, the closing line for people.
fn tell(voice: Voice, pushed: &Pushed, dry_run: bool) -> Result<(), Error> {
    let report = &pushed.report;
    let end = end(pushed);
    match &pushed.error {
        // Who interrupts knows why.
        Some(_) if end == End::Interrupted => {}
        Some(error) => {
            voice.explain(error);
            voice.page(&error.failure());
        }
        None => {}
    }
    let summary = Summary {
        source: &pushed.source,
        dry_run,
        end,
        counts: report.counts,
        traffic: pushed.traffic,
        elapsed: pushed.elapsed,
    };
    match end {
        End::Whole => voice.say(&summary.to_string()),
        End::Partial => {
            voice.warn(way_out(report));
            voice.warn(&summary.to_string());
        }
        _ => voice.warn(&summary.to_string()),
    }
    // Unlike a listing, a report that nobody reads is lost (connector contract §28).
    if voice.json && !voice.result(&report_line(report)).map_err(Error::Output)? {
        return Err(Error::Output(io::ErrorKind::BrokenPipe.into()));
    }
    Ok(())
}

/// Returns how a push ended, and whether another one helps.
fn end(pushed: &Pushed) -> End {
    match (pushed.report.outcome, &pushed.error) {
        (Outcome::Succeeded, _) => End::Whole,
        (Outcome::Partial, _) => End::Partial,
        (Outcome::Failed, Some(SourceError::Interrupted)) => End::Interrupted,
        (Outcome::Failed, _) => match Exit::of_push(pushed) {
            Exit::Failed | Exit::Busy => End::ForNow,
            _ => End::ForGood,
        },
    }
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
