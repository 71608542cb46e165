//! What is wrong with a configuration file, drawn where it is.

use std::fmt;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use miette::{Diagnostic, LabeledSpan, NamedSource};
use thiserror::Error;

use super::token::hidden;

/// A configuration file that cannot be used.
#[derive(Debug, Error, Diagnostic)]
pub enum FileError {
    /// It is not there, or cannot be read.
    #[error("cannot read the configuration file {}", path.display())]
    #[diagnostic(
        code(dpe::config::unreadable),
        help("make it readable, or name another one with --config")
    )]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// It says something that cannot be meant.
    #[error("{}", summary(path, mistakes))]
    #[diagnostic(code(dpe::config::mistakes))]
    Mistakes {
        /// The file.
        path: PathBuf,
        /// Its text without secrets.
        #[source_code]
        text: Arc<NamedSource<String>>,
        /// All of them, in the order of the text.
        #[related]
        mistakes: Vec<Mistake>,
    },
}

/// One mistake. It never repeats a value, which could be a misplaced secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// A lasting name of the kind, such as `dpe::config::unknown_key`.
    pub code: &'static str,
    /// What is wrong.
    pub what: String,
    /// What to do about it.
    pub way_out: String,
    /// Where, in bytes of the text.
    pub span: Range<usize>,
}

impl FileError {
    /// Returns the error of mistakes in a text.
    pub(super) fn mistakes(path: &Path, text: &str, mut mistakes: Vec<Mistake>) -> Self {
        mistakes.sort_by_key(|mistake| mistake.span.start);
        // The first thing that is wrong with a value is the reason for others.
        mistakes.dedup_by(|next, one| one.span == next.span);
        let name = path.display().to_string();
        Self::Mistakes {
            path: path.to_owned(),
            text: Arc::new(NamedSource::new(name, hidden(text))),
            mistakes,
        }
    }
}

fn summary(path: &Path, mistakes: &[Mistake]) -> String {
    let path = path.display();
    match mistakes {
        [_] => format!("{path} cannot be used"),
        many => format!("{path} cannot be used: {} mistakes", many.len()),
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for Mistake {}

impl Diagnostic for Mistake {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(self.code))
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(&self.way_out))
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let label = LabeledSpan::new_with_span(Some("here".to_owned()), self.span.clone());
        Some(Box::new(std::iter::once(label)))
    }
}
