//! `dpe hash-object`: the judgements and hashes of `model`, laid open.
//!
//! Here inputs are read, whole or line by line. What is said about one of them is in `judge`.

mod judge;

use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::PathBuf;

use miette::Diagnostic;
use thiserror::Error;

pub use judge::{Judge, Kind, UnknownKind, Verdict};

/// What to judge.
#[derive(Clone, Debug)]
pub struct HashObject {
    /// How.
    pub judge: Judge,
    /// Where it is.
    pub input: Input,
    /// Whether every line is an input of its own.
    pub by_line: bool,
}

/// Where inputs come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// Standard input of this process.
    Stdin,
    /// A file.
    File(PathBuf),
}

/// Why inputs could not be judged.
#[derive(Debug, Error, Diagnostic)]
pub enum HashObjectError {
    /// The input could not be read.
    #[error("cannot read {input}")]
    #[diagnostic(
        code(dpe::ops::hash_object::read),
        help("give a readable file, or `-` to read standard input")
    )]
    Read {
        /// What was named.
        input: Input,
        /// What the system said.
        source: io::Error,
    },
    /// The result could not be written.
    #[error("cannot write the result")]
    #[diagnostic(
        code(dpe::ops::hash_object::write),
        help("check where standard output goes")
    )]
    Write(#[source] io::Error),
}

/// Judges the input and writes one line for it, or one for each of its lines. Returns the verdict
/// on an input as a whole; lines have theirs written down, and are accepted together.
///
/// # Errors
///
/// [`HashObjectError`] if the input cannot be read or the result not be written.
pub fn hash_object(plan: &HashObject, out: &mut dyn Write) -> Result<Verdict, HashObjectError> {
    let mut out = BufWriter::new(out);
    let verdict = if plan.by_line {
        judge_lines(plan, &mut out)?
    } else {
        // At once: the parser borrows from it.
        let input = plan.input.read().map_err(|why| plan.unreadable(why))?;
        let verdict = plan.judge.one(&input, &mut out);
        verdict.map_err(HashObjectError::Write)?
    };
    out.flush().map_err(HashObjectError::Write)?;
    Ok(verdict)
}

fn judge_lines(plan: &HashObject, out: &mut dyn Write) -> Result<Verdict, HashObjectError> {
    let mut input = plan.input.open().map_err(|why| plan.unreadable(why))?;
    let mut line = Vec::new();
    loop {
        // Whoever sends a line and waits for its answer gets it before we wait for the next.
        if input.buffer().is_empty() {
            out.flush().map_err(HashObjectError::Write)?;
        }
        line.clear();
        match input.read_until(b'\n', &mut line) {
            Ok(0) => return Ok(Verdict::Accepted),
            Ok(_) => plan
                .judge
                .line(&line, out)
                .map_err(HashObjectError::Write)?,
            Err(source) => return Err(plan.unreadable(source)),
        };
    }
}

impl HashObject {
    fn unreadable(&self, source: io::Error) -> HashObjectError {
        HashObjectError::Read {
            input: self.input.clone(),
            source,
        }
    }
}

impl Input {
    fn open(&self) -> io::Result<BufReader<Box<dyn Read>>> {
        let input: Box<dyn Read> = match self {
            Self::Stdin => Box::new(io::stdin().lock()),
            Self::File(path) => Box::new(File::open(path)?),
        };
        Ok(BufReader::new(input))
    }

    pub(super) fn read(&self) -> io::Result<Vec<u8>> {
        match self {
            Self::Stdin => {
                let mut input = Vec::new();
                io::stdin().lock().read_to_end(&mut input)?;
                Ok(input)
            }
            Self::File(path) => fs::read(path),
        }
    }
}

impl fmt::Display for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdin => f.write_str("standard input"),
            Self::File(path) => write!(f, "{}", path.display()),
        }
    }
}
