//! Failures as they come up: told at once, counted, and kept as long as conclusions are drawn from them.

use std::collections::HashSet;

use crate::model::FileUri;
use crate::sync::event::Event;
use crate::sync::failure::{Failure, Level, Subject};
use crate::sync::ports::Remote;
use crate::sync::report::FAILURES_MAX;

use super::Landing;
use crate::runner::doubt::Doubt;
use crate::runner::round::Profile;

impl<R: Remote> Landing<'_, R> {
    /// Returns whether any item has failed so far.
    pub(in crate::runner) fn has_failures(&self) -> bool {
        !self.failures.is_empty()
    }

    /// Returns the documents whose failure was reported.
    pub(in crate::runner) fn failed_documents(&self) -> HashSet<String> {
        let subjects = self.failures.iter().map(|failure| &failure.subject);
        subjects
            .filter_map(|subject| match subject {
                Subject::Document(uri) => Some(uri.clone()),
                _ => None,
            })
            .collect()
    }

    /// Returns what the failures so far leave in doubt.
    pub(in crate::runner) fn doubt(&self) -> Doubt {
        Doubt::of(&self.failures)
    }

    /// Reports an item failure.
    pub(in crate::runner) fn fail(&mut self, failure: Failure) {
        if failure.level == Level::Item {
            self.counts.failed += 1;
        }
        let (Subject::Document(uri) | Subject::Move { from_uri: uri, .. }) = &failure.subject
        else {
            return self.report(failure);
        };
        if let Ok(uri) = FileUri::parse(uri) {
            if failure.retryable {
                self.unachieved.may_be_retried(&uri);
            }
            self.touch(uri);
        }
        self.report(failure);
    }

    /// Tells a failure and keeps it; no more than are listed, unless conclusions are drawn from
    /// all of them, as people expect.
    fn report(&mut self, failure: Failure) {
        self.observer.event(Event::Failed(&failure));
        if self.profile == Profile::Contract && self.failures.len() >= FAILURES_MAX {
            self.failures_omitted += 1;
        } else {
            self.failures.push(failure);
        }
    }
}
