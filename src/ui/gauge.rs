//! How far rounds have come, shown while they run: as a line that is painted over on a terminal, or
//! as a line now and then where nothing can be painted over.
//!
//! Events only add to a tally; a thread of its own looks at it now and then, however many events there are.

mod reading;

use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::sync::event::{Event, Observer};

use super::{Voice, screen};
use reading::{Rate, Reading};

/// How often a line is painted over.
const PAINTED_EVERY: Duration = Duration::from_millis(100);
/// How often a line is written where it stays.
const WRITTEN_EVERY: Duration = Duration::from_secs(30);

/// Whether and how progress is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Progress {
    /// Painted on terminals, and not at all elsewhere.
    #[default]
    Auto,
    /// As lines that stay.
    Plain,
    /// Not at all.
    None,
}

/// Shows how far rounds have come, as long as it lives.
#[derive(Debug)]
pub struct Gauge {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    tally: Mutex<Tally>,
    wake: Condvar,
}

/// What has happened so far in the round that runs.
#[derive(Debug, Default)]
struct Tally {
    /// The source, if a round runs.
    source: Option<String>,
    dry_run: bool,
    begun: Option<Instant>,
    scanned: u64,
    /// How long it took until everything was scanned.
    scan: Option<Duration>,
    compared: u64,
    /// Writes that were decided on, and their bytes.
    due: (u64, u64),
    /// Those of which it is known what became of them.
    done: (u64, u64),
    sending_since: Option<Instant>,
    /// What goes to the remote, in bytes, and what had gone before the round.
    wire: Option<(Arc<AtomicU64>, u64)>,
    /// What the thread has not said yet: everything is scanned.
    scan_is_news: bool,
    is_over: bool,
}

/// In which way progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Painted,
    Written,
}

impl Gauge {
    /// Returns a gauge where one is wanted.
    pub fn new(voice: Voice) -> Option<Self> {
        if voice.quiet {
            return None;
        }
        let way = match voice.progress {
            Progress::None => return None,
            Progress::Plain => Way::Written,
            Progress::Auto if can_paint() => Way::Painted,
            Progress::Auto => return None,
        };
        let shared = Arc::new(Shared::default());
        let seen = Arc::clone(&shared);
        let thread = thread::Builder::new().name("progress".to_owned());
        // Without the thread there is no progress to be seen, and nothing else is lost.
        let thread = thread.spawn(move || seen.show(way)).ok();
        Some(Self { shared, thread })
    }
}

/// Returns whether a person looks at stderr, and can be shown a line that is painted over.
fn can_paint() -> bool {
    let variable = |name| std::env::var(name).unwrap_or_default();
    let is_automatic = !matches!(&*variable("CI"), "" | "0" | "false");
    io::stderr().is_terminal() && variable("TERM") != "dumb" && !is_automatic
}

impl Drop for Gauge {
    fn drop(&mut self) {
        self.shared.tally().is_over = true;
        self.shared.wake.notify_all();
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has shown its last.
            let _ = thread.join();
        }
        screen::erase();
    }
}

impl Observer for Gauge {
    fn event(&self, event: Event<'_>) {
        let mut tally = self.shared.tally();
        match event {
            Event::Begun {
                source, dry_run, ..
            } => {
                *tally = Tally {
                    source: Some(source.to_owned()),
                    dry_run,
                    begun: Some(Instant::now()),
                    ..Tally::default()
                };
            }
            Event::Connected { sent } => {
                tally.wire = Some((Arc::clone(sent), sent.load(Ordering::Relaxed)));
            }
            Event::Scanned { items, complete } => {
                tally.scanned += items;
                if complete && tally.scan.is_none() {
                    tally.scan = tally.begun.map(|begun| begun.elapsed());
                    tally.scan_is_news = true;
                    self.shared.wake.notify_all();
                }
            }
            Event::Compared { documents } => tally.compared += documents,
            Event::Sending { writes, bytes } => {
                tally.due = (tally.due.0 + writes, tally.due.1 + bytes);
                tally.sending_since.get_or_insert_with(Instant::now);
            }
            Event::Answered { bytes } => tally.done = (tally.done.0 + 1, tally.done.1 + bytes),
            Event::Finished(_) => {
                *tally = Tally::default();
                drop(tally);
                screen::erase();
            }
            _ => {}
        }
    }
}

impl Shared {
    /// Shows the tally again and again, until the gauge is gone.
    fn show(&self, way: Way) {
        let every = match way {
            Way::Painted => PAINTED_EVERY,
            Way::Written => WRITTEN_EVERY,
        };
        let mut rate = Rate::default();
        let mut tally = self.tally();
        let mut next = Instant::now() + every;
        while !tally.is_over {
            let wait = next.saturating_duration_since(Instant::now());
            let waited = self.wake.wait_timeout(tally, wait);
            tally = waited.unwrap_or_else(PoisonError::into_inner).0;
            let is_news = std::mem::take(&mut tally.scan_is_news);
            let is_due = Instant::now() >= next;
            if tally.source.is_none()
                || tally.is_over
                || !(is_due || is_news && way == Way::Written)
            {
                if is_due {
                    next = Instant::now() + every;
                }
                continue;
            }
            let reading = tally.reading(&mut rate);
            // Whoever says a line at this moment waits for the screen with the tally in hand.
            drop(tally);
            match way {
                Way::Painted => screen::paint(&reading.to_string()),
                Way::Written => screen::tell(&reading.to_string()),
            }
            next = Instant::now() + every;
            tally = self.tally();
        }
    }

    fn tally(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Tally {
    fn reading(&self, rate: &mut Rate) -> Reading {
        let bytes = self.wire.as_ref().map_or(0, |(sent, before)| {
            sent.load(Ordering::Relaxed).saturating_sub(*before)
        });
        Reading {
            source: self.source.clone().unwrap_or_default(),
            dry_run: self.dry_run,
            elapsed: self.begun.map_or(Duration::ZERO, |begun| begun.elapsed()),
            scanned: self.scanned,
            scan: self.scan,
            compared: self.compared,
            due: self.due.0,
            done: self.done.0,
            bytes,
            rate: rate.of(bytes, Instant::now()),
            left: self.left(bytes),
        }
    }

    /// Returns how long what is due takes at the pace so far. It is known once everything is scanned.
    fn left(&self, bytes: u64) -> Option<Duration> {
        self.scan?;
        let taken = self.sending_since?.elapsed().as_secs_f64();
        // Large documents go in many parts, small ones are compressed: whichever has got further.
        let gone = self.done.1.max(bytes).min(self.due.1);
        let rest = self.due.1 - gone;
        if gone == 0 || rest == 0 || taken < 1.0 {
            return None;
        }
        Some(Duration::from_secs_f64(taken * rest as f64 / gone as f64))
    }
}
