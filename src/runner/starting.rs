//! Where a round starts: from the stored cursor, or from nothing.

use crate::state;
use crate::sync::event::Event;
use crate::sync::failure::Failure;
use crate::sync::ports::{Remote, Source};

use super::landing::state_failure;
use super::round::{Round, Scope};

/// So many confirmed documents are looked up to notice a remote that was reset.
const RESET_SAMPLE: u32 = 32;

/// Returns the stored cursor, unless it is of no use: the plugin takes none, the round is not
/// about the whole source, or the remote has lost what the cursor stands for.
pub(super) async fn starting_cursor<R: Remote, S: Source>(
    round: &mut Round<'_, R, S>,
) -> Result<Option<String>, Failure> {
    if remote_was_reset(round.remote, round.state).await? {
        round.observer.event(Event::Warning(
            "the remote holds none of the documents pushed before: everything is pushed again",
        ));
        round.state.start_over().map_err(state_failure)?;
    }
    if round.settings.scope == Scope::Named || !round.source.identity().supports_cursor {
        return Ok(None);
    }
    round.state.cursor().map_err(state_failure)
}

async fn remote_was_reset<R: Remote>(remote: &R, state: &state::Instance) -> Result<bool, Failure> {
    let mut sample = state.sample(RESET_SAMPLE).map_err(state_failure)?;
    let mut undecided = Ok(());
    sample.retain(|uri| match state.pending(uri) {
        Ok(pending) => pending.intent.is_none(),
        Err(error) => {
            undecided = Err(state_failure(error));
            false
        }
    });
    undecided?;
    if sample.is_empty() {
        return Ok(false);
    }
    let heads = remote.heads(&sample).await.map_err(|error| error.failure)?;
    Ok(heads.iter().all(Option::is_none))
}
