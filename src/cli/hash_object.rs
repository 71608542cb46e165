//! The command `dpe hash-object`.

use std::io;
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::error::Error;
use crate::ops::hash_object::{self, HashObject, HashObjectError, Input, Judge, Kind, Verdict};

use super::exit::Exit;
use super::switch::switch;

/// Validate and hash objects given as JSON
///
/// Prints one JSON object per input: the hash, or the code and the path of the first violation.
#[derive(Debug, clap::Args)]
pub(super) struct HashObjectArgs {
    /// What the input is
    #[arg(long, env = "DPE_KIND", value_parser = kind())]
    kind: Kind,
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

impl HashObjectArgs {
    /// Runs the command. A rejected input is the answer no, except with `--ndjson`.
    pub(super) fn run(self) -> Result<Exit, Error> {
        let plan = HashObject {
            judge: Judge::new(self.kind, &self.contract),
            input: if self.file == Path::new("-") {
                Input::Stdin
            } else {
                Input::File(self.file)
            },
            by_line: self.ndjson,
        };
        match hash_object::hash_object(&plan, &mut io::stdout().lock()) {
            Ok(Verdict::Accepted) => Ok(Exit::Success),
            Ok(Verdict::Rejected(_)) => Ok(Exit::Partial),
            // Nobody reads any more.
            Err(HashObjectError::Write(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
                Ok(Exit::Success)
            }
            Err(error) => Err(error.into()),
        }
    }
}

fn kind() -> impl TypedValueParser<Value = Kind> {
    PossibleValuesParser::new(Kind::ALL.map(Kind::name)).try_map(|name| name.parse::<Kind>())
}
