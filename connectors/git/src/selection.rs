//! Which paths are enumerated, as far as the configuration says it.

use dpe_connector_files::Globs;

/// The globs of the configuration, and the folder they speak of.
#[derive(Clone, Debug)]
pub(crate) struct Selection {
    globs: Globs,
    hidden: bool,
    /// Path of the folder; empty for the whole tree.
    folder: Vec<u8>,
}

impl Selection {
    /// Selects by these globs, below this folder.
    pub(crate) fn new(globs: Globs, hidden: bool, folder: Vec<u8>) -> Self {
        Self {
            globs,
            hidden,
            folder,
        }
    }

    /// Returns the path of the folder that is enumerated; empty for the whole tree.
    pub(crate) fn folder(&self) -> &[u8] {
        &self.folder
    }

    /// Returns whether an enumeration goes on at `path`, relative to the folder. The folders above
    /// have been admitted already.
    pub(crate) fn admits(&self, path: &[u8], is_folder: bool) -> bool {
        (self.hidden || !is_hidden(path)) && self.globs.admit(path, is_folder)
    }

    /// Returns whether `path`, a folder, or one above it is included.
    pub(crate) fn includes(&self, path: &[u8]) -> bool {
        self.globs.include(path, true)
    }
}

fn is_hidden(path: &[u8]) -> bool {
    dpe_connector_files::file_name(path).starts_with(b".")
}
