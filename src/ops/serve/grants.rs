//! What an auth file grants: credentials are looked up where it says, once, when serving begins.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use miette::Diagnostic;
use thiserror::Error;

use crate::config::{AuthFile, AuthFileError, Caller, CredentialSource, Place};
use crate::server::{Access, GrantError};

/// Most bytes of a file with a credential: more than any header that a server takes.
const CREDENTIAL_MAX: u64 = 64 << 10;

/// An auth file that cannot be followed.
#[derive(Debug, Error, Diagnostic)]
pub enum GrantsError {
    /// The file cannot be read.
    #[error("cannot read the auth file {}", path.display())]
    #[diagnostic(
        code(dpe::ops::serve::auth_file),
        help("check the path and its permissions; the file is UTF-8")
    )]
    Read {
        /// The file.
        path: PathBuf,
        /// Cause.
        source: io::Error,
    },
    /// What it says is of no use.
    #[error(transparent)]
    #[diagnostic(transparent)]
    File(#[from] AuthFileError),
    /// A variable that holds no credential.
    #[error("{at}: the environment variable {variable} is not set, or is no text")]
    #[diagnostic(
        code(dpe::ops::serve::credential_env),
        help("set it to the whole Authorization value, such as `Bearer …`")
    )]
    Variable {
        /// Caller that it belongs to.
        at: Place,
        /// Its name.
        variable: String,
    },
    /// A file with a credential that cannot be read.
    #[error("{at}: cannot read the credential in {}", path.display())]
    #[diagnostic(
        code(dpe::ops::serve::credential_file),
        help(
            "check the path, which is relative to the auth file, and its permissions; the file \
             holds the whole Authorization value and nothing else"
        )
    )]
    CredentialFile {
        /// Caller that it belongs to.
        at: Place,
        /// The file.
        path: PathBuf,
        /// Cause.
        source: io::Error,
    },
    /// A grant that could not work.
    #[error("{at}: {error}")]
    #[diagnostic(forward(error))]
    Grant {
        /// Caller that it belongs to.
        at: Place,
        /// What is wrong with it.
        error: GrantError,
    },
}

/// Adds what the auth file at `path` grants to `access`. From then on only those write who are
/// named there or were granted it before: a file that names nobody, as one whose last caller was
/// taken out, must not open the remote. Variables of the environment are asked with `variable`.
///
/// # Errors
///
/// [`GrantsError`]; `access` may then hold a part of the grants and is of no use.
pub fn add_from_file(
    access: &mut Access,
    path: &Path,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<(), GrantsError> {
    let text = fs::read_to_string(path).map_err(|source| GrantsError::Read {
        path: path.to_owned(),
        source,
    })?;
    let file = AuthFile::parse(&text, path)?;
    access.require_grant_to_write();
    if file.require_auth {
        access.require_authentication();
    }
    for caller in file.callers {
        let at = caller.at.clone();
        let credential = match &caller.credential {
            CredentialSource::Env(name) => from_variable(name, &at, &variable),
            CredentialSource::File(file) => from_file(path, file, &at),
        }?;
        grant(access, &credential, caller).map_err(|error| GrantsError::Grant { at, error })?;
    }
    Ok(())
}

fn grant(access: &mut Access, credential: &str, caller: Caller) -> Result<(), GrantError> {
    if !caller.write.is_empty() {
        access.grant(credential, caller.write)?;
    }
    if !caller.read.is_empty() {
        access.grant_read(credential, caller.read)?;
    }
    if caller.force {
        access.grant_force(credential)?;
    }
    Ok(())
}

fn from_variable(
    name: &str,
    at: &Place,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<String, GrantsError> {
    variable(name).ok_or_else(|| GrantsError::Variable {
        at: at.clone(),
        variable: name.to_owned(),
    })
}

/// Reads a credential without the end of its line.
fn from_file(auth_file: &Path, file: &Path, at: &Place) -> Result<String, GrantsError> {
    let path = auth_file.parent().unwrap_or(Path::new("")).join(file);
    match read_line(&path) {
        Ok(credential) => Ok(credential),
        Err(source) => Err(GrantsError::CredentialFile {
            at: at.clone(),
            path,
            source,
        }),
    }
}

fn read_line(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    let file = fs::File::open(path)?;
    file.take(CREDENTIAL_MAX).read_to_string(&mut text)?;
    let end = text.trim_end_matches(['\r', '\n']).len();
    text.truncate(end);
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use miette::Diagnostic;
    use tempfile::TempDir;

    use super::{GrantsError, add_from_file};
    use crate::server::Access;

    fn written(dir: &TempDir, text: &str) -> PathBuf {
        let path = dir.path().join("auth.toml");
        fs::write(&path, text).unwrap();
        path
    }

    fn environment(name: &str) -> Option<String> {
        match name {
            "WRITER" => Some("Bearer writer".to_owned()),
            "BROKEN" => Some("hunter2\n".to_owned()),
            _ => None,
        }
    }

    fn added(path: &Path) -> Result<Access, GrantsError> {
        let mut access = Access::default();
        add_from_file(&mut access, path, environment)?;
        Ok(access)
    }

    #[test]
    fn file_grants_what_the_flags_would() {
        let dir = TempDir::new().unwrap();
        fs::write(dir.path().join("reader.auth"), "Bearer reader\r\n").unwrap();
        let path = written(
            &dir,
            r#"
            require_auth = true
            caller = [
                { credential = { env = "WRITER" }, write = ["x:a"], force = true },
                { credential = { file = "reader.auth" }, read = ["*"] },
            ]
            "#,
        );
        let mut expected = Access::default();
        expected.require_authentication();
        expected.grant("Bearer writer", ["x:a".to_owned()]).unwrap();
        expected.grant_force("Bearer writer").unwrap();
        expected
            .grant_read("Bearer reader", ["*".to_owned()])
            .unwrap();
        let access = added(&path).unwrap();
        assert_eq!(format!("{access:?}"), format!("{expected:?}"));
    }

    #[test]
    fn what_cannot_be_followed_is_told_with_its_place_and_without_values() {
        let dir = TempDir::new().unwrap();
        fs::write(dir.path().join("empty.auth"), "\n").unwrap();
        let caller = |rest: &str| format!("[[caller]]\n{rest}");
        for (text, expected) in [
            (
                caller("credential.env = \"ABSENT\"\nforce = true"),
                "line 1: the environment variable ABSENT is not set",
            ),
            (
                caller("credential.file = \"absent\"\nforce = true"),
                "line 1: cannot read the credential in ",
            ),
            (
                caller("credential.file = \"empty.auth\"\nforce = true"),
                "line 1: a grant names a credential that no request can carry",
            ),
            (
                caller("credential.env = \"BROKEN\"\nforce = true"),
                "line 1: a grant names a credential that no request can carry",
            ),
            (
                caller("credential.env = \"WRITER\"\nwrite = [\"X:a\"]"),
                "line 1: documents below X:a are called x:a",
            ),
            (
                caller("credential.env = \"WRITER\"\nread = [\"docs\"]"),
                "line 1: a granted prefix begins no URI",
            ),
            ("require_auth".to_owned(), "line 1: "),
        ] {
            let error = added(&written(&dir, &text)).unwrap_err();
            let said = format!("{error} {error:?}");
            assert!(error.to_string().contains(expected), "{error} for {text}");
            assert!(error.code().is_some() && error.help().is_some(), "{text}");
            assert!(!said.contains("hunter2"), "{said}");
        }
        let absent = added(&dir.path().join("none.toml")).unwrap_err();
        assert!(matches!(absent, GrantsError::Read { .. }));
    }
}
