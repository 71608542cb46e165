//! Where a round starts: from the stored cursor, or from nothing.

use crate::model::{FileUri, Hash};
use crate::state::Pending;
use crate::sync::event::Event;
use crate::sync::failure::{Failure, Level};
use crate::sync::ports::{Remote, Source, WriteError};

use super::heads;
use super::landing::state_failure;
use super::round::{Profile, Round, Scope};

/// So many confirmed documents are looked up to notice a remote that was reset.
const RESET_SAMPLE: u32 = 32;

impl<R: Remote, S: Source> Round<'_, R, S> {
    /// Returns the stored cursor, unless it is of no use: the plugin takes none, the round is not
    /// about the whole source, or the remote has lost what the cursor stands for.
    pub(super) async fn starting_cursor(&mut self) -> Result<Option<String>, Failure> {
        if self.remote_was_reset().await? {
            self.observer.event(Event::Warning(
                "the remote holds none of the documents pushed before: everything is pushed again",
            ));
            self.state.start_over().map_err(state_failure)?;
        }
        if self.settings.scope == Scope::Named || !self.source.identity().supports_cursor {
            return Ok(None);
        }
        self.state.cursor().map_err(state_failure)
    }

    /// Single foreign deletions are no reset: nothing at all may be left below the prefix.
    async fn remote_was_reset(&self) -> Result<bool, Failure> {
        // The contract has no such thing: there, each of these documents is a conflict.
        if self.settings.profile == Profile::Contract {
            return Ok(false);
        }
        let sample = self.state.sample(RESET_SAMPLE).map_err(state_failure)?;
        if sample.is_empty() {
            return Ok(false);
        }
        let read = async {
            let heads = self.remote.heads(&sample).await?;
            if heads.iter().any(Option::is_some) {
                return Ok((false, heads));
            }
            let is_empty = self.remote.is_empty(&self.instance.uri_prefix).await?;
            Ok::<_, WriteError>((is_empty, heads))
        };
        match read.await {
            Ok((true, _)) => Ok(true),
            Ok((false, heads)) => {
                self.warn_of_foreign_writes(&sample, &heads)?;
                Ok(false)
            }
            // A remote that does not let all of this be read has not lost it.
            Err(error) if error.failure.level == Level::Item => {
                self.check_that_something_is_read(&sample).await?;
                Ok(false)
            }
            Err(error) => Err(error.failure),
        }
    }

    /// An incremental round looks at nothing that the source does not mention, and would end well although the
    /// remote holds something else. The sample may show it, and then the person hears of it.
    fn warn_of_foreign_writes(
        &self,
        sample: &[FileUri],
        heads: &[Option<Hash>],
    ) -> Result<(), Failure> {
        for (uri, head) in sample.iter().zip(heads) {
            let Pending { confirmed, intent } = self.state.pending(uri).map_err(state_failure)?;
            if confirmed != *head && intent.is_none() {
                self.observer.event(Event::Warning(&format!(
                    "somebody else has changed or deleted documents that this source had pushed, such as {uri}; they \
                     stay so until their files change, or are pushed by their names. `dpe status` lists them"
                )));
                break;
            }
        }
        Ok(())
    }

    /// Who may read nothing of what was pushed before most likely has another credential by now.
    /// The contract is content as long as there is nothing to write; a person would take the
    /// success of such a round for a promise.
    async fn check_that_something_is_read(&self, sample: &[FileUri]) -> Result<(), Failure> {
        let heads = heads::read(self.remote, sample, self.observer).await?;
        let mut denied = Vec::new();
        for head in heads {
            match head {
                Ok(_) => return Ok(()),
                Err(failure) => denied.push(failure),
            }
        }
        let first = denied.into_iter().next();
        first.map_or(Ok(()), |failure| {
            let message = "the remote lets this caller read none of the documents pushed before";
            Err(Failure {
                level: Level::Instance,
                message: format!("{message}: {}", failure.message),
                ..failure
            })
        })
    }
}
