//! The command `dpe completions`.

use clap_complete::Shell;

use crate::error::Error;

use super::context::CommonArgs;
use super::definition;
use super::exit::Exit;

/// Print completions for a shell
///
/// For bash: `dpe completions bash > ~/.local/share/bash-completion/completions/dpe`. For fish: `dpe completions
/// fish > ~/.config/fish/completions/dpe.fish`. For zsh, into a directory of $fpath: `dpe completions zsh >
/// DIRECTORY/_dpe`.
#[derive(Debug, clap::Args)]
pub(super) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

impl CompletionsArgs {
    /// Runs the command.
    pub(super) fn run(self, common: &CommonArgs) -> Result<Exit, Error> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut definition::command(), "dpe", &mut script);
        let script = String::from_utf8_lossy(&script);
        let written = common.voice().result(script.trim_end());
        written.map_err(Error::Output)?;
        Ok(Exit::Success)
    }
}
