//! The closing line of a push. It always looks the same.

use std::fmt;
use std::time::Duration;

use crate::runner::Traffic;
use crate::sync::printable::printable;
use crate::sync::report::Counts;

use super::text;

/// What a push came to.
#[derive(Clone, Copy, Debug)]
pub struct Summary<'a> {
    /// What was pushed.
    pub source: &'a str,
    /// Whether nothing was written.
    pub dry_run: bool,
    /// How it ended.
    pub end: End,
    /// What became of the documents.
    pub counts: Counts,
    /// What went to the remote.
    pub traffic: Traffic,
    /// How long it took.
    pub elapsed: Duration,
}

/// How a push ended, and whether another one helps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Everything landed.
    Whole,
    /// Some documents failed.
    Partial,
    /// It could not go on; later, it may.
    ForNow,
    /// It could not go on, and cannot until somebody changes something.
    ForGood,
    /// Somebody wanted it to end.
    Interrupted,
}

impl End {
    fn verb(self, dry_run: bool) -> (&'static str, &'static str) {
        match (self, dry_run) {
            (Self::Whole, false) => ("pushed", ""),
            (Self::Whole, true) => ("would push", ""),
            (Self::Partial, false) => ("pushed", " in part"),
            (Self::Partial, true) => ("would push", " in part"),
            (Self::ForNow, _) => ("gave up on", ", which may succeed later"),
            (Self::ForGood, _) => ("gave up on", ", which fails until something is changed"),
            (Self::Interrupted, _) => ("stopped pushing", ", which the next push goes on with"),
        }
    }
}

impl fmt::Display for Summary<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (verb, how) = self.end.verb(self.dry_run);
        let Counts {
            created,
            updated,
            unchanged,
            deleted,
            moved,
            failed,
        } = self.counts;
        write!(
            f,
            "{verb} {}{how}: {created} created, {updated} updated, {moved} moved, {deleted} deleted, \
             {unchanged} unchanged, {failed} failed ({} in {}, {:.1} s)",
            printable(self.source),
            text::bytes(self.traffic.bytes),
            requests(self.traffic.requests),
            self.elapsed.as_secs_f64(),
        )
    }
}

fn requests(count: u64) -> String {
    match count {
        1 => "1 request".to_owned(),
        count => format!("{count} requests"),
    }
}
