//! What stderr shows: lines, above a line that is painted over where there is one, or held back
//! until it is known whether they matter.
//!
//! A process has one stderr, so there is one screen. It knows nothing of what the lines mean.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use indicatif::{ProgressBar, ProgressStyle};
use jiff::Timestamp;
use rustix::termios::tcgetwinsize;
use unicode_width::UnicodeWidthStr;

use super::diagnostic::is_unicode;
use super::log_file::{LogFile, LogFormat};

/// So many lines are held back; of more, only the number is kept.
const HELD_MAX: usize = 1000;

/// What shows that a painted line is alive, where a terminal shows such characters, and where not.
const TURNS: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const PLAIN_TURNS: [&str; 4] = ["-", "\\", "|", "/"];

static SCREEN: Mutex<Screen> = Mutex::new(Screen {
    painted: None,
    columns: (0, 0),
    turns: 0,
    log: None,
    held: None,
});

struct Screen {
    /// The line that is painted over.
    painted: Option<ProgressBar>,
    /// How many columns it takes, and how many the terminal had.
    columns: (usize, usize),
    /// How often it was painted.
    turns: usize,
    /// Where lines are kept besides.
    log: Option<(Arc<LogFile>, LogFormat)>,
    /// What waits, if lines are held back.
    held: Option<Held>,
}

#[derive(Default)]
struct Held {
    lines: Vec<String>,
    omitted: u64,
    /// So many of the lines will be shown, come what may.
    kept: usize,
    /// Whether any of the others says that something is wrong.
    is_trouble: bool,
}

/// Writes a line that tells how things go.
pub(super) fn tell(line: &str) {
    screen().put(line, false);
}

/// Writes a line that tells that something is not as it should be.
pub(super) fn warn(line: &str) {
    screen().put(line, true);
}

/// Notes a line that helps to understand a later one. It is shown with it, where lines are held back, or else never.
pub(super) fn note(line: &str) {
    let mut screen = screen();
    if screen.held.is_some() {
        screen.put(line, false);
    } else {
        screen.keep(line);
    }
}

/// Keeps all lines in a file from now on, those too that are not shown.
pub(super) fn keep_in(file: Arc<LogFile>, format: LogFormat) {
    screen().log = Some((file, format));
}

/// Returns the file that takes events, if there is one.
pub(super) fn log_of_events() -> Option<Arc<LogFile>> {
    match &screen().log {
        Some((file, LogFormat::Json)) => Some(Arc::clone(file)),
        _ => None,
    }
}

/// Holds lines back from now on.
pub(super) fn hold() {
    screen().held.get_or_insert_default();
}

/// Forgets the lines since the last call, unless one of them told of trouble.
pub(super) fn settle() {
    if let Some(held) = &mut screen().held {
        if held.is_trouble {
            held.kept = held.lines.len();
            held.is_trouble = false;
        } else {
            held.lines.truncate(held.kept);
        }
    }
}

/// Shows what was held back as one block, if anything of it told of trouble, and holds nothing
/// back any more.
pub(super) fn release() {
    settle();
    let mut screen = screen();
    let Some(held) = screen.held.take() else {
        return;
    };
    if held.kept == 0 {
        return;
    }
    let mut block = held.lines;
    if held.omitted > 0 {
        // The verdict stays the last line.
        let last = block.len() - 1;
        block.insert(last, format!("… and {} more lines", held.omitted));
    }
    write(&(block.join("\n") + "\n"));
}

/// Writes something behind which the cursor stays.
pub(super) fn ask(question: &str) {
    let screen = screen();
    match &screen.painted {
        Some(bar) => bar.suspend(|| write(question)),
        None => write(question),
    }
}

/// Paints a line below all others, over what was painted before.
pub(super) fn paint(text: &str) {
    let mut screen = screen();
    screen.fit();
    let text = format!("{} {text}", screen.turn());
    let width = tcgetwinsize(io::stderr()).map_or(0, |size| usize::from(size.ws_col));
    screen.columns = (text.width().min(width), width);
    let bar = screen.painted.get_or_insert_with(|| {
        let bar = ProgressBar::new_spinner();
        let style = ProgressStyle::with_template("{wide_msg}");
        bar.set_style(style.expect("the template is a valid one"));
        bar
    });
    bar.set_message(text);
}

/// Takes away what was painted.
pub(super) fn erase() {
    if let Some(bar) = screen().painted.take() {
        bar.finish_and_clear();
    }
}

impl Screen {
    /// Keeps a line in the file of lines, if there is one. That it cannot be written is said once.
    fn keep(&mut self, line: &str) {
        let Some((file, LogFormat::Text)) = &self.log else {
            return;
        };
        let now = Timestamp::now()
            .strftime("%Y-%m-%dT%H:%M:%S.%3fZ")
            .to_string();
        let lines = line.lines().filter(|line| !line.is_empty());
        let text: String = lines.map(|line| format!("{now} {line}\n")).collect();
        if let Err(why) = file.append(text.as_bytes()) {
            self.log = None;
            self.put(
                &format!("warning: the log cannot be written any more: {why}"),
                true,
            );
        }
    }

    fn turn(&mut self) -> &'static str {
        self.turns += 1;
        if is_unicode(|name| std::env::var(name).ok()) {
            TURNS[self.turns % TURNS.len()]
        } else {
            PLAIN_TURNS[self.turns % PLAIN_TURNS.len()]
        }
    }

    /// Takes away what was painted if the terminal has got narrower since: it has put the rest of the line into
    /// further rows, of which whoever paints next knows nothing.
    fn fit(&mut self) {
        let (taken, width) = self.columns;
        let now = tcgetwinsize(io::stderr()).map_or(0, |size| usize::from(size.ws_col));
        if self.painted.is_none() || now == 0 || now >= width || taken <= now {
            return;
        }
        let rows = (taken - 1) / now;
        write(&format!("\r\x1b[{rows}A\x1b[J"));
        self.columns = (0, now);
    }

    fn put(&mut self, line: &str, is_trouble: bool) {
        self.keep(line);
        if let Some(held) = &mut self.held {
            held.is_trouble |= is_trouble;
            if held.lines.len() < HELD_MAX {
                held.lines.push(line.to_owned());
            } else {
                // The last line is the verdict, as far as anybody knows.
                held.lines.pop();
                held.lines.push(line.to_owned());
                held.omitted += 1;
            }
            return;
        }
        self.fit();
        let text = format!("{line}\n");
        match &self.painted {
            // Its own way to print a line fills the line with blanks, which whoever copies it gets too.
            Some(bar) => bar.suspend(|| write(&text)),
            None => write(&text),
        }
    }
}

/// Writes to stderr; a stderr that is gone is nobody's problem.
fn write(text: &str) {
    let mut stderr = io::stderr().lock();
    let _ = stderr
        .write_all(text.as_bytes())
        .and_then(|()| stderr.flush());
}

fn screen() -> MutexGuard<'static, Screen> {
    SCREEN.lock().unwrap_or_else(PoisonError::into_inner)
}
