//! Hears what a round would do, and keeps it as changes. All else is for whoever listens behind.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::change::{Change, Effect, Kind, document};
use crate::sync::event::{Event, Landed, Observer};
use crate::sync::failure::{Level, Subject};

/// Somebody else changed what the source has changed too.
const REPLACED: &str = "somebody else wrote it on the remote; a push replaces that";

/// Somebody else deleted what the source has changed.
const RESTORED: &str = "somebody else deleted it on the remote; a push brings it back";

/// Collects the changes of an imagined round.
pub(super) struct Collector {
    behind: Arc<dyn Observer>,
    heard: Mutex<Heard>,
}

#[derive(Default)]
struct Heard {
    changes: Vec<Change>,
    /// What the next change is a conflict for, besides.
    conflict: Option<&'static str>,
}

impl Collector {
    /// Returns one that hands on to `behind` what is no change.
    pub(super) fn before(behind: Arc<dyn Observer>) -> Self {
        let heard = Mutex::default();
        Self { behind, heard }
    }

    /// Returns the changes so far.
    pub(super) fn take(&self) -> Vec<Change> {
        std::mem::take(&mut self.heard().changes)
    }

    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Heard {
    fn landed(&mut self, landed: Landed<'_>) {
        let (kind, subject) = match landed {
            Landed::Created(uri) => (Kind::Added, document(uri)),
            Landed::Updated(uri) => (Kind::Modified, document(uri)),
            Landed::Deleted(uri) => (Kind::Deleted, document(uri)),
            Landed::Moved { from, to } => {
                let (from_uri, to_uri) = (from.to_string(), to.to_string());
                (Kind::Moved, Subject::Move { from_uri, to_uri })
            }
        };
        self.changes.push(match self.conflict.take() {
            Some(reason) => Change {
                is_gone: reason == RESTORED,
                ..Change::conflict(subject, Effect::Write, reason)
            },
            None => Change::planned(kind, subject),
        });
    }
}

impl Observer for Collector {
    fn event(&self, event: Event<'_>) {
        match event {
            Event::Landed(landed) => self.heard().landed(landed),
            Event::Replaced(_) => self.heard().conflict = Some(REPLACED),
            Event::Restored(_) => self.heard().conflict = Some(RESTORED),
            Event::Failed(failure) if failure.level == Level::Item => {
                self.heard().changes.push(Change::failed(failure));
            }
            // What the connector counts is listed by name.
            Event::PluginStderr { .. } => {}
            other => self.behind.event(other),
        }
    }
}
