//! Which connectors there are, and where.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use dpe_connector::manifest::Manifest;

use crate::host::{bundled, bundled_connectors, read_manifest};
use crate::ops::causes::with_causes;

use super::error::ConnectorError;

/// Name of the file beside a plugin (connector contract §4.1).
const MANIFEST: &str = "dpe-connector.json";

/// A connector that was found.
#[derive(Debug)]
pub struct Listed {
    /// Path of its manifest; nothing for one that is part of this program.
    pub manifest_path: Option<PathBuf>,
    /// Its manifest, or why that is none.
    pub manifest: Result<Manifest, String>,
}

/// Returns the bundled connectors and those whose manifest is in one of the directories or right
/// below it, in this order. A directory that cannot be read holds none; see [`readable`].
pub fn list(directories: &[PathBuf]) -> Vec<Listed> {
    let ours = bundled_connectors().map(|bundled| Listed {
        manifest_path: None,
        manifest: Ok(bundled.manifest),
    });
    let theirs = directories
        .iter()
        .flat_map(|directory| manifests(directory));
    ours.chain(theirs.map(read)).collect()
}

/// Tries whether all of the directories can be read.
///
/// # Errors
///
/// About all that cannot.
pub fn readable(directories: &[PathBuf]) -> Result<(), ConnectorError> {
    let unread = |path: &PathBuf| Some((path.clone(), fs::read_dir(path).err()?));
    let mut all: Vec<_> = directories.iter().filter_map(unread).collect();
    if all.len() > 1 {
        let told = |(path, why): &(PathBuf, io::Error)| format!("{}: {why}", path.display());
        let told: Vec<String> = all.iter().map(told).collect();
        let directories = told.join("; ");
        return Err(ConnectorError::ReadSeveral { directories });
    }
    match all.pop() {
        Some((path, source)) => Err(ConnectorError::Read { path, source }),
        None => Ok(()),
    }
}

fn manifests(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut below: Vec<PathBuf> = entries.map(|entry| entry.path().join(MANIFEST)).collect();
    below.sort();
    let mut paths = vec![directory.join(MANIFEST)];
    paths.append(&mut below);
    paths.retain(|path| path.is_file());
    paths
}

fn read(path: PathBuf) -> Listed {
    Listed {
        manifest: manifest(&path),
        manifest_path: Some(path),
    }
}

/// Reads a manifest; the error says all that is wrong in one line.
pub(super) fn manifest(path: &Path) -> Result<Manifest, String> {
    let bytes = fs::read(path).map_err(|why| format!("cannot be read: {why}"))?;
    read_manifest(&bytes).map_err(|error| with_causes(&error))
}

/// Returns the text of the manifest of a bundled connector.
///
/// # Errors
///
/// When there is no such connector.
pub fn bundled_manifest(name: &str) -> Result<&'static str, ConnectorError> {
    let bundled = bundled(name).ok_or_else(|| ConnectorError::NoManifest {
        name: name.to_owned(),
    })?;
    Ok(bundled.manifest_text)
}
