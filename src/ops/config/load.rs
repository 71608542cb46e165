//! Finds and reads the configuration files of a call: that of the project, and that of the user.

use std::io;
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;

use crate::config::{ConfigFile, Credential, FileError, Layers, Owner};

use super::error::ConfigError;

use super::judge::judge;

/// Name of the file of a project.
pub const FILE_NAME: &str = "dpe.toml";

/// Reads the files that count for a call in this directory, the project's before the user's. A file
/// that was named stands for the project's.
///
/// # Errors
///
/// When one of them cannot be used, or the named one is not there.
pub fn load(directory: &Path, named: Option<&Path>) -> Result<Vec<ConfigFile>, ConfigError> {
    let project = match named {
        // Whoever names a file trusts it.
        Some(path) => Some((absolute(directory, path), Owner::Trusted)),
        None => project_file(directory).map(|path| {
            let owner = owner(&path);
            (path, owner)
        }),
    };
    let user = user_file().filter(|path| path.is_file());
    let user = user.map(|path| (path, Owner::Trusted));
    let mut files: Vec<ConfigFile> = Vec::new();
    for (path, owner) in project.into_iter().chain(user) {
        if !files.iter().any(|file| file.path == path) {
            files.push(read(&path, owner)?);
        }
    }
    judge(&files)?;
    Ok(files)
}

/// Returns what somebody should know who believes that the credentials of these files are secret.
pub fn warnings(layers: &Layers) -> Vec<String> {
    let remotes = layers.files.iter().flat_map(|file| file.remotes.values());
    let credentials = remotes.filter_map(|remote| match &remote.credential {
        Some(Credential::File(path)) => Some(path),
        _ => None,
    });
    let open = credentials.filter(|path| is_open(path)).map(|path| {
        let path = path.display();
        format!("others can read the credential in {path}; chmod 600 {path}")
    });
    open.collect()
}

/// Returns whether people besides the owner can read a file.
#[cfg(unix)]
fn is_open(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;

    let metadata = path.metadata();
    metadata.is_ok_and(|metadata| metadata.is_file() && metadata.mode() & 0o044 != 0)
}

#[cfg(not(unix))]
fn is_open(_: &Path) -> bool {
    false
}

/// Returns the file of the project around a directory, if there is one.
pub fn project_file(directory: &Path) -> Option<PathBuf> {
    directory
        .ancestors()
        .map(|directory| directory.join(FILE_NAME))
        .find(|path| path.is_file())
}

/// Returns where the file of the user is, whether there is one or not; nothing without a home.
pub fn user_file() -> Option<PathBuf> {
    let strategy = etcetera::choose_base_strategy().ok()?;
    let directory = strategy.config_dir();
    directory
        .is_absolute()
        .then(|| directory.join("dpe").join("config.toml"))
}

fn read(path: &Path, owner: Owner) -> Result<ConfigFile, FileError> {
    let unreadable = |source| FileError::Unreadable {
        path: path.to_owned(),
        source,
    };
    let bytes = std::fs::read(path).map_err(unreadable)?;
    let text = String::from_utf8(bytes).map_err(|_| {
        unreadable(io::Error::new(
            io::ErrorKind::InvalidData,
            "it is not UTF-8",
        ))
    })?;
    ConfigFile::parse(&text, path, owner)
}

fn absolute(directory: &Path, path: &Path) -> PathBuf {
    directory.join(path)
}

/// Returns whose file it is: what the user and the system own is trusted.
#[cfg(unix)]
fn owner(path: &Path) -> Owner {
    use std::os::unix::fs::MetadataExt;

    let user = rustix::process::geteuid().as_raw();
    match path.metadata() {
        Ok(metadata) if [0, user].contains(&metadata.uid()) => Owner::Trusted,
        _ => Owner::Stranger,
    }
}

#[cfg(not(unix))]
fn owner(_: &Path) -> Owner {
    Owner::Trusted
}
