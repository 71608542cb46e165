//! Where a remote is: a URL, or the directory of an embedded one.

use std::fmt;
use std::path::PathBuf;

use miette::Diagnostic;
use thiserror::Error;

/// The location of a remote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RemoteLocation {
    /// The directory of an embedded remote.
    Store(PathBuf),
}

/// The text is no location this program can use.
#[derive(Debug, Error, Diagnostic)]
pub enum LocationError {
    /// A URL of a scheme that is spoken, but not yet from here.
    #[error("remotes over the network cannot be pushed to yet")]
    #[diagnostic(
        code(dpe::config::remote_url),
        help("give --remote the directory of an embedded remote")
    )]
    Url,
    /// The text is empty.
    #[error("the location of the remote is empty")]
    #[diagnostic(
        code(dpe::config::remote_empty),
        help("give --remote a directory, or leave it out for the embedded remote of the user")
    )]
    Empty,
}

impl RemoteLocation {
    /// Reads what `--remote` says.
    ///
    /// # Errors
    ///
    /// [`LocationError`].
    pub fn parse(text: &str) -> Result<Self, LocationError> {
        if text.is_empty() {
            return Err(LocationError::Empty);
        }
        if text.contains("://") {
            return Err(LocationError::Url);
        }
        let path = match text.strip_prefix("~/") {
            Some(rest) => match etcetera::home_dir() {
                Ok(home) => home.join(rest),
                Err(_) => PathBuf::from(text),
            },
            None => PathBuf::from(text),
        };
        let path = std::path::absolute(&path).unwrap_or(path);
        Ok(Self::Store(path))
    }

    /// Returns what a person would call it.
    pub fn describe(&self) -> String {
        match self {
            Self::Store(path) => format!("the embedded remote {}", path.display()),
        }
    }
}

/// Equal texts are the same remote.
impl fmt::Display for RemoteLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Store(path) => write!(f, "store:{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{LocationError, RemoteLocation};

    #[test]
    fn a_path_is_made_absolute_so_that_equal_places_are_equal_remotes() {
        let RemoteLocation::Store(path) = RemoteLocation::parse("some/store").unwrap();
        assert!(path.is_absolute());
        assert!(path.ends_with("some/store"));
    }

    #[test]
    fn urls_and_nothing_are_refused() {
        assert!(matches!(
            RemoteLocation::parse("http://h/r"),
            Err(LocationError::Url)
        ));
        assert!(matches!(
            RemoteLocation::parse(""),
            Err(LocationError::Empty)
        ));
    }
}
