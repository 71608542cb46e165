//! The log of the standalone runner: one object a line on stderr (connector contract §27).
//!
//! A line that cannot be written or rendered fails nothing. Events that are for people alone have no
//! line here: the table of the contract is complete.

use std::io::{self, Write};
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;

use crate::json::Writer;
use crate::ops::run::Redaction;
use crate::sync::event::{Event, Observer};
use crate::sync::failure::{Failure, Level};
use crate::sync::report::{Outcome, Report, write_failure};
use crate::sync::unachieved::Cause;
use crate::sync::wave::Operation;

/// Writes what happens as lines of JSON.
#[derive(Debug)]
pub struct Log<W = io::Stderr> {
    redaction: Redaction,
    call: Mutex<CallSoFar>,
    to: Mutex<W>,
}

/// What lines say of the call they belong to.
#[derive(Clone, Debug, Default)]
struct CallSoFar {
    instance: Option<String>,
    round: Option<String>,
    cursor_given: bool,
}

/// How much a line matters.
#[derive(Clone, Copy, Debug)]
enum Weight {
    Info,
    Warn,
    Error,
}

impl Log {
    /// Returns a log on stderr that shows nothing `redaction` hides.
    pub fn on_stderr(redaction: Redaction) -> Self {
        Self::to(io::stderr(), redaction)
    }
}

impl<W: Write + Send> Log<W> {
    /// Returns a log that writes each line to `to` at once.
    pub(super) fn to(to: W, redaction: Redaction) -> Self {
        Self {
            redaction,
            call: Mutex::default(),
            to: Mutex::new(to),
        }
    }

    /// Says that a signal ended the call.
    pub fn interrupted(&self, signal: &str) {
        self.line(Weight::Warn, "runner.interrupted", |json| {
            json.name("signal").string(signal);
        });
    }

    fn take(&self, event: &Event<'_>) {
        match event {
            Event::Instance { id } => self.call().instance = Some((*id).to_owned()),
            Event::Locked { round } => self.call().round = Some((*round).to_owned()),
            Event::Failed(failure) => self.failed(failure),
            Event::Skipped { operation, cause } => self.skipped(operation, cause),
            Event::Finished(report) => self.finished(report),
            Event::Crashed { traceback } => self.line(Weight::Error, "runner.crashed", |json| {
                json.name("traceback")
                    .string(&self.redaction.text(traceback));
            }),
            Event::Deleted { found } => self.deleted(*found),
            Event::PluginStarted { .. }
            | Event::PluginExited { .. }
            | Event::PluginStderr { .. } => self.of_plugin(event),
            Event::RoundStarted { .. }
            | Event::Refreshed { .. }
            | Event::BatchReadRejected { .. }
            | Event::HeldWriteFailed(_) => self.of_round(event),
            Event::Begun { .. }
            | Event::Connected { .. }
            | Event::Scanned { .. }
            | Event::Compared { .. }
            | Event::Sending { .. }
            | Event::Answered { .. }
            | Event::Warning(_)
            | Event::Landed(_)
            | Event::Replaced(_)
            | Event::Restored(_) => {}
        }
    }

    fn of_round(&self, event: &Event<'_>) {
        match event {
            Event::RoundStarted { cursor_given } => {
                self.call().cursor_given = *cursor_given;
                self.line(Weight::Info, "round.started", |json| {
                    json.name("cursor_given").boolean(*cursor_given);
                });
            }
            Event::Refreshed {
                uris,
                deleted,
                violations,
            } => self.line(Weight::Warn, "round.refreshed", |json| {
                json.name("uris").integer(*uris);
                json.name("deleted").integer(*deleted);
                json.name("violations").integer(*violations);
            }),
            Event::BatchReadRejected {
                code,
                entries,
                denied,
            } => self.line(Weight::Warn, "remote.batch_read_rejected", |json| {
                json.name("code").string(&self.redaction.name(code));
                json.name("entries").integer(*entries);
                json.name("denied").integer(*denied);
            }),
            Event::HeldWriteFailed(failure) => {
                self.line(Weight::Warn, "state.held_write_failed", |json| {
                    self.write_failure(json, failure);
                });
            }
            _ => {}
        }
    }

    fn of_plugin(&self, event: &Event<'_>) {
        match *event {
            Event::PluginStarted { pid } => self.line(Weight::Info, "plugin.started", |json| {
                json.name("pid").integer(pid);
            }),
            Event::PluginExited { exit_code, signal } => {
                let weight = match exit_code {
                    Some(0) => Weight::Info,
                    _ => Weight::Warn,
                };
                self.line(weight, "plugin.exited", |json| {
                    for (name, number) in [("exit_code", exit_code), ("signal", signal)] {
                        match number {
                            Some(number) => json.name(name).integer(number),
                            None => json.name(name).null(),
                        };
                    }
                });
            }
            // Whoever read the line has hidden what must not be seen, before it was cut.
            Event::PluginStderr { line, truncated } => {
                self.line(Weight::Info, "plugin.stderr", |json| {
                    json.name("line").string(line);
                    json.name("truncated").boolean(truncated);
                });
            }
            _ => {}
        }
    }

    fn failed(&self, failure: &Failure) {
        let weight = match failure.level {
            Level::Item => Weight::Warn,
            _ => Weight::Error,
        };
        self.line(weight, "item.failed", |json| {
            self.write_failure(json, failure);
        });
    }

    fn skipped(&self, operation: &Operation, cause: &Cause) {
        let name = |uri: &dyn AsRef<str>| self.redaction.name(uri.as_ref());
        self.line(Weight::Warn, "item.skipped", |json| {
            match operation {
                Operation::Commit { uri, .. } => {
                    json.name("kind").string("document");
                    json.name("file_uri").string(&name(uri));
                }
                Operation::Delete { uri } => {
                    json.name("kind").string("delete");
                    json.name("file_uri").string(&name(uri));
                }
                Operation::Move { from, to } => {
                    json.name("kind").string("move");
                    json.name("from_uri").string(&name(from));
                    json.name("to_uri").string(&name(to));
                }
            }
            json.name("cause").begin_object();
            json.name("from_uri").string(&name(&cause.from));
            json.name("to_uri").string(&name(&cause.to));
            json.end_object();
        });
    }

    fn finished(&self, report: &Report) {
        let was_full = self.call().cursor_given && report.incremental == Some(false);
        let weight = match report.outcome {
            Outcome::Failed => Weight::Error,
            Outcome::Partial => Weight::Warn,
            Outcome::Succeeded if was_full => Weight::Warn,
            Outcome::Succeeded => Weight::Info,
        };
        self.line(weight, "round.finished", |json| {
            json.name("outcome").string(report.outcome.as_str());
            match report.incremental {
                Some(incremental) => json.name("incremental").boolean(incremental),
                None => json.name("incremental").null(),
            };
            json.name("cursor_persisted")
                .boolean(report.cursor_persisted);
            optional(
                json,
                "cursor_held_since",
                report.cursor_held_since.as_deref(),
            );
            json.name("counts");
            report.counts.write(json);
        });
    }

    fn deleted(&self, found: bool) {
        self.line(Weight::Info, "instance.deleted", |json| {
            json.name("found").boolean(found);
            json.name("message").string(if found {
                "state and registration are gone; the remote was left as it is"
            } else {
                "there was nothing to delete"
            });
        });
    }

    fn write_failure(&self, json: &mut Writer, failure: &Failure) {
        json.name("failure");
        write_failure(json, &self.redaction.failure(failure));
    }

    /// Writes one line: what every line has, and its own members.
    fn line(&self, weight: Weight, event: &str, members: impl FnOnce(&mut Writer)) {
        let call = self.call().clone();
        let rendered = panic::catch_unwind(AssertUnwindSafe(|| {
            let mut json = envelope(&call, weight, event);
            members(&mut json);
            json
        }));
        let mut json = rendered.unwrap_or_else(|_| {
            let mut json = envelope(&call, weight, event);
            json.name("render_error").string("panic");
            json
        });
        json.end_object();
        let mut line = json.into_bytes();
        line.push(b'\n');
        let mut to = self.to.lock().unwrap_or_else(PoisonError::into_inner);
        // A log that nobody can read is no reason to stop.
        let _ = to.write_all(&line).and_then(|()| to.flush());
    }

    fn call(&self) -> MutexGuard<'_, CallSoFar> {
        self.call.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<W: Write + Send> Observer for Log<W> {
    fn event(&self, event: Event<'_>) {
        self.take(&event);
    }
}

fn envelope(call: &CallSoFar, weight: Weight, event: &str) -> Writer {
    let mut json = Writer::new();
    json.begin_object();
    let now = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.%3fZ");
    json.name("ts").string(&now.to_string());
    json.name("level").string(match weight {
        Weight::Info => "info",
        Weight::Warn => "warn",
        Weight::Error => "error",
    });
    json.name("event").string(event);
    optional(&mut json, "instance", call.instance.as_deref());
    optional(&mut json, "round", call.round.as_deref());
    json
}

fn optional(json: &mut Writer, name: &str, text: Option<&str>) {
    match text {
        Some(text) => json.name(name).string(text),
        None => json.name(name).null(),
    };
}

#[cfg(test)]
mod tests;
