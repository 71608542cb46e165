//! Where the credential of a remote comes from. Flags carry none: others can read them.
//!
//! A source is only named here; whoever sends asks it anew before every attempt.

use std::ffi::OsString;
use std::path::PathBuf;

use miette::Diagnostic;
use thiserror::Error;

use super::secret::Secret;

const VALUE: &str = "DPE_AUTHORIZATION";
const FILE: &str = "DPE_AUTHORIZATION_FILE";
const COMMAND: &str = "DPE_AUTHORIZATION_COMMAND";

/// The source of a complete `Authorization` value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Credential {
    /// The value itself, as the environment gave it.
    Value(Secret),
    /// A file with the value.
    File(PathBuf),
    /// A command of the shell that prints the value.
    Command(Secret),
    /// A variable with the value.
    Variable(String),
    /// A program and its arguments, without a shell; it prints the value.
    Program(Vec<String>),
}

/// The environment does not say which credential to use.
#[derive(Debug, Error, Diagnostic)]
pub enum CredentialError {
    /// Two sources.
    #[error("both {first} and {second} are set")]
    #[diagnostic(
        code(dpe::config::credential_ambiguous),
        help(
            "unset all but one of DPE_AUTHORIZATION, DPE_AUTHORIZATION_FILE and DPE_AUTHORIZATION_COMMAND"
        )
    )]
    Ambiguous {
        /// A variable that is set.
        first: &'static str,
        /// Another one.
        second: &'static str,
    },
    /// A value that is no text.
    #[error("{variable} is not valid Unicode")]
    #[diagnostic(
        code(dpe::config::credential_not_unicode),
        help("the value of an Authorization header is ASCII")
    )]
    NotUnicode {
        /// The variable.
        variable: &'static str,
    },
}

impl Credential {
    /// Returns the source that the environment names, if it names one. An empty variable is one
    /// that is not set.
    ///
    /// # Errors
    ///
    /// [`CredentialError`].
    pub fn from_environment(
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Option<Self>, CredentialError> {
        let mut found = None;
        for name in [VALUE, FILE, COMMAND] {
            let Some(value) = variable(name).filter(|value| !value.is_empty()) else {
                continue;
            };
            if let Some((first, _)) = found {
                return Err(CredentialError::Ambiguous {
                    first,
                    second: name,
                });
            }
            found = Some((name, value));
        }
        let Some((name, value)) = found else {
            return Ok(None);
        };
        if name == FILE {
            return Ok(Some(Self::File(value.into())));
        }
        let text = value
            .into_string()
            .map_err(|_| CredentialError::NotUnicode { variable: name })?;
        let text = Secret::new(text);
        Ok(Some(if name == VALUE {
            Self::Value(text)
        } else {
            Self::Command(text)
        }))
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::{Credential, CredentialError, Secret};

    fn from(variables: &[(&str, &str)]) -> Result<Option<Credential>, CredentialError> {
        Credential::from_environment(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| OsString::from(value))
        })
    }

    #[test]
    fn one_variable_names_the_source_and_an_empty_one_is_not_set() {
        let value = Credential::Value(Secret::new("Bearer x".to_owned()));
        assert_eq!(from(&[]).unwrap(), None);
        assert_eq!(from(&[("DPE_AUTHORIZATION", "")]).unwrap(), None);
        assert_eq!(
            from(&[
                ("DPE_AUTHORIZATION", "Bearer x"),
                ("DPE_AUTHORIZATION_FILE", "")
            ])
            .unwrap(),
            Some(value)
        );
        assert_eq!(
            from(&[("DPE_AUTHORIZATION_FILE", "/run/token")]).unwrap(),
            Some(Credential::File("/run/token".into()))
        );
        assert_eq!(
            from(&[("DPE_AUTHORIZATION_COMMAND", "pass show dpe")]).unwrap(),
            Some(Credential::Command(Secret::new("pass show dpe".to_owned())))
        );
    }

    #[test]
    fn two_sources_are_refused_by_name_and_without_a_value() {
        let error = from(&[
            ("DPE_AUTHORIZATION", "Bearer secret"),
            ("DPE_AUTHORIZATION_COMMAND", "print secret"),
        ])
        .unwrap_err();
        let said = format!("{error} {error:?}");
        assert!(said.contains("DPE_AUTHORIZATION_COMMAND"), "{said}");
        assert!(!said.contains("secret"), "{said}");
    }
}
