//! Waves: operations that may run at once because they touch different documents
//! (connector contract §18).

use std::collections::HashSet;

use crate::model::{FileUri, Tree};

use super::blobs::Blobs;

/// One change that a source asked for.
#[derive(Debug)]
pub enum Operation {
    /// Make this the content of the document.
    Commit {
        /// Which document.
        uri: FileUri,
        /// Its content.
        tree: Box<Tree>,
        /// The bytes of its blobs.
        blobs: Blobs,
    },
    /// Remove the document.
    Delete {
        /// Which document.
        uri: FileUri,
    },
    /// Rename the document.
    Move {
        /// Where it is.
        from: FileUri,
        /// Where it should be.
        to: FileUri,
    },
}

impl Operation {
    /// Returns the documents it touches: one, or both sides of a move.
    pub fn uris(&self) -> impl Iterator<Item = &FileUri> {
        let (first, second) = match self {
            Self::Commit { uri, .. } | Self::Delete { uri } => (uri, None),
            Self::Move { from, to } => (from, Some(to)),
        };
        std::iter::once(first).chain(second)
    }
}

/// Cuts operations, in stream order, into waves of pairwise distinct documents.
pub fn waves(operations: impl IntoIterator<Item = Operation>) -> Vec<Vec<Operation>> {
    let mut waves = Vec::new();
    let mut wave = Vec::new();
    let mut touched = HashSet::new();
    for operation in operations {
        if operation.uris().any(|uri| touched.contains(uri)) {
            waves.push(std::mem::take(&mut wave));
            touched.clear();
        }
        touched.extend(operation.uris().cloned());
        wave.push(operation);
    }
    if !wave.is_empty() {
        waves.push(wave);
    }
    waves
}

#[cfg(test)]
mod tests {
    use super::{Operation, waves};
    use crate::model::FileUri;

    fn uri(name: &str) -> FileUri {
        FileUri::parse(&format!("t://{name}")).unwrap()
    }

    fn rename(from: &str, to: &str) -> Operation {
        Operation::Move {
            from: uri(from),
            to: uri(to),
        }
    }

    fn delete(name: &str) -> Operation {
        Operation::Delete { uri: uri(name) }
    }

    fn sizes(operations: Vec<Operation>) -> Vec<usize> {
        waves(operations).iter().map(Vec::len).collect()
    }

    #[test]
    fn distinct_documents_share_a_wave() {
        assert_eq!(sizes(vec![delete("a"), rename("b", "c"), delete("d")]), [3]);
    }

    #[test]
    fn chained_moves_run_one_after_the_other() {
        assert_eq!(
            sizes(vec![rename("a", "b"), rename("b", "c"), delete("a")]),
            [1, 2]
        );
    }

    #[test]
    fn nothing_gives_no_wave() {
        assert!(sizes(vec![]).is_empty());
    }
}
