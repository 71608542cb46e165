//! Looks up credentials where a definition or a command line says they are (connector contract §7.1).

use std::env;
use std::io::{self, Read};

use thiserror::Error;

use crate::config::{CredentialSource, NoCredential, Secret};

use super::regular_file;

/// Most bytes of a file with a credential: more than any variable may hold.
const CREDENTIAL_MAX: u64 = 1 << 20;

/// Why there is no credential where it should be. Only the credential may be named (§7.1), so what
/// is said here names neither variables nor files.
#[derive(Debug, Error)]
pub(super) enum Unresolved {
    /// There is no such variable.
    #[error("its environment variable is not set")]
    Unset,
    /// The variable has something else.
    #[error("its environment variable {0}")]
    Variable(NoCredential),
    /// The file is not there, or not readable.
    #[error("its file cannot be read: {0}")]
    Unreadable(#[from] io::Error),
    /// The file has something else.
    #[error("its file {0}")]
    File(NoCredential),
    /// The file is certainly something else.
    #[error("its file has more than {CREDENTIAL_MAX} bytes")]
    TooLong,
}

/// Returns the credential as it is now.
///
/// # Errors
///
/// [`Unresolved`].
pub(super) fn resolve(source: &CredentialSource) -> Result<Secret, Unresolved> {
    match source {
        CredentialSource::Env(name) => {
            let value = env::var_os(name).ok_or(Unresolved::Unset)?;
            let value = value.into_string();
            let value = value.map_err(|_| Unresolved::Variable(NoCredential::NotUtf8))?;
            Secret::of_variable(value).map_err(Unresolved::Variable)
        }
        CredentialSource::File(path) => {
            let mut bytes = Vec::new();
            let file = regular_file::open(path)?;
            let read = file.take(CREDENTIAL_MAX + 1).read_to_end(&mut bytes)?;
            if read as u64 > CREDENTIAL_MAX {
                return Err(Unresolved::TooLong);
            }
            Secret::of_file(bytes).map_err(Unresolved::File)
        }
    }
}
