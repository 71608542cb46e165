//! The command `dpe init`.

use crate::config::RemoteLocation;
use crate::error::Error;
use crate::ops::config::{self, Init};

use super::context::CommonArgs;
use super::exit::Exit;
use super::switch::switch;

/// Write a dpe.toml for this directory, with one remote and one source
///
/// Nothing that is there is written over. Folders that others have made, such as node_modules, are
/// left out by a .dpeignore if nothing else does so.
#[derive(Debug, clap::Args)]
pub(super) struct InitArgs {
    /// URI prefix of the documents [default: that of the repository's or the directory's name]
    #[arg(long, env = "DPE_PREFIX", value_name = "URI")]
    prefix: Option<String>,

    /// What reads the source: fs for folders, git for what is committed [default: fs]
    #[arg(long, env = "DPE_CONNECTOR", value_name = "fs|git", value_parser = ["fs", "git"], hide_possible_values = true)]
    connector: Option<String>,

    /// Show what would be written, and write nothing
    #[arg(short = 'n', long, env = "DPE_DRY_RUN", value_parser = switch())]
    dry_run: bool,
}

impl InitArgs {
    /// Runs the command.
    pub(super) fn run(self, common: &CommonArgs) -> Result<Exit, Error> {
        let voice = common.voice();
        let location = common.remote.as_deref().map(RemoteLocation::parse);
        let init = Init {
            remote: location.transpose()?,
            prefix: self.prefix,
            connector: self.connector,
        };
        let proposal = config::propose(&common.here()?, &init)?;
        if !self.dry_run {
            proposal.write()?;
        }
        for (path, text) in &proposal.files {
            let verb = if self.dry_run { "would write" } else { "wrote" };
            voice.say(&format!("{verb} {}:\n", path.display()));
            for line in text.lines() {
                voice.say(format!("    {line}").trim_end());
            }
            voice.say("");
        }
        voice.say("`dpe push -n` shows what a push would do; `dpe push` does it");
        Ok(Exit::Success)
    }
}
