//! A temporary folder, and the connector on it.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use dpe_connector_testing::{Plugin, Remote};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A folder whose files are old enough to be believed.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let folder = Self::new();
        for (path, text) in files {
            folder.write(path, text);
        }
        folder
    }

    pub(crate) fn root(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn path(&self, path: impl AsRef<[u8]>) -> PathBuf {
        self.root().join(std::ffi::OsStr::from_bytes(path.as_ref()))
    }

    pub(crate) fn write(&self, path: impl AsRef<[u8]>, text: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn rename(&self, from: &str, to: &str) {
        fs::create_dir_all(self.path(to).parent().unwrap()).unwrap();
        fs::rename(self.path(from), self.path(to)).unwrap();
    }

    pub(crate) fn remove(&self, path: &str) {
        fs::remove_file(self.path(path)).unwrap();
    }

    /// Sets the mtime an hour back. The ctime stays what it is.
    pub(crate) fn touch(&self, path: &str) {
        let hour_ago = SystemTime::now() - Duration::from_secs(3600);
        let file = fs::File::options().write(true).open(self.path(path));
        file.unwrap().set_modified(hour_ago).unwrap();
    }
}

/// Starts the connector on `root` with `config` besides.
pub(crate) fn connector(root: &Path, config: Value) -> Plugin {
    connector_limited(root, config, 32 << 20)
}

/// Starts the connector with messages of at most so many bytes.
pub(crate) fn connector_limited(root: &Path, mut config: Value, max_message_bytes: u64) -> Plugin {
    config["root"] = json!(root);
    Plugin::start_limited(dpe_connector_fs::main, &config, max_message_bytes)
}

/// Returns what a full round of a new connector gives.
pub(crate) fn enumerated(root: &Path, config: Value) -> Remote {
    let mut remote = Remote::new();
    connector(root, config).scan(None).land(&mut remote);
    remote
}
