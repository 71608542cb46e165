//! The exit codes of the tool. This is the only place that has them.

use std::process::ExitCode;

use crate::error::Error;
use crate::ops::commit::CommitError;
use crate::ops::hash_object::HashObjectError;
use crate::ops::push::Pushed;
use crate::ops::remote::RemoteError;
use crate::ops::remove::Removed;
use crate::ops::serve::ServeError;
use crate::ops::show::ShowError;
use crate::ops::source::SourceError;
use crate::ops::state::{StateError, UpkeepError};
use crate::server::StoreError;

use crate::sync::failure::{Failure, Level};
use crate::sync::report::{Outcome, Report};

use super::signal::Signal;

/// How a command ended, as its caller reads it (connector contract §28).
///
/// Ordered by weight: of several, the greatest is the one to report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Exit {
    /// All is well.
    #[default]
    Success,
    /// Some items failed; or the answer is no.
    Partial,
    /// The same source is being pushed already.
    Busy,
    /// Failed, and may succeed later as it is.
    Failed,
    /// Failed, and somebody has to change something first.
    Instance,
    /// The program itself is at fault.
    Internal,
    /// The command line is wrong.
    Usage,
    /// The result could not be written.
    Unwritten,
    /// Ended by SIGINT.
    Interrupted,
    /// Ended by SIGTERM.
    Terminated,
}

impl Exit {
    /// Every exit, in the order of the numbers.
    const ALL: [Self; 10] = [
        Self::Success,
        Self::Partial,
        Self::Failed,
        Self::Instance,
        Self::Busy,
        Self::Usage,
        Self::Internal,
        Self::Unwritten,
        Self::Interrupted,
        Self::Terminated,
    ];

    /// Returns the number.
    pub(super) fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Partial => 1,
            Self::Failed => 2,
            Self::Instance => 3,
            Self::Busy => 4,
            Self::Internal => 70,
            Self::Usage => 64,
            Self::Unwritten => 74,
            Self::Interrupted => 130,
            Self::Terminated => 143,
        }
    }

    /// Returns what the number says to whoever started the program.
    fn meaning(self) -> &'static str {
        match self {
            Self::Success => "all is well",
            Self::Partial => "some documents failed, or the answer is no",
            Self::Failed => "failed; mostly worth another try later",
            Self::Instance => "failed; somebody has to change something first",
            Self::Busy => "the same source is being pushed already",
            Self::Usage => "the command line is wrong",
            Self::Internal => "the program has a defect",
            Self::Unwritten => "the result could not be written",
            Self::Interrupted => "ended by SIGINT",
            Self::Terminated => "ended by SIGTERM or SIGHUP",
        }
    }

    /// Returns the table of all exits, for the help text.
    pub(super) fn table() -> String {
        let line = |exit: Self| format!("\n  {:<4} {}", exit.code(), exit.meaning());
        let lines = Self::ALL.map(line).concat();
        format!("Exit codes:{lines}")
    }

    /// Returns the exit of a call that a signal ended.
    pub(super) fn of_signal(signal: Signal) -> Self {
        match signal {
            Signal::Interrupt => Self::Interrupted,
            Signal::Terminate | Signal::HangUp => Self::Terminated,
        }
    }

    /// Returns the exit of one call of the standalone runner, by the letter of the contract.
    pub(super) fn of_run(report: &Report) -> Self {
        let exit = match report.outcome {
            Outcome::Succeeded => return Self::Success,
            Outcome::Partial => return Self::Partial,
            Outcome::Failed => report
                .failures
                .iter()
                .filter(|failure| failure.level != Level::Item),
        };
        exit.map(Self::of_run_failure).max().unwrap_or(Self::Failed)
    }

    /// Returns the exit of a failure that ended a call of the standalone runner.
    pub(super) fn of_run_failure(failure: &Failure) -> Self {
        match (failure.level, &*failure.code) {
            (_, "runner_internal_error") => Self::Internal,
            (Level::Instance, _) => Self::Instance,
            (_, "instance_busy") => Self::Busy,
            _ => Self::Failed,
        }
    }

    /// Returns the exit of one deletion by hand. What is not there is deleted.
    pub(super) fn of_removed(removed: Removed) -> Self {
        match removed {
            Removed::Deleted | Removed::Absent => Self::Success,
            Removed::Folder | Removed::Refused => Self::Partial,
        }
    }

    /// Returns the exit of one push.
    pub(super) fn of_push(pushed: &Pushed) -> Self {
        Self::of_report(&pushed.report)
    }

    fn of_report(report: &Report) -> Self {
        match report.outcome {
            Outcome::Succeeded => Self::Success,
            Outcome::Partial => Self::Partial,
            Outcome::Failed => {
                let ending = report.failures.iter().rev();
                ending
                    .filter(|failure| failure.level != Level::Item)
                    .map(Self::of_failure)
                    .max()
                    .unwrap_or(Self::Failed)
            }
        }
    }

    /// A source that failed for good is like a wrong setting: waiting does not help.
    fn of_failure(failure: &Failure) -> Self {
        match (failure.level, &*failure.code) {
            (Level::Instance, _) => Self::Instance,
            (_, "instance_busy") => Self::Busy,
            (_, "runner_internal_error") => Self::Internal,
            (_, "source_failed") if !failure.retryable => Self::Instance,
            // Another attempt gets another session.
            (_, "DPE_SESSION_EXPIRED") => Self::Failed,
            // The only document of a command was refused for good.
            (Level::Item, _) if !failure.retryable => Self::Instance,
            _ => Self::Failed,
        }
    }

    /// Returns the exit of a source of which nothing can be said.
    pub(super) fn of_source(error: &SourceError) -> Self {
        Self::of_failure(&error.failure())
    }

    /// Returns the exit of an error that ended a command.
    pub(super) fn of_error(error: &Error) -> Self {
        match error {
            Error::Place(_) | Error::Location(_) | Error::Config(_) | Error::UnknownRemote(_) => {
                Self::Instance
            }
            Error::Remote(RemoteError::Store(error)) => Self::of_store_error(error),
            Error::Remote(RemoteError::Transport(_)) | Error::Credential(_) => Self::Instance,
            Error::Remote(RemoteError::Failed(failure)) => Self::of_failure(failure),
            Error::Client(error) => Self::of_failure(&error.failure),
            Error::Show(ShowError::Remote(error)) => Self::of_failure(&error.failure),
            Error::Show(ShowError::Store(error)) => Self::of_store_error(error),
            Error::Source(error) => Self::of_source(error),
            Error::Serve(error) => Self::of_serve_error(error),
            Error::Upkeep(UpkeepError::State(StateError::Busy { .. })) => Self::Busy,
            Error::Upkeep(UpkeepError::State(error)) if error.retryable() => Self::Failed,
            Error::Upkeep(_) | Error::CheckIgnore(_) | Error::Input(_) => Self::Instance,
            Error::Commit(CommitError::Read { .. } | CommitError::Blob { .. }) => Self::Instance,
            Error::Commit(CommitError::Invalid { .. }) => Self::Partial,
            Error::HashObject(HashObjectError::Read { .. }) => Self::Instance,
            Error::HashObject(HashObjectError::Write(_)) => Self::Unwritten,
            Error::Directory { .. }
            | Error::Manual { .. }
            | Error::Log { .. }
            | Error::Connector(_)
            | Error::Executable(_) => Self::Instance,
            Error::StdinTwice | Error::Usage { .. } => Self::Usage,
            Error::Runtime(_) => Self::Failed,
            Error::Output(_) => Self::Unwritten,
        }
    }
}

impl Exit {
    fn of_store_error(error: &StoreError) -> Self {
        if error.may_pass() {
            Self::Failed
        } else {
            Self::Instance
        }
    }

    fn of_serve_error(error: &ServeError) -> Self {
        match error {
            ServeError::Store(error) => Self::of_store_error(error),
            ServeError::Prefix { .. }
            | ServeError::ListenAddress { .. }
            | ServeError::PublicUrl(_)
            | ServeError::HooksPath { .. }
            | ServeError::HooksExposed { .. }
            | ServeError::Contract { .. }
            | ServeError::Grant(_) => Self::Usage,
            ServeError::Grants(_) => Self::Instance,
            ServeError::Ready(_) => Self::Unwritten,
            ServeError::Listen { .. } | ServeError::Signals(_) => Self::Failed,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::Exit;
    use crate::sync::failure::{Failure, FailureSource, Level, Subject};
    use crate::sync::report::{Outcome, Report};

    #[test]
    fn the_documentation_has_the_same_table() {
        let text = include_str!("../../docs/scripting.md");
        let rows: Vec<&str> = text
            .lines()
            .filter(|line| line.starts_with("| `"))
            .collect();
        for exit in Exit::ALL {
            let row = format!("| `{}` | {} |", exit.code(), exit.meaning());
            assert!(rows.contains(&&*row), "{row}");
        }
    }

    #[test]
    fn of_several_ends_of_a_run_the_heaviest_is_told() {
        let failure =
            |level, code: &'static str| Failure::new(level, FailureSource::Runner, code, "why");
        let defect = failure(Level::Round, "runner_internal_error");
        let instance = failure(Level::Instance, "secret_missing");
        let protocol = failure(Level::Protocol, "protocol_error");
        let source = failure(Level::Round, "source_failed");
        let busy = failure(Level::Round, "instance_busy");
        let item = Failure::item(FailureSource::Plugin, "internal", "why", Subject::Unknown);
        for (failures, code) in [
            (vec![&item, &busy, &source, &instance, &defect], 70),
            (vec![&instance, &source, &item], 3),
            (vec![&busy, &source], 2),
            (vec![&protocol], 2),
            (vec![&source], 2),
            (vec![&item, &busy], 4),
            (vec![], 2),
        ] {
            let mut report = Report::begun(None, None, None, Timestamp::UNIX_EPOCH);
            report.failures = failures.into_iter().cloned().collect();
            assert_eq!(Exit::of_run(&report).code(), code, "{report:?}");
            report.outcome = Outcome::Partial;
            assert_eq!(Exit::of_run(&report).code(), 1);
        }
    }
}
