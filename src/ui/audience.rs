//! All who are told what happens during rounds.

use crate::ops::run::Redaction;
use crate::sync::event::{Event, Observer};

use super::log_file::Lines;
use super::{Gauge, Listing, Log, Voice, screen};

/// Tells everybody who wants to know.
pub struct Audience(Vec<Box<dyn Observer>>);

impl Audience {
    /// Returns those who follow the rounds of a command: the listing, and where they are wanted
    /// the progress and the log.
    pub fn of(voice: Voice, dry_run: bool) -> Self {
        let mut all: Vec<Box<dyn Observer>> = vec![Box::new(Listing::new(voice, dry_run))];
        if let Some(gauge) = Gauge::new(voice) {
            all.push(Box::new(gauge));
        }
        if let Some(file) = screen::log_of_events() {
            all.push(Box::new(Log::to(Lines(file), Redaction::default())));
        }
        Self(all)
    }
}

impl Observer for Audience {
    fn event(&self, event: Event<'_>) {
        for observer in &self.0 {
            observer.event(event);
        }
    }
}
