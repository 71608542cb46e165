//! Where a credential is, for files that must not hold one: a variable or a file (connector
//! contract §7.1).
//!
//! Only names and rules are here. Whoever needs the credential looks it up, anew each time.

use std::path::PathBuf;

use thiserror::Error;

use super::secret::Secret;

/// Where a credential is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CredentialSource {
    /// In this environment variable.
    Env(String),
    /// In this file.
    File(PathBuf),
}

/// Why what a source has is no credential. It is never shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NoCredential {
    /// The bytes are no text.
    #[error("is not UTF-8")]
    NotUtf8,
    /// There is nothing, or something no header and no variable can hold.
    #[error("is empty or holds a NUL")]
    Unusable,
}

impl Secret {
    /// Returns the credential in the value of a variable.
    ///
    /// # Errors
    ///
    /// [`NoCredential`] for one that is empty or contains NUL.
    pub fn of_variable(text: String) -> Result<Self, NoCredential> {
        if text.is_empty() || text.contains('\0') {
            return Err(NoCredential::Unusable);
        }
        Ok(Self::new(text))
    }

    /// Returns the credential in the bytes of a file or of an output: all of them but one line
    /// feed, or carriage return and line feed, at the end.
    ///
    /// # Errors
    ///
    /// [`NoCredential`].
    pub fn of_file(bytes: Vec<u8>) -> Result<Self, NoCredential> {
        let mut text = String::from_utf8(bytes).map_err(|_| NoCredential::NotUtf8)?;
        if text.ends_with('\n') {
            text.pop();
            if text.ends_with('\r') {
                text.pop();
            }
        }
        Self::of_variable(text)
    }
}

#[cfg(test)]
mod tests {
    use super::{NoCredential, Secret};

    #[test]
    fn one_line_end_is_no_part_of_a_credential() {
        for (bytes, expected) in [
            ("a", "a"),
            ("a\n", "a"),
            ("a\r\n", "a"),
            ("a\n\n", "a\n"),
            ("a\r", "a\r"),
            ("a\nb", "a\nb"),
            (" a ", " a "),
        ] {
            let secret = Secret::of_file(bytes.into()).unwrap();
            assert_eq!(secret.expose(), expected, "{bytes:?}");
        }
    }

    #[test]
    fn what_is_empty_or_no_text_is_no_credential() {
        for bytes in ["", "\n", "\r\n", "a\0b"] {
            let refused = Secret::of_file(bytes.into());
            assert_eq!(refused, Err(NoCredential::Unusable), "{bytes:?}");
        }
        assert_eq!(Secret::of_file(vec![0xff]), Err(NoCredential::NotUtf8));
        let empty = Secret::of_variable(String::new());
        assert_eq!(empty, Err(NoCredential::Unusable));
    }
}
