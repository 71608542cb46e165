//! What a client knows of a staging session.

use std::collections::HashSet;
use std::sync::Arc;

use crate::model::Hash;
use crate::protocol::Staged;

/// A staging session and what was supplied with it. Whatever else ended a delivery, the session
/// remains: a refused commit does not consume it, so the next one may use it under another
/// precondition (core §3.4), and an upload that was cut goes on where it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Its id.
    pub(super) id: Arc<str>,
    /// What it has received in full.
    pub(super) staged: HashSet<Staged>,
    /// What it may have received in part.
    pub(super) begun: HashSet<Staged>,
    /// What it was going to receive when the delivery failed.
    pub(super) wanted: HashSet<Staged>,
    /// Pages and elements that have to be inline in a commit.
    pub(super) inline: HashSet<Hash>,
}

impl Session {
    /// Returns a session in which nothing is known to be.
    pub(super) fn new(id: String) -> Self {
        Self {
            id: id.into(),
            staged: HashSet::new(),
            begun: HashSet::new(),
            wanted: HashSet::new(),
            inline: HashSet::new(),
        }
    }
}
