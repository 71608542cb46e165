//! The command `dpe man`.

use std::fs;
use std::path::PathBuf;

use clap_mangen::Man;

use crate::error::Error;

use super::context::CommonArgs;
use super::definition;
use super::exit::Exit;

/// Print the manual page, or write one for each command
///
/// Without DIR the page of dpe itself goes to standard output, for `dpe man | man -l -`. With it, pages for
/// dpe and all of its commands are written there, such as dpe-push.1.
#[derive(Debug, clap::Args)]
pub(super) struct ManArgs {
    /// Where to write all pages; it is made if it is not there
    #[arg(value_name = "DIR")]
    pages: Option<PathBuf>,
}

impl ManArgs {
    /// Runs the command.
    pub(super) fn run(self, common: &CommonArgs) -> Result<Exit, Error> {
        let command = definition::command();
        let Some(path) = self.pages else {
            let mut page = Vec::new();
            Man::new(command).render(&mut page).map_err(Error::Output)?;
            let page = String::from_utf8_lossy(&page);
            let written = common.voice().result(page.trim_end());
            written.map_err(Error::Output)?;
            return Ok(Exit::Success);
        };
        let written =
            fs::create_dir_all(&path).and_then(|()| clap_mangen::generate_to(command, &path));
        written.map_err(|source| Error::Manual { path, source })?;
        Ok(Exit::Success)
    }
}
