//! The bundled connector for git repositories.
//!
//! It reads objects: the tree of a commit, whose files become documents, or the commits themselves.
//! What has changed since the last round is what differs between two trees. The work tree, the index,
//! hooks and filters do not exist for it. What the bytes of a file mean is dpe-extract's. It knows no
//! hash contract and no remote.

mod beside;
mod blob;
mod cache;
mod command;
mod config;
mod connector;
mod cursor;
mod files;
mod head;
mod held;
mod history;
mod kinship;
mod place;
mod renames;
mod repository;
mod rules;
mod said;
mod secrets;
mod selection;
mod similarity;
mod since;
mod skipped;
mod tree;

use std::io::{Read, Write};

use dpe_connector::serve;
use dpe_connector_files::Program;

pub use connector::Git;
pub use place::{Place, Url};
pub use secrets::without_credentials;

/// Name of the connector, as in the manifest.
pub const NAME: &str = "git";

/// Version of the connector, as in the manifest. It changes whenever the same repository would give
/// other content: with this crate's own rules (before the `+`) and with the mapping of
/// dpe-extract (behind it).
pub const VERSION: &str = "1.2.0+extract.4";

/// The manifest, `dpe-connector.json`.
pub const MANIFEST: &str = include_str!("../dpe-connector.json");

/// Serves the connector on the given streams and returns the exit code of the process. It extracts all
/// files itself.
pub fn main(
    stdin: impl Read + Send + 'static,
    stdout: impl Write,
    stderr: impl Write + Send + 'static,
) -> u8 {
    serve_connector(Git::new(Box::new(stderr), None), stdin, stdout)
}

/// Serves the connector like [`main`], with processes of `worker` for files that are better not extracted
/// in this one.
pub fn main_with(
    worker: Program,
    stdin: impl Read + Send + 'static,
    stdout: impl Write,
    stderr: impl Write + Send + 'static,
) -> u8 {
    serve_connector(Git::new(Box::new(stderr), Some(worker)), stdin, stdout)
}

fn serve_connector(
    mut connector: Git,
    stdin: impl Read + Send + 'static,
    stdout: impl Write,
) -> u8 {
    // Only a broken stdout fails, and then nobody is listening any more.
    match serve(&mut connector, stdin, stdout) {
        Ok(_) => 0,
        Err(_) => 1,
    }
}

#[cfg(test)]
mod tests {
    use dpe_connector::manifest::Manifest;

    use super::*;

    #[test]
    fn the_manifest_says_the_same_as_the_connector() {
        let manifest = Manifest::parse(MANIFEST).unwrap();
        assert_eq!(manifest.name, NAME);
        assert_eq!(manifest.version, VERSION);
        assert_eq!(
            manifest.protocol_versions,
            [dpe_connector::PROTOCOL_VERSION]
        );
    }

    #[test]
    fn the_version_changes_with_the_mapping_of_the_extraction() {
        let (_, mapping) = VERSION.split_once("+extract.").unwrap();
        assert_eq!(mapping, dpe_extract::VERSION);
    }
}
