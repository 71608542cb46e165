//! The remotes of a call: each is opened once, by the first source that needs it.

use crate::config::Remote;
use crate::ops::remote::{self, OpenRemote, RemoteError};
use crate::runner::Traffic;
use crate::server::{OpenMode, StoreError};

/// Remotes that were opened.
#[derive(Debug, Default)]
pub struct Remotes {
    opened: Vec<(Remote, OpenRemote)>,
}

impl Remotes {
    /// Returns the remote; a store that does not exist is created.
    ///
    /// # Errors
    ///
    /// [`RemoteError`].
    pub async fn open(&mut self, wanted: &Remote) -> Result<&OpenRemote, RemoteError> {
        self.opened(wanted, OpenMode::Create).await
    }

    /// Returns the remote for reading; nothing for a store that does not exist, and is left so.
    ///
    /// # Errors
    ///
    /// [`RemoteError`].
    pub async fn look(&mut self, wanted: &Remote) -> Result<Option<&OpenRemote>, RemoteError> {
        match self.opened(wanted, OpenMode::ReadOnly).await {
            Ok(opened) => Ok(Some(opened)),
            Err(RemoteError::Store(StoreError::Missing { .. })) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns what went to the remote so far.
    pub fn traffic(&self, remote: &Remote) -> Traffic {
        self.position(remote)
            .map(|index| self.opened[index].1.client.transport().traffic())
            .unwrap_or_default()
    }

    async fn opened(
        &mut self,
        wanted: &Remote,
        mode: OpenMode,
    ) -> Result<&OpenRemote, RemoteError> {
        let index = match self.position(wanted) {
            Some(index) => index,
            None => {
                let opened = remote::open(wanted, mode).await?;
                self.opened.push((wanted.clone(), opened));
                self.opened.len() - 1
            }
        };
        Ok(&self.opened[index].1)
    }

    fn position(&self, wanted: &Remote) -> Option<usize> {
        self.opened.iter().position(|(known, _)| known == wanted)
    }
}
