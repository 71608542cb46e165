//! Where a remote is: a URL, or the directory of an embedded one.

use std::fmt;
use std::path::PathBuf;

use miette::Diagnostic;
use thiserror::Error;

use crate::model::{InvalidRemoteUrl, check_remote_url};

/// The location of a remote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RemoteLocation {
    /// The directory of an embedded remote.
    Store(PathBuf),
    /// The URL of a remote over the network.
    Url(RemoteUrl),
}

/// The URL of a remote: valid, and used exactly as written (HTTP binding §1.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteUrl(String);

/// The text is no location this program can use.
#[derive(Debug, Error, Diagnostic)]
pub enum LocationError {
    /// Nearly a URL. It may hold a misplaced secret and is not repeated.
    #[error("the URL of the remote cannot be used: {0}")]
    #[diagnostic(
        code(dpe::config::remote_url),
        help(
            "write it like https://dpe.example.com/r/42; credentials come from DPE_AUTHORIZATION, \
             never from the URL"
        )
    )]
    Url(InvalidRemoteUrl),
    /// The text is empty.
    #[error("the location of the remote is empty")]
    #[diagnostic(
        code(dpe::config::remote_empty),
        help(
            "give --remote a URL or a directory, or leave it out for the embedded remote of the user"
        )
    )]
    Empty,
    /// A URL where a directory is needed.
    #[error("a remote behind a URL has no store here")]
    #[diagnostic(
        code(dpe::config::remote_not_a_store),
        help("give the directory of an embedded remote")
    )]
    NotAStore,
}

impl RemoteUrl {
    /// Checks a URL.
    ///
    /// # Errors
    ///
    /// The rule of HTTP binding §1.1 that it breaks.
    pub fn parse(text: &str) -> Result<Self, InvalidRemoteUrl> {
        check_remote_url(text)?;
        Ok(Self(text.to_owned()))
    }

    /// Returns the URL as written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
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
        if is_meant_as_url(text) {
            let url = RemoteUrl::parse(text).map_err(LocationError::Url)?;
            return Ok(Self::Url(url));
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

    /// Returns the directory of an embedded remote.
    ///
    /// # Errors
    ///
    /// When it is a remote over the network.
    pub fn into_store(self) -> Result<PathBuf, LocationError> {
        match self {
            Self::Store(path) => Ok(path),
            Self::Url(_) => Err(LocationError::NotAStore),
        }
    }

    /// Returns what a person would call it.
    pub fn describe(&self) -> String {
        match self {
            Self::Store(path) => format!("the embedded remote {}", path.display()),
            Self::Url(url) => url.as_str().to_owned(),
        }
    }
}

/// What looks like a URL is judged as one, so that a broken one never becomes a directory.
fn is_meant_as_url(text: &str) -> bool {
    let has_scheme = |scheme: &str| {
        let head = text.get(..scheme.len());
        head.is_some_and(|head| head.eq_ignore_ascii_case(scheme))
    };
    text.contains("://") || has_scheme("http:") || has_scheme("https:") || is_address(text)
}

/// Whether it is `host:port`, with a path or without: a URL whose scheme was forgotten.
fn is_address(text: &str) -> bool {
    let authority = text.split('/').next().unwrap_or_default();
    authority.rsplit_once(':').is_some_and(|(host, port)| {
        !host.is_empty() && !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// Equal texts are the same remote.
impl fmt::Display for RemoteLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Store(path) => write!(f, "store:{}", path.display()),
            Self::Url(url) => f.write_str(url.as_str()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{LocationError, RemoteLocation};

    #[test]
    fn a_path_is_made_absolute_so_that_equal_places_are_equal_remotes() {
        let path = RemoteLocation::parse("some/store").unwrap();
        let path = path.into_store().unwrap();
        assert!(path.is_absolute());
        assert!(path.ends_with("some/store"));
    }

    #[test]
    fn a_url_is_kept_as_written() {
        let url = "https://example.com/a%2Fb//c";
        let location = RemoteLocation::parse(url).unwrap();
        assert_eq!(location.to_string(), url);
        assert!(matches!(
            location.into_store(),
            Err(LocationError::NotAStore)
        ));
    }

    #[test]
    fn what_looks_like_a_url_and_is_none_is_refused_without_being_repeated() {
        for url in [
            "https://user:secret@example.com/r",
            "https:secret@h",
            "HTTP://secret",
            "ftp://secret/r",
            "https://h/secret?x",
            "secret:7373",
            "127.0.0.1:7373/secret",
        ] {
            let error = RemoteLocation::parse(url).unwrap_err();
            assert!(matches!(error, LocationError::Url(_)), "{error}");
            let said = format!("{error} {error:?}");
            assert!(!said.contains("secret"), "{said}");
        }
        assert!(matches!(
            RemoteLocation::parse(""),
            Err(LocationError::Empty)
        ));
    }
}
