//! The command `dpe state`.

use clap::Subcommand;

use crate::error::Error;
use crate::ops::state;
use crate::ui::state as ui;

use super::context::CommonArgs;
use super::exit::Exit;
use super::question::{Answer, ask};
use super::switch::switch;

/// Look after what is kept of sources on this machine
///
/// The state of a source says what was pushed of it. It is a cache: what the remote holds is on the
/// remote. When it is lost, the next push compares everything again.
#[derive(Debug, clap::Args)]
pub(super) struct StateArgs {
    #[command(subcommand)]
    command: StateCommand,
}

#[derive(Debug, Subcommand)]
enum StateCommand {
    /// List what is kept, and whether it can be read
    List,
    Reset(ResetArgs),
}

/// Set the state of a source aside, such as a damaged one
///
/// Nothing is deleted: the files are moved into a directory beside, whose name has the date. The next
/// push of the source compares everything with the remote. What is the same counts as unchanged and
/// is not sent again; what is on the remote and not in the source any more is named.
#[derive(Debug, clap::Args)]
struct ResetArgs {
    /// Folder, URL or prefix of the source
    #[arg(
        value_name = "SOURCE",
        required_unless_present_any = ["id", "registry"],
        conflicts_with_all = ["id", "registry"]
    )]
    source: Option<String>,

    /// Id of the state, as `dpe state list` shows it
    #[arg(long, value_name = "ID", conflicts_with = "registry")]
    id: Option<String>,

    /// Set aside the registry, which says what prefixes are whose
    #[arg(long)]
    registry: bool,

    /// Do not ask
    #[arg(short, long, env = "DPE_YES", value_parser = switch())]
    yes: bool,
}

impl StateArgs {
    /// Runs the command.
    pub(super) fn run(self, common: &CommonArgs) -> Result<Exit, Error> {
        match self.command {
            StateCommand::List => list(common),
            StateCommand::Reset(reset) => reset.run(common),
        }
    }
}

fn list(common: &CommonArgs) -> Result<Exit, Error> {
    let (voice, state_dir) = (common.voice(), common.state_dir()?);
    let inventory = state::inventory(&state_dir).map_err(state::UpkeepError::from)?;
    ui::inventory(voice, &inventory, &state_dir).map_err(Error::Output)?;
    let is_whole = |kept: &state::Kept| !matches!(kept.content, Some(Err(_)));
    let is_whole = inventory.registry.is_ok() && inventory.instances.iter().all(is_whole);
    Ok(if is_whole {
        Exit::Success
    } else {
        Exit::Partial
    })
}

impl ResetArgs {
    fn run(self, common: &CommonArgs) -> Result<Exit, Error> {
        let (voice, state_dir) = (common.voice(), common.state_dir()?);
        let (id, what) = match (self.id, self.source) {
            _ if self.registry => (None, "the registry".to_owned()),
            (Some(id), _) => (Some(id.clone()), format!("the state {id}")),
            (None, source) => {
                let found = state::find(&state_dir, &source.unwrap_or_default())?;
                let what = format!(
                    "the state of {} as {} on {}",
                    found.origin, found.uri_prefix, found.remote_url
                );
                (Some(found.id), what)
            }
        };
        if !self.yes {
            let question = format!(
                "Set aside {what}? The next push compares everything with the remote again."
            );
            match ask(voice, &question) {
                Answer::Yes => {}
                Answer::No => return Ok(Exit::Partial),
                Answer::NobodyToAsk => {
                    voice.warn(&format!("{what} would be set aside; give --yes to do it"));
                    return Ok(Exit::Usage);
                }
            }
        }
        let aside = match &id {
            Some(id) => state::reset(&state_dir, id)?,
            None => state::reset_registry(&state_dir)?,
        };
        ui::set_aside(voice, &what, id.as_deref(), &aside).map_err(Error::Output)?;
        Ok(Exit::Success)
    }
}
