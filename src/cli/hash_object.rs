//! The command `dpe hash-object`.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::ValueEnum;
use miette::Diagnostic;
use thiserror::Error;

use crate::ops::hash_object::{Judge, Kind, Verdict};

use super::switch::switch;

/// Validate and hash objects given as JSON
///
/// Prints one JSON object per input: the hash, or the code and the path of the first violation.
#[derive(Debug, clap::Args)]
pub struct HashObject {
    /// What the input is
    #[arg(long, env = "DPE_KIND", value_enum)]
    kind: KindName,
    /// Hash contract to compute under
    #[arg(
        long,
        env = "DPE_CONTRACT",
        value_name = "NAME",
        default_value = "dpe1"
    )]
    contract: String,
    /// Take every line as one input and answer each with one line
    #[arg(long, env = "DPE_NDJSON", value_parser = switch())]
    ndjson: bool,
    /// File to read; `-` is standard input. For uri and file-type it holds the plain text or a JSON
    /// string; with --ndjson every line is JSON
    #[arg(default_value = "-")]
    file: PathBuf,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum KindName {
    Element,
    Page,
    Document,
    Expanded,
    Uri,
    FileType,
    Jcs,
}

/// Why `dpe hash-object` could not go on.
#[derive(Debug, Error, Diagnostic)]
pub enum HashObjectError {
    /// The input could not be read.
    #[error("cannot read {}", path.display())]
    #[diagnostic(
        code(dpe::cli::hash_object::read),
        help("give a readable file, or `-` to read standard input")
    )]
    Read {
        /// The file, or `-`.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The result could not be written.
    #[error("cannot write the result")]
    #[diagnostic(
        code(dpe::cli::hash_object::write),
        help("check where standard output goes")
    )]
    Write(#[source] io::Error),
}

impl HashObject {
    /// Runs the command. The exit code is 1 for a rejected input, except with `--ndjson`.
    ///
    /// # Errors
    /// [`HashObjectError`] if the input cannot be read or the result not be written.
    pub fn run(self, out: &mut dyn Write) -> Result<ExitCode, HashObjectError> {
        let judge = Judge::new(self.kind.into(), &self.contract);
        let mut out = BufWriter::new(out);
        let verdict = if self.ndjson {
            let input = self.open()?;
            self.lines(judge, input, &mut out)?
        } else {
            let input = self.read()?;
            judge
                .one(&input, &mut out)
                .map_err(HashObjectError::Write)?
        };
        out.flush().map_err(HashObjectError::Write)?;
        Ok(match verdict {
            Verdict::Accepted => ExitCode::SUCCESS,
            Verdict::Rejected(_) => ExitCode::from(1),
        })
    }

    fn lines(
        &self,
        judge: Judge,
        mut input: BufReader<Box<dyn Read>>,
        out: &mut dyn Write,
    ) -> Result<Verdict, HashObjectError> {
        let mut line = Vec::new();
        loop {
            // Whoever sends a line and waits for its answer gets it before we wait for the next.
            if input.buffer().is_empty() {
                out.flush().map_err(HashObjectError::Write)?;
            }
            line.clear();
            match input.read_until(b'\n', &mut line) {
                Ok(0) => return Ok(Verdict::Accepted),
                Ok(_) => judge.line(&line, out).map_err(HashObjectError::Write)?,
                Err(source) => return Err(self.unreadable(source)),
            };
        }
    }

    fn open(&self) -> Result<BufReader<Box<dyn Read>>, HashObjectError> {
        let input: Box<dyn Read> = if self.file == Path::new("-") {
            Box::new(io::stdin().lock())
        } else {
            Box::new(File::open(&self.file).map_err(|source| self.unreadable(source))?)
        };
        Ok(BufReader::new(input))
    }

    /// Reads everything at once: the parser borrows from it.
    fn read(&self) -> Result<Vec<u8>, HashObjectError> {
        let read = if self.file == Path::new("-") {
            let mut input = Vec::new();
            io::stdin().lock().read_to_end(&mut input).map(|_| input)
        } else {
            fs::read(&self.file)
        };
        read.map_err(|source| self.unreadable(source))
    }

    fn unreadable(&self, source: io::Error) -> HashObjectError {
        let path = self.file.clone();
        HashObjectError::Read { path, source }
    }
}

impl From<KindName> for Kind {
    fn from(name: KindName) -> Self {
        match name {
            KindName::Element => Self::Element,
            KindName::Page => Self::Page,
            KindName::Document => Self::Document,
            KindName::Expanded => Self::Expanded,
            KindName::Uri => Self::Uri,
            KindName::FileType => Self::FileType,
            KindName::Jcs => Self::Jcs,
        }
    }
}
