//! The only room that writes to a terminal.
//!
//! Text for people goes to stderr, results and JSON to stdout. A reader that went away is no
//! error: nothing more is written, and the work goes on.

mod audience;
mod color;
pub mod connector;
mod diagnostic;
pub mod document;
pub mod extracted;
mod gauge;
pub mod ignored;
mod log;
mod log_file;
mod progress;
mod screen;
pub mod state;
pub mod status;
mod summary;
mod text;

use std::io::{self, Write};
use std::sync::Arc;

use miette::Diagnostic;

pub use crate::sync::printable::printable;
pub use audience::Audience;
pub use color::Color;
pub use gauge::{Gauge, Progress};
pub use log::Log;
pub use log_file::{LogFile, LogFormat};
pub use progress::Listing;
pub use summary::{End, Summary};

use crate::json::Writer;
use crate::sync::failure::Failure;
use crate::sync::report::Report;

/// How much is said, and in which form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Voice {
    /// Results as JSON on stdout; people's text stays on stderr.
    pub json: bool,
    /// Nothing when all is well.
    pub quiet: bool,
    /// 0 is the usual; 1 and more tell what happens to each document.
    pub verbose: u8,
    /// Where colours are used.
    pub color: Color,
    /// Whether and how progress is shown.
    pub progress: Progress,
}

/// Returns the report of a round as a line among others: with its type.
pub fn report_line(report: &Report) -> String {
    let mut json = Writer::new();
    json.begin_object();
    json.name("type").string("report");
    report.write_members(&mut json);
    json.end_object();
    json.into_string()
}

impl Voice {
    /// Writes one line of a result to stdout. Returns false when nobody reads any more.
    ///
    /// # Errors
    ///
    /// When stdout cannot be written for another reason.
    pub fn result(self, line: &str) -> io::Result<bool> {
        self.whole_result(format!("{line}\n"))
    }

    /// Writes a whole result to stdout as it is. Returns false when nobody reads any more.
    ///
    /// # Errors
    ///
    /// When stdout cannot be written for another reason.
    pub fn whole_result(self, bytes: impl AsRef<[u8]>) -> io::Result<bool> {
        let mut stdout = io::stdout().lock();
        let written = stdout
            .write_all(bytes.as_ref())
            .and_then(|()| stdout.flush());
        match written {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Says one line to a person, unless quiet.
    pub fn say(self, line: &str) {
        if self.quiet {
            screen::note(line);
        } else {
            screen::tell(line);
        }
    }

    /// Says something that is not as it should be, quiet or not.
    pub fn warn(self, line: &str) {
        screen::warn(line);
    }

    /// From now on, keeps all that is said in a file, or with [`LogFormat::Json`] what happens in rounds.
    pub fn keep_in(self, file: LogFile, format: LogFormat) {
        screen::keep_in(Arc::new(file), format);
    }

    /// From now on, if quiet, what is said waits for [`Voice::release`].
    pub fn hold(self) {
        if self.quiet {
            screen::hold();
        }
    }

    /// Ends a part of the work: where lines wait, those about it go unless something was wrong.
    pub fn settle(self) {
        screen::settle();
    }

    /// Says what waited as one block, unless all was well.
    pub fn release(self) {
        screen::release();
    }

    /// Asks a question; the cursor stays behind it.
    pub fn ask(self, question: &str) {
        screen::ask(question);
    }

    /// Shows how an error page began that came instead of a reply, to those who ask to see
    /// everything. The transport has hidden the secrets it knows.
    pub fn page(self, failure: &Failure) {
        if let (2.., Some(page)) = (self.verbose, &failure.page) {
            screen::warn(&format!("the answer began: {}", printable(&page.line)));
        }
    }

    /// Shows why something could not be done.
    pub fn explain(self, error: &dyn Diagnostic) {
        screen::warn(diagnostic::to_text(error, self.color).trim_end());
    }

    /// Shows why a command cannot go on; with `json` as an object on stdout too.
    pub fn failure(self, error: &dyn Diagnostic) {
        if self.json {
            self.answer(error);
        }
        self.explain(error);
    }

    /// Tells a program on stdout why a command cannot go on.
    pub fn answer(self, error: &dyn Diagnostic) {
        // A broken stdout cannot be reported on stdout; the exit code says it all the same.
        let _ = self.result(&diagnostic::to_json(error));
    }
}
