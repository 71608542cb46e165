//! The command `dpe check-ignore`.

use std::ffi::OsString;
use std::io::{self, Read};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::ops::check_ignore::Checker;
use crate::ui::ignored::{Form, tell};

use super::context::CommonArgs;
use super::exit::Exit;
use super::switch::switch;

/// Say which paths a push leaves out, and by which rule of which file
///
/// Names each PATH that a push of the folder leaves out. With -v the rule stands before it, as in
/// `git check-ignore -v`: FILE:LINE:PATTERN, a tab, and the path. What no ignore file leaves out has its reason
/// in place of the file: <hidden>, <git>, <link>, <special>, <exclude> or <include>. The rules are those of a push
/// of folders; a file that is named to `dpe push` is pushed whatever they say.
///
/// Exit code 0: some PATH is left out; 1: none is; 3: it cannot be told.
#[derive(Debug, clap::Args)]
pub(super) struct CheckIgnoreArgs {
    /// Paths to ask about; they need not exist
    #[arg(
        value_name = "PATH",
        required_unless_present = "stdin",
        conflicts_with = "stdin"
    )]
    paths: Vec<PathBuf>,

    /// The folder that is pushed [default: the working directory]
    #[arg(long, value_name = "DIR")]
    source: Option<PathBuf>,

    /// Read paths from standard input, one a line, or with -z each ended by NUL
    #[arg(long)]
    stdin: bool,

    /// Also name paths that are not left out; with -v
    #[arg(short, long, value_parser = switch())]
    non_matching: bool,

    /// End fields and lines with NUL, and write names as they are
    #[arg(short = 'z', value_parser = switch())]
    zero: bool,
}

impl CheckIgnoreArgs {
    /// Runs the command.
    pub(super) fn run(self, common: &CommonArgs) -> Result<Exit, Error> {
        let voice = common.voice();
        let checker = Checker::of(self.source.as_deref().unwrap_or(Path::new(".")))?;
        for note in &checker.notes {
            voice.warn(note);
        }
        let form = Form {
            verbose: voice.verbose > 0,
            non_matching: self.non_matching,
            zero: self.zero,
        };
        let paths = match self.stdin {
            true => from_stdin(self.zero).map_err(Error::Input)?,
            false => self.paths,
        };
        let (mut exit, mut broken) = (Exit::Partial, false);
        for path in &paths {
            match checker.check(path) {
                Ok(verdict) => {
                    if verdict.leaves_out() {
                        exit = Exit::Success;
                    }
                    tell(voice, form, path, &verdict).map_err(Error::Output)?;
                }
                Err(error) => {
                    voice.failure(&error);
                    broken = true;
                }
            }
        }
        Ok(if broken { Exit::Instance } else { exit })
    }
}

fn from_stdin(zero: bool) -> io::Result<Vec<PathBuf>> {
    let mut text = Vec::new();
    io::stdin().lock().read_to_end(&mut text)?;
    let end = if zero { b'\0' } else { b'\n' };
    let paths = text
        .split(|byte| *byte == end)
        .filter(|path| !path.is_empty());
    Ok(paths
        .map(|path| OsString::from_vec(path.to_vec()).into())
        .collect())
}
