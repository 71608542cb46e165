//! The command `dpe run`.

use std::path::PathBuf;
use std::sync::Arc;

use crate::ops::run::{self, Cancel, Redaction, Run};
use crate::sync::event::Observer;
use crate::sync::report::Report;
use crate::ui::{Log, Voice};

use super::context::CommonArgs;
use super::exit::Exit;
use super::signal;

/// Common flags without a meaning here: the definition says all that, and the output is the contract's.
pub(super) const NO_FLAGS: [&str; 11] = [
    "config",
    "remote",
    "json",
    "quiet",
    "verbose",
    "color",
    "progress",
    "log_file",
    "log_format",
    "log_max_size",
    "log_keep",
];

/// Run one round of an instance, as a program does it
///
/// Starts the connector that DEFINITION names, delivers what it enumerates, and prints one report on stdout: a line of
/// JSON. What happens meanwhile is told on stderr, one object a line. This is the standalone runner of the connector
/// contract; remote, credentials, policies and timeouts come from the definition alone.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXIT_CODES)]
pub(super) struct RunArgs {
    /// File with the definition of the instance: JSON. Paths in it begin at its directory
    #[arg(value_name = "DEFINITION")]
    definition: PathBuf,

    /// Forget the instance: delete its state and its registration. The remote is left as it is
    #[arg(long)]
    delete: bool,
}

const EXIT_CODES: &str = "\
Exit codes:
  0    succeeded: everything landed
  1    partial: some items failed, the others landed
  2    the round failed, or the state cannot be used
  3    the instance cannot be run: somebody has to change something first
  4    the instance is being run already
  64   the command line is wrong; no report
  70   the program has a defect
  74   the report could not be written
  130  ended by SIGINT, no report (143: by SIGTERM)";

impl RunArgs {
    /// Runs the command. Nothing but the log is written to stderr, and nothing but the report to
    /// stdout.
    pub(super) async fn run(self, common: &CommonArgs) -> Exit {
        run::record_panics();
        let cancel = Cancel::new();
        let first = signal::first(cancel.clone());
        let redaction = Redaction::default();
        let log = Arc::new(Log::on_stderr(redaction.clone()));
        let plan = Run {
            definition: self.definition,
            state_dir: common.state_dir_of_flags(),
            network: common.network(None),
            redaction,
        };
        // Once the log has said how it finished, a signal comes too late.
        let finished = if self.delete {
            let deleted = run::delete(&plan, &*log, &cancel).await;
            deleted.map(|deleted| match deleted {
                Ok(()) => Exit::Success,
                Err(failure) => Exit::of_run_failure(&failure),
            })
        } else {
            let observer: Arc<dyn Observer> = log.clone();
            let report = run::run(&plan, &observer, &cancel).await;
            report.map(|report| tell(&report))
        };
        finished.unwrap_or_else(|| {
            let signal = first.get().expect("only a signal cancels");
            log.interrupted(signal.name());
            Exit::of_signal(*signal)
        })
    }
}

/// Prints the report.
fn tell(report: &Report) -> Exit {
    let voice = Voice::default();
    match voice.result(&report.to_json()) {
        Ok(true) => Exit::of_run(report),
        // A report that nobody reads is lost.
        Ok(false) | Err(_) => Exit::Unwritten,
    }
}
