//! Starts the process of a plugin: exactly this program and environment, three pipes, a group of its own
//! (connector contract §7.2, §9, §17). What is said over the pipes is for others.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::Stdio;

use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;

use crate::config::Mask;

use super::event::{OnProcess, ProcessEvent};
use super::group::ProcessGroup;
use super::stderr::drain;

/// What is executed, directly, with exactly this environment.
#[derive(Clone, Copy, Debug)]
pub struct Program<'a> {
    /// The executable.
    pub path: &'a Path,
    /// Its arguments.
    pub args: &'a [OsString],
    /// All its variables.
    pub environment: &'a [(OsString, OsString)],
}

/// A process that was started and told nothing yet.
pub(super) struct Started {
    pub(super) group: ProcessGroup,
    pub(super) child: Child,
    pub(super) stdin: ChildStdin,
    pub(super) stdout: ChildStdout,
    /// Ends when everything that was written on stderr has been told.
    pub(super) draining: JoinHandle<()>,
}

/// Starts a process. That it was started is told, and then what it writes on stderr, without what `mask`
/// hides.
pub(super) fn spawn(program: Program<'_>, mask: &Mask, on_event: OnProcess) -> io::Result<Started> {
    let mut child = Command::new(program.path)
        .args(program.args)
        .env_clear()
        .envs(program.environment.iter().cloned())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // Its own group, so that all of it can be ended, and a Ctrl-C is this process's matter.
        .process_group(0)
        .kill_on_drop(true)
        .spawn()?;
    let missing = || io::Error::other("the process has no pipes");
    let group = ProcessGroup::of(&child);
    let stdin = child.stdin.take().ok_or_else(missing)?;
    let stdout = child.stdout.take().ok_or_else(missing)?;
    let stderr = child.stderr.take().ok_or_else(missing)?;
    if let Some(pid) = child.id() {
        on_event(ProcessEvent::Started { pid });
    }
    let mask = mask.clone();
    let draining = tokio::spawn(async move {
        drain(stderr, &mask, |line| on_event(ProcessEvent::Stderr(line))).await;
    });
    Ok(Started {
        group,
        child,
        stdin,
        stdout,
        draining,
    })
}
