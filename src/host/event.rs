//! What becomes of a connector process, told to whoever keeps the log (connector contract §27).

use std::process::ExitStatus;
use std::sync::Arc;

use crate::sync::event::Event;

use super::stderr::StderrLine;

/// Receives what becomes of a process. Must not fail and should not block for long.
pub type OnProcess = Arc<dyn Fn(ProcessEvent) + Send + Sync>;

/// Something that became of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProcessEvent {
    /// It was started.
    Started {
        /// Its number.
        pid: u32,
    },
    /// It wrote a line on its stderr.
    Stderr(StderrLine),
    /// It is gone; one of the two is known.
    Exited {
        /// The code it exited with.
        exit_code: Option<i32>,
        /// The number of the signal that ended it.
        signal: Option<i32>,
    },
}

impl ProcessEvent {
    /// Returns it as an event of the round.
    pub fn to_event(&self) -> Event<'_> {
        match *self {
            Self::Started { pid } => Event::PluginStarted { pid },
            Self::Stderr(StderrLine {
                ref line,
                truncated,
            }) => Event::PluginStderr { line, truncated },
            Self::Exited { exit_code, signal } => Event::PluginExited { exit_code, signal },
        }
    }

    pub(super) fn exited(status: ExitStatus) -> Self {
        #[cfg(unix)]
        let signal = std::os::unix::process::ExitStatusExt::signal(&status);
        #[cfg(not(unix))]
        let signal = None;
        Self::Exited {
            exit_code: status.code(),
            signal,
        }
    }
}
