//! What a gauge reads at one moment, in words.

use std::fmt;
use std::time::{Duration, Instant};

use unicode_width::UnicodeWidthChar;

use crate::sync::printable::printable;
use crate::ui::text;

/// Columns that the name of a source may take.
const NAME_COLUMNS: usize = 30;

/// How far a round has come.
#[derive(Clone, Debug, Default)]
pub(super) struct Reading {
    pub(super) source: String,
    pub(super) dry_run: bool,
    pub(super) elapsed: Duration,
    /// Items that the source has told of.
    pub(super) scanned: u64,
    /// How long that took, once it has told all.
    pub(super) scan: Option<Duration>,
    /// Documents that were compared with the remote.
    pub(super) compared: u64,
    /// Writes that have to be made.
    pub(super) due: u64,
    /// Those of which it is known what became of them.
    pub(super) done: u64,
    /// Bytes that went to the remote.
    pub(super) bytes: u64,
    /// Bytes a second.
    pub(super) rate: Option<u64>,
    /// How long the rest takes, where that is known.
    pub(super) left: Option<Duration>,
}

impl fmt::Display for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", cut(&printable(&self.source)))?;
        match (self.scanned, self.scan) {
            (0, None) => write!(f, "scanning, {}", text::span(self.elapsed))?,
            (scanned, None) => write!(f, "{scanned} scanned")?,
            (scanned, Some(scan)) if self.due == 0 => {
                write!(f, "all {scanned} scanned in {}", text::span(scan))?;
            }
            (scanned, Some(_)) => write!(f, "all {scanned} scanned")?,
        }
        // A line has to fit a terminal of 80 columns.
        if self.compared > 0 && self.compared < self.scanned {
            write!(f, ", {} compared", self.compared)?;
        }
        if self.dry_run {
            return match self.due {
                0 => Ok(()),
                due => write!(f, ", {due} to write"),
            };
        }
        if self.due > 0 {
            write!(f, ", {} of {} written", self.done, self.due)?;
        }
        if self.due > 0 && self.bytes > 0 {
            write!(f, ", {} sent", text::bytes(self.bytes))?;
            if let Some(rate) = self.rate {
                write!(f, ", {}/s", text::bytes(rate))?;
            }
        }
        match self.left {
            Some(left) => write!(f, ", {} left", text::span(left)),
            None => Ok(()),
        }
    }
}

/// Returns the end of a name that is too long: names of one place begin alike.
fn cut(name: &str) -> String {
    let columns = |character: char| character.width().unwrap_or(0);
    let mut free = NAME_COLUMNS;
    if name.chars().map(columns).sum::<usize>() <= free {
        return name.to_owned();
    }
    free -= 3;
    let is_kept = |character: &char| {
        let fits = columns(*character) <= free;
        free -= columns(*character).min(free);
        fits
    };
    let kept: Vec<char> = name.chars().rev().take_while(is_kept).collect();
    let kept: String = kept.into_iter().rev().collect();
    format!("...{kept}")
}

/// The rate of the last seconds, from a number that only grows.
#[derive(Debug, Default)]
pub(super) struct Rate {
    /// When the number was looked at, and what it was.
    marks: std::collections::VecDeque<(Instant, u64)>,
}

/// How long a rate looks back.
const WINDOW: Duration = Duration::from_secs(5);
/// A rate of less time says nothing.
const SHORTEST: Duration = Duration::from_millis(500);

impl Rate {
    /// Takes the number as it is `now`, and returns how fast it grows a second.
    pub(super) fn of(&mut self, number: u64, now: Instant) -> Option<u64> {
        if self.marks.back().is_some_and(|(_, last)| *last > number) {
            // Another round, another count.
            self.marks.clear();
        }
        while self.marks.len() > 1 && now - self.marks[0].0 > WINDOW {
            self.marks.pop_front();
        }
        self.marks.push_back((now, number));
        let (then, before) = self.marks[0];
        let taken = now - then;
        let grown = (number - before) as f64;
        (taken >= SHORTEST).then(|| (grown / taken.as_secs_f64()) as u64)
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use unicode_width::UnicodeWidthStr;

    use super::{Rate, Reading, cut};

    #[test]
    fn a_reading_says_what_is_known_and_nothing_else() {
        let mut reading = Reading {
            source: "docs".into(),
            elapsed: Duration::from_millis(3200),
            ..Reading::default()
        };
        assert_eq!(reading.to_string(), "docs: scanning, 3 s");
        reading.scanned = 500;
        reading.compared = 400;
        assert_eq!(reading.to_string(), "docs: 500 scanned, 400 compared");
        reading.due = 20;
        reading.done = 3;
        reading.bytes = 3 << 20;
        reading.rate = Some(1536);
        let expected = "docs: 500 scanned, 400 compared, 3 of 20 written, 3.0 MiB sent, 1.5 KiB/s";
        assert_eq!(reading.to_string(), expected);
        reading.scan = Some(Duration::from_secs(4));
        reading.compared = 500;
        reading.left = Some(Duration::from_secs(125));
        let expected =
            "docs: all 500 scanned, 3 of 20 written, 3.0 MiB sent, 1.5 KiB/s, 2 min 5 s left";
        assert_eq!(reading.to_string(), expected);
        reading.dry_run = true;
        let expected = "docs: all 500 scanned, 20 to write";
        assert_eq!(reading.to_string(), expected);
    }

    #[test]
    fn long_and_strange_names_are_cut_by_width_and_escaped() {
        let long = "/srv/".to_owned() + &"深".repeat(40);
        assert!(cut(&long).width() <= 30, "{}", cut(&long).width());
        assert!(cut(&long).starts_with("...深"));
        let reading = Reading {
            source: "a\u{1b}[2J\r\nb".into(),
            ..Reading::default()
        };
        let text = reading.to_string();
        assert!(!text.chars().any(char::is_control), "{text:?}");
    }

    #[test]
    fn a_rate_is_that_of_the_last_seconds() {
        let mut rate = Rate::default();
        let start = Instant::now();
        let at = |second: u64| start + Duration::from_secs(second);
        assert_eq!(rate.of(0, at(0)), None);
        assert_eq!(rate.of(1000, at(1)), Some(1000));
        for second in 2..20 {
            rate.of(1000, at(second));
        }
        assert_eq!(rate.of(1000, at(20)), Some(0));
        assert_eq!(rate.of(10, at(21)), None, "another round");
    }
}
