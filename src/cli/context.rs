//! The flags that every command shares, turned into values once.

use std::path::PathBuf;

use crate::config::{Places, RemoteLocation};
use crate::error::Error;
use crate::ui::Voice;

use super::switch::switch;

/// Flags common to all commands.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Common options")]
pub(super) struct CommonArgs {
    /// Run as if started in DIR
    #[arg(short = 'C', value_name = "DIR", global = true)]
    pub(super) directory: Option<PathBuf>,

    /// Remote to work on: the directory of an embedded remote [default: that of the user]
    #[arg(long, env = "DPE_REMOTE", value_name = "PATH", global = true)]
    pub(super) remote: Option<String>,

    /// Where the state of pushes is kept [default: that of the user]
    #[arg(long, env = "DPE_STATE_DIR", value_name = "DIR", global = true)]
    pub(super) state_dir: Option<PathBuf>,

    /// Print results as JSON on stdout
    #[arg(long, env = "DPE_JSON", global = true, value_parser = switch())]
    pub(super) json: bool,

    /// Say nothing when all is well
    #[arg(short, long, env = "DPE_QUIET", global = true, value_parser = switch())]
    pub(super) quiet: bool,

    /// Say what happens to each document
    #[arg(short, long, env = "DPE_VERBOSE", action = clap::ArgAction::Count, global = true)]
    pub(super) verbose: u8,
}

impl CommonArgs {
    /// Returns how to speak.
    pub(super) fn voice(&self) -> Voice {
        Voice {
            json: self.json,
            quiet: self.quiet,
            verbose: self.verbose,
        }
    }

    /// Returns where the remote is.
    ///
    /// # Errors
    ///
    /// When it is not given and the user has no home, or what is given is no location.
    pub(super) fn remote(&self) -> Result<RemoteLocation, Error> {
        match &self.remote {
            Some(text) => Ok(RemoteLocation::parse(text)?),
            None => Ok(RemoteLocation::Store(Places::default_store()?)),
        }
    }

    /// Returns where state is kept.
    ///
    /// # Errors
    ///
    /// When it is not given and the user has no home.
    pub(super) fn state_dir(&self) -> Result<PathBuf, Error> {
        match &self.state_dir {
            Some(path) => Ok(path.clone()),
            None => Ok(Places::default_state()?),
        }
    }
}
