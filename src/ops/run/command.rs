//! Finds the program of a plugin (connector contract §6).

use std::ffi::OsString;
use std::path::{self, Path, PathBuf};

use crate::config::Definition;

/// Returns the program: a path as seen from the definition, or a name that is looked for where the
/// plugin itself would look.
///
/// # Errors
///
/// Says that it is not there or cannot be executed.
pub(super) fn program(
    definition: &Definition,
    environment: &[(OsString, OsString)],
) -> Result<PathBuf, String> {
    let word = definition.command.first();
    let word = word.expect("a definition without a command is refused");
    if word.contains(path::is_separator) {
        let program = definition.path(word);
        if is_executable(&program) {
            return Ok(program);
        }
        let why = if program.is_file() {
            "is not executable; chmod +x it, or name its interpreter in front of it"
        } else if program.exists() {
            "is no file"
        } else {
            "is not there"
        };
        let program = program.display();
        return Err(format!(
            "/plugin/command/0 of the definition: {program} {why}"
        ));
    }
    let path = environment.iter().find(|(name, _)| name == "PATH");
    let mut found = path
        .into_iter()
        .flat_map(|(_, path)| std::env::split_paths(path))
        // An empty entry is the current directory, as everywhere.
        .map(|directory| Path::new(".").join(directory).join(word));
    found.find(|program| is_executable(program)).ok_or_else(|| {
        format!("/plugin/command/0 of the definition: {word} is in no directory of PATH")
    })
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;

    let metadata = path.metadata();
    metadata.is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(path: &Path) -> bool {
    path.is_file()
}
