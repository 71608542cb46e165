//! Keeps the credential of the remote away from the plugin: no secret may be in the same place
//! (connector contract §7.1).

use std::fs;
use std::path::{self, Path, PathBuf};

use crate::config::{CredentialSource, Definition, DefinitionError};

/// Links that are followed, one behind the other; more are a loop.
const LINKS_MAX: u32 = 40;

/// Makes sure that no secret of the plugin is the credential of the remote: the plugin would get it.
///
/// # Errors
///
/// [`DefinitionError`]; also for a path that leads nowhere but round in circles.
pub(super) fn check_distinct(definition: &Definition) -> Result<(), DefinitionError> {
    let credential = match &definition.credential {
        None => return Ok(()),
        Some(source) => {
            place(source).map_err(|why| DefinitionError::member("/remote/credential", why))?
        }
    };
    for (name, source) in &definition.secrets {
        let refused = |why| DefinitionError::inside("/secrets", name, why);
        if place(source).map_err(refused)? == credential {
            return Err(refused(
                "is in the same place as the credential of the remote",
            ));
        }
    }
    Ok(())
}

/// Returns the source with links followed: two of one place are equal. Or what is wrong with it.
fn place(source: &CredentialSource) -> Result<CredentialSource, &'static str> {
    Ok(match source {
        CredentialSource::Env(name) => CredentialSource::Env(name.clone()),
        CredentialSource::File(path) => {
            let path = path::absolute(path).unwrap_or_else(|_| path.clone());
            let followed = followed(&path, LINKS_MAX);
            let why = "is a path whose links lead round in circles";
            CredentialSource::File(followed.ok_or(why)?)
        }
    })
}

/// Follows all links of a path, also where there is nothing at its end.
fn followed(path: &Path, links: u32) -> Option<PathBuf> {
    if let Ok(path) = path.canonicalize() {
        return Some(path);
    }
    let parent = path.parent().unwrap_or(Path::new("/"));
    if let Ok(target) = fs::read_link(path) {
        return followed(&parent.join(target), links.checked_sub(1)?);
    }
    match path.file_name() {
        Some(name) => Some(followed(parent, links)?.join(name)),
        None => Some(path.to_owned()),
    }
}
