//! The bundled connector for a folder of files.
//!
//! One file becomes one document. A round after no change costs one stat per file; what changed
//! is told apart with the listing of the round before, which travels in the cursor. This crate
//! knows files and their times; what their bytes mean is dpe-extract's, and nothing of the file
//! system enters any content. It knows no hash contract and no remote.

mod beside;
mod block;
mod config;
mod connector;
mod cursor;
mod diff;
mod door;
mod examine;
mod folders;
mod formats;
mod git;
mod gone;
mod ground;
mod held;
mod listing;
mod named;
mod read;
mod renames;
mod root;
mod round;
mod rules;
mod stat;
mod verdict;
mod walk;
mod written;

use std::io::{Read, Write};

use dpe_connector::serve;
use dpe_connector_files::Program;

pub use connector::Fs;
pub use verdict::{Judge, Verdict};

/// Name of the connector, as in the manifest.
pub const NAME: &str = "fs";

/// Version of the connector, as in the manifest. It changes whenever the same files would give
/// other content: with this crate's own rules (before the `+`) and with the mapping of
/// dpe-extract (behind it).
pub const VERSION: &str = "1.3.0+extract.4";

/// The manifest, `dpe-connector.json`.
pub const MANIFEST: &str = include_str!("../dpe-connector.json");

/// Serves the connector on the given streams and returns the exit code of the process. It extracts all
/// files itself.
pub fn main(
    stdin: impl Read + Send + 'static,
    stdout: impl Write,
    stderr: impl Write + Send + 'static,
) -> u8 {
    serve_connector(Fs::new(Box::new(stderr), None), stdin, stdout)
}

/// Serves the connector like [`main`], with processes of `worker` for files that are better not extracted
/// in this one.
pub fn main_with(
    worker: Program,
    stdin: impl Read + Send + 'static,
    stdout: impl Write,
    stderr: impl Write + Send + 'static,
) -> u8 {
    serve_connector(Fs::new(Box::new(stderr), Some(worker)), stdin, stdout)
}

fn serve_connector(mut connector: Fs, stdin: impl Read + Send + 'static, stdout: impl Write) -> u8 {
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
