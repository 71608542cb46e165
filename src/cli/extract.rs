//! The command `dpe extract`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::ops::extract::{self, Input};
use crate::ui::extracted;

use super::context::CommonArgs;
use super::exit::Exit;

/// Print what files become, without any remote
///
/// Each file becomes the document that a push would make of it: its pages and elements, drawn as a tree, or
/// with --json as one line for each file. Exits with 1 if a file gives no document; the others are
/// printed all the same.
#[derive(Debug, clap::Args)]
pub(super) struct ExtractArgs {
    /// Files to extract; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Name of what stands on standard input; its extension may say the format
    #[arg(long, env = "DPE_NAME", value_name = "NAME")]
    name: Option<OsString>,
}

impl ExtractArgs {
    /// Runs the command.
    pub(super) fn run(self, common: &CommonArgs) -> Result<Exit, Error> {
        let voice = common.voice();
        let stdin = self.files.iter().filter(|file| is_stdin(file));
        match stdin.count() {
            0 if self.name.is_some() => return Err(nothing_to_name()),
            0 | 1 => {}
            _ => return Err(Error::StdinTwice),
        }
        let extractor = extract::extractor().map_err(Error::Executable)?;
        let style = extracted::Style::of_stdout(voice.color);
        let mut exit = Exit::Success;
        for file in self.files {
            let input = if is_stdin(&file) {
                Input::Stdin(self.name.clone().unwrap_or_default())
            } else {
                Input::File(file)
            };
            let extracted = extract::extract(&extractor, &input);
            if extracted.made.is_err() {
                exit = Exit::Partial;
            }
            let line = match (&extracted.made, voice.json) {
                (_, true) => extracted::to_json(&extracted),
                (Ok(made), false) => extracted::to_text(&extracted.file, made, style),
                (Err(refused), false) => {
                    voice.warn(&extracted::refusal(&extracted.file, refused));
                    continue;
                }
            };
            if !voice.result(&line).map_err(Error::Output)? {
                break;
            }
        }
        Ok(exit)
    }
}

fn nothing_to_name() -> Error {
    Error::usage(
        "--name is for standard input, which is not read",
        "name `-` among the files, or leave --name out",
    )
}

fn is_stdin(file: &Path) -> bool {
    file == Path::new("-")
}
