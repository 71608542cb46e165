//! What the deliveries of a client left in staging sessions, for the next attempt of the same
//! document. It knows nothing of what is in a session; without one the attempt uploads again.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::model::FileUri;

/// Most sessions that are kept. Each names what was uploaded to it.
const KEPT: usize = 256;

/// Sessions by document, the oldest first.
#[derive(Debug)]
pub(super) struct Sessions<S>(Mutex<VecDeque<(FileUri, S)>>);

impl<S> Default for Sessions<S> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<S> Sessions<S> {
    /// Keeps the session of a document; too many push out the oldest, which is the first to expire.
    pub(super) fn keep(&self, uri: &FileUri, session: S) {
        let mut kept = self.lock();
        kept.retain(|(known, _)| known != uri);
        if kept.len() == KEPT {
            kept.pop_front();
        }
        kept.push_back((uri.clone(), session));
    }

    /// Returns the session of a document, which is then no longer kept.
    pub(super) fn take(&self, uri: &FileUri) -> Option<S> {
        let mut kept = self.lock();
        let at = kept.iter().position(|(known, _)| known == uri)?;
        kept.remove(at).map(|(_, session)| session)
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(FileUri, S)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::{KEPT, Sessions};
    use crate::model::FileUri;

    fn uri(number: usize) -> FileUri {
        FileUri::parse(&format!("t://{number}")).unwrap()
    }

    #[test]
    fn the_oldest_session_makes_room_for_a_new_one() {
        let sessions = Sessions::default();
        for number in 0..KEPT {
            sessions.keep(&uri(number), number);
        }
        // The first is the newest again.
        sessions.keep(&uri(0), KEPT);
        sessions.keep(&uri(KEPT), KEPT + 1);
        assert_eq!(sessions.take(&uri(1)), None);
        assert_eq!(sessions.take(&uri(0)), Some(KEPT));
        assert_eq!(sessions.take(&uri(0)), None);
        assert_eq!(sessions.take(&uri(2)), Some(2));
        assert_eq!(sessions.take(&uri(KEPT)), Some(KEPT + 1));
    }
}
