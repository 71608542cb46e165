//! Tells a person what happens to documents while it happens.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::sync::event::{Event, Landed, Observer};
use crate::sync::failure::{Failure, Level, Subject};
use crate::sync::printable::printable;

use super::Voice;

/// So many lines of a connector are kept to tell repetitions.
const REMEMBERED: usize = 1000;

/// Lists what happens during rounds on stderr.
#[derive(Debug)]
pub struct Listing {
    voice: Voice,
    /// What connectors have said: one that enumerates twice in a round says it twice.
    said: Mutex<HashSet<String>>,
    /// Whether every change is listed, and not only what goes wrong.
    changes: bool,
}

impl Listing {
    /// Returns a listing; a dry run lists changes however little is to be said.
    pub fn new(voice: Voice, dry_run: bool) -> Self {
        Self {
            voice,
            said: Mutex::default(),
            changes: voice.verbose > 0 || (dry_run && !voice.quiet),
        }
    }

    fn begun(&self, source: &str, uri_prefix: &str, remote: &str, dry_run: bool) {
        self.said().clear();
        self.voice.say(&format!(
            "{} {} as {uri_prefix} to {}",
            if dry_run { "comparing" } else { "pushing" },
            printable(source),
            printable(remote),
        ));
    }

    fn failed(&self, failure: &Failure) {
        // What ends a command is said by the command, with what can be done about it.
        if failure.level == Level::Item {
            self.voice.warn(&failure_line(failure));
            self.voice.page(failure);
        }
    }

    fn stderr(&self, line: &str) {
        let mut said = self.said();
        if said.len() >= REMEMBERED || said.insert(line.to_owned()) {
            self.voice.say(&printable(line));
        }
    }

    /// Says what went otherwise than anybody wanted, if it did.
    fn warning(&self, event: &Event<'_>) {
        let text = match event {
            Event::Replaced(uri) => {
                format!(
                    "{uri} held something that this source had not pushed; the source replaces it"
                )
            }
            Event::Restored(uri) => {
                format!("{uri} was deleted by somebody else; the source has it, and brings it back")
            }
            Event::Warning(text) => printable(text).into_owned(),
            Event::BatchReadRejected {
                code,
                entries,
                denied,
            } => format!(
                "the remote refused to read {entries} documents at once ({}); {denied} of them it \
                 does not let be read",
                printable(code)
            ),
            Event::HeldWriteFailed(failure) => format!(
                "it could not be noted that this round did not end well: {}",
                printable(&failure.message)
            ),
            _ => return,
        };
        self.voice.warn(&format!("warning: {text}"));
    }

    fn said(&self) -> MutexGuard<'_, HashSet<String>> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Listing {
    fn event(&self, event: Event<'_>) {
        match event {
            Event::Begun {
                source,
                uri_prefix,
                remote,
                dry_run,
            } => self.begun(source, uri_prefix, remote, dry_run),
            Event::Landed(landed) if self.changes => self.voice.warn(&line(landed)),
            Event::Failed(failure) => self.failed(failure),
            Event::PluginStderr { line, .. } => self.stderr(line),
            Event::Skipped { operation, cause } => {
                let names: Vec<&str> = operation.uris().map(|uri| uri.as_str()).collect();
                let names = names.join(", ");
                let why = format!("the move {cause} did not succeed");
                self.voice.warn(&format!("skipped: {names}: {why}"));
            }
            other => self.warning(&other),
        }
    }
}

fn line(landed: Landed<'_>) -> String {
    match landed {
        Landed::Created(uri) => format!("created  {uri}"),
        Landed::Updated(uri) => format!("updated  {uri}"),
        Landed::Deleted(uri) => format!("deleted  {uri}"),
        Landed::Moved { from, to } => format!("moved    {from} -> {to}"),
    }
}

/// Returns one line about a failure: what, why, and the code to look up.
fn failure_line(failure: &Failure) -> String {
    let about = match &failure.subject {
        Subject::Unknown => String::new(),
        Subject::Document(uri) => format!("{}: ", printable(uri)),
        Subject::Move { from_uri, to_uri } => {
            format!("{} -> {}: ", printable(from_uri), printable(to_uri))
        }
    };
    let word = if failure.level == Level::Item {
        "failed"
    } else {
        "error"
    };
    format!(
        "{word}: {about}{} [{}]",
        printable(&failure.message),
        printable(&failure.code)
    )
}

#[cfg(test)]
mod tests {
    use super::failure_line;
    use crate::sync::failure::{Failure, FailureSource, Subject};

    #[test]
    fn a_failure_names_the_document_the_reason_and_the_code() {
        let failure = Failure::item(
            FailureSource::Plugin,
            "content_invalid",
            "not valid UTF-8 at byte 5",
            Subject::Document("dpe://docs/a.md".into()),
        );
        assert_eq!(
            failure_line(&failure),
            "failed: dpe://docs/a.md: not valid UTF-8 at byte 5 [content_invalid]"
        );
    }
}
