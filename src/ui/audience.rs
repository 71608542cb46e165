//! All who are told what happens during rounds.

use crate::sync::event::{Event, Observer};

use super::{Gauge, Listing, Voice};

/// Tells everybody who wants to know.
pub struct Audience(Vec<Box<dyn Observer>>);

impl Audience {
    /// Returns those who follow the rounds of a command: the listing, and where it is wanted the progress.
    pub fn of(voice: Voice, dry_run: bool) -> Self {
        let mut all: Vec<Box<dyn Observer>> = vec![Box::new(Listing::new(voice, dry_run))];
        if let Some(gauge) = Gauge::new(voice) {
            all.push(Box::new(gauge));
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
