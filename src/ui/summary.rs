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
    /// Whether the round ended before everything was enumerated.
    pub aborted: bool,
    /// What became of the documents.
    pub counts: Counts,
    /// What went to the remote.
    pub traffic: Traffic,
    /// How long it took.
    pub elapsed: Duration,
}

impl fmt::Display for Summary<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = match (self.dry_run, self.aborted) {
            (true, false) => "would push",
            (false, false) => "pushed",
            (_, true) => "gave up on",
        };
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
            "{verb} {}: {created} created, {updated} updated, {moved} moved, {deleted} deleted, \
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
