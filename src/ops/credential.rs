//! Looks up credentials where a definition or a command line says they are (connector contract §7.1).

use std::env;
use std::fs::File;
use std::io::Read;

use crate::config::{CredentialSource, Secret};

/// Most bytes of a file with a credential: more than any variable may hold.
const CREDENTIAL_MAX: u64 = 1 << 20;

/// Returns the credential as it is now, if there is one.
pub(super) fn resolve(source: &CredentialSource) -> Option<Secret> {
    match source {
        CredentialSource::Env(name) => {
            let value = env::var_os(name)?.into_string().ok()?;
            Secret::of_variable(value).ok()
        }
        CredentialSource::File(path) => {
            let mut bytes = Vec::new();
            let file = File::open(path).ok()?;
            let read = file.take(CREDENTIAL_MAX + 1).read_to_end(&mut bytes).ok()?;
            (read as u64 <= CREDENTIAL_MAX)
                .then(|| Secret::of_file(bytes).ok())
                .flatten()
        }
    }
}
