//! What a staging session holds.

use crate::model::{BlobRef, Hash};
use crate::protocol::routes;

/// An object of a staging session, by the name it is uploaded under (http-binding §2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Staged {
    /// A page object, by its page_hash.
    Page(Hash),
    /// An element object, by its content_hash.
    Element(Hash),
    /// The bytes of a blob.
    Blob(BlobRef),
}

impl Staged {
    /// Returns the target of this object in a session.
    pub fn target(&self, session: &str) -> String {
        match self {
            Self::Page(hash) => routes::staged(session, routes::PAGES, &hash.to_string()),
            Self::Element(hash) => routes::staged(session, routes::OBJECTS, &hash.to_string()),
            Self::Blob(blob) => routes::staged(session, routes::BLOBS, &blob.to_string()),
        }
    }
}
