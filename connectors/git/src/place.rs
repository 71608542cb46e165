//! Where a repository is: on this machine, or behind a URL.
//!
//! A URL is taken apart once. User and password go their own way, and nothing that is shown, stored or
//! handed to another program as an argument has them. A query is part of the address: it is not shown,
//! but git and its helpers have it among their arguments.

use std::fmt;
use std::path::{Path, PathBuf};

use dpe_connector::{ErrorCode, RpcError};
use gix::bstr::ByteSlice;
use gix::url::Scheme;

/// A repository, or a folder that contains some.
#[derive(Clone, PartialEq, Eq)]
pub enum Place {
    /// A folder of this machine.
    Folder(PathBuf),
    /// Somewhere else.
    Url(Url),
}

/// A URL without its credentials, and these.
#[derive(Clone, PartialEq, Eq)]
pub struct Url {
    /// For git.
    pub(crate) text: String,
    /// Scheme and host, for which the credentials are meant; only of URLs that take credentials in
    /// this way.
    pub(crate) origin: Option<String>,
    /// User and password, as they are spelled.
    pub(crate) userinfo: Option<String>,
    /// The user, if the URL names one; may be a token.
    pub(crate) user: Option<String>,
    /// The password, if the URL has one.
    pub(crate) password: Option<String>,
    /// Name of the repository.
    pub(crate) name: Vec<u8>,
}

impl Place {
    /// Reads a configured place.
    ///
    /// # Errors
    ///
    /// When it is neither an absolute path nor a URL of a kind that is fetched from.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.starts_with('/') {
            return Ok(Self::Folder(text.into()));
        }
        // The text itself is never repeated: it may hold a password.
        let url = gix::url::parse(text).map_err(|_| "neither an absolute path nor a URL")?;
        match url.scheme {
            Scheme::File if !text.contains("://") => Err("the path is not absolute".to_owned()),
            Scheme::File if url.host().is_some_and(|host| host.contains('@')) => {
                Err("the URL of a file has no user".to_owned())
            }
            Scheme::Ssh if !text.contains("://") && is_misspelled(text) => Err(
                "not host:path; a user comes before the host, without a password: user@host:path"
                    .to_owned(),
            ),
            Scheme::Http | Scheme::Https | Scheme::Ssh | Scheme::Git | Scheme::File => {
                Url::of(url, userinfo(text)).map(Self::Url)
            }
            _ => Err("nothing is fetched from URLs of this kind; \
                      give one with https, ssh, http, git or file"
                .to_owned()),
        }
    }

    /// Returns the password that is part of a URL.
    pub fn password(&self) -> Option<&str> {
        let Self::Url(url) = self else { return None };
        url.password.as_deref().filter(|text| !text.is_empty())
    }

    /// Returns who the credentials of a URL are for, which may be a token. Of ssh it is part of the
    /// address.
    pub fn user(&self) -> Option<&str> {
        let Self::Url(url) = self else { return None };
        url.user.as_deref().filter(|text| !text.is_empty())
    }

    /// Returns the name of the repository itself, without `.git`.
    pub fn name(&self) -> Vec<u8> {
        match self {
            Self::Url(url) => url.name.clone(),
            Self::Folder(path) => {
                let is_dot_git = path.file_name().is_some_and(|name| name == ".git");
                let path = path.parent().filter(|_| is_dot_git).unwrap_or(path);
                let name = path.file_name().unwrap_or("root".as_ref());
                repository_name(name.as_encoded_bytes())
            }
        }
    }
}

/// Returns the name of a repository from the last part of its path.
pub(crate) fn repository_name(name: &[u8]) -> Vec<u8> {
    match name.strip_suffix(b".git") {
        Some(rest) if !rest.is_empty() => rest.to_owned(),
        _ => name.to_owned(),
    }
}

/// Returns what stands before the host in a URL, as it is spelled.
fn userinfo(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("://")?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (userinfo, _) = rest[..end].rsplit_once('@')?;
    Some(userinfo)
}

/// Returns whether what looks like `host:path` is rather `user:password@host:path`, or a URL that
/// lacks a slash.
fn is_misspelled(text: &str) -> bool {
    let (host, path) = text.split_once(':').unwrap_or((text, ""));
    let first = path.split('/').next().unwrap_or_default();
    let is_scheme = ["http", "https", "ssh", "git", "file"].contains(&&*host.to_ascii_lowercase());
    is_scheme || (!host.contains('@') && first.contains('@'))
}

impl Url {
    fn of(mut url: gix::Url, userinfo: Option<&str>) -> Result<Self, String> {
        let is_http = matches!(url.scheme, Scheme::Http | Scheme::Https);
        // An empty password is one: the user is a token then.
        let is_empty = userinfo.is_some_and(|userinfo| userinfo.ends_with(':'));
        let password = url.set_password(None);
        let password = password.or_else(|| is_empty.then(String::new));
        // Of ssh the user is part of the address, and no secret.
        let user = match url.scheme {
            Scheme::Ssh => None,
            _ => url.set_user(None),
        };
        let text = url.to_bstring().to_string();
        if text.starts_with('-') {
            return Err("not a URL".to_owned());
        }
        let origin = is_http.then(|| {
            let port = url.port.map_or(String::new(), |port| format!(":{port}"));
            format!("{}://{}{port}", url.scheme, url.host().unwrap_or_default())
        });
        let path = url.path.split_str("?").next().unwrap_or_default();
        let path = path.trim_end_with(|character| character == '/');
        let last = path.rsplit_str("/").next().unwrap_or_default();
        let last = last.rsplit_str(":").next().unwrap_or_default();
        let name = repository_name(last);
        Ok(Self {
            name: if name.is_empty() {
                b"root".to_vec()
            } else {
                name
            },
            text,
            origin,
            userinfo: userinfo.map(str::to_owned),
            user,
            password,
        })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(path) => write!(f, "{}", path.display()),
            // What follows a question mark may be a credential too.
            Self::Url(url) => f.write_str(url.text.split('?').next().unwrap_or_default()),
        }
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Place({self})")
    }
}

/// Returns the answer when a repository cannot be read.
pub(crate) fn source_failed(place: &Place, why: &str) -> RpcError {
    RpcError::new(
        ErrorCode::SourceFailed,
        format!("repository {place}: {why}"),
    )
}

/// Returns the answer when there is no repository at a folder of this machine, or below it.
pub(crate) fn no_repository(folder: &Path, why: &str) -> RpcError {
    let folder = folder.display();
    RpcError::new(
        ErrorCode::SourceFailed,
        format!(
            "{folder} is not a git repository: {why}; name a folder with a .git, or a bare \
             repository, or push {folder} as a folder"
        ),
    )
}

/// Why a round does not begin.
#[derive(Debug)]
pub(crate) enum NotBegun {
    /// Objects are missing or broken. What was fetched can be fetched again.
    Damaged(RpcError),
    /// Anything else.
    Other(RpcError),
}

impl NotBegun {
    /// Returns the answer.
    pub(crate) fn into_error(self) -> RpcError {
        match self {
            Self::Damaged(error) | Self::Other(error) => error,
        }
    }
}

impl From<RpcError> for NotBegun {
    fn from(error: RpcError) -> Self {
        Self::Other(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        match Place::parse(text) {
            Ok(Place::Url(url)) => url,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn credentials_are_taken_out_of_a_url() {
        let url = url("https://me:s%40cret@example.com:8443/group/docs.git");
        assert_eq!(url.text, "https://example.com:8443/group/docs.git");
        assert_eq!(url.origin.as_deref(), Some("https://example.com:8443"));
        assert_eq!(url.user.as_deref(), Some("me"));
        assert_eq!(url.password.as_deref(), Some("s@cret"));
        assert_eq!(url.name, b"docs");
    }

    #[test]
    fn what_is_shown_of_a_url_has_no_secret() {
        for text in [
            "https://me:secret@example.com/docs",
            "https://example.com/docs?private_token=secret",
            "ssh://git:secret@example.com/docs",
            "https://secret@example.com/docs",
            "https://secret:@example.com/docs",
            "git://me:secret@example.com/docs",
        ] {
            let place = Place::parse(text).unwrap();
            assert!(!format!("{place} {place:?}").contains("secret"), "{text}");
        }
    }

    #[test]
    fn an_empty_password_is_one_and_a_host_may_be_an_address() {
        let token = url("https://token:@example.com/docs");
        assert_eq!(token.user.as_deref(), Some("token"));
        assert_eq!(token.password.as_deref(), Some(""));
        let user = url("https://me@[::1]:8443/docs");
        assert_eq!((user.user.as_deref(), user.password), (Some("me"), None));
        assert_eq!(user.text, "https://[::1]:8443/docs");
        assert_eq!(user.origin.as_deref(), Some("https://[::1]:8443"));
    }

    #[test]
    fn the_user_of_ssh_is_part_of_the_address() {
        assert_eq!(
            url("git@example.com:group/docs.git").text,
            "git@example.com:group/docs.git"
        );
        assert_eq!(
            url("ssh://git@example.com/docs/").text,
            "ssh://git@example.com/docs/"
        );
        assert_eq!(url("ssh://git@example.com/docs/").name, b"docs");
        assert_eq!(url("example.com:docs").name, b"docs");
        assert_eq!(
            url("file:///srv/my%20docs.git/").text,
            "file:///srv/my%20docs.git/"
        );
    }

    #[test]
    fn what_would_run_programs_or_depends_on_where_one_is_is_refused() {
        for text in [
            "docs",
            "./docs",
            "ext::sh -c ls",
            "-oProxyCommand=x:y",
            "ftp://h/x",
            "HTTP://me:secret@h/x",
            "http://me:secret@h:99999/x",
            "file://me:secret@h/x",
            "me:secret@h:x",
            "https:/me:secret@h/x",
            "https:me:secret@h/x",
            "",
        ] {
            let why = Place::parse(text).unwrap_err();
            assert!(!why.contains("secret"), "{text}: {why}");
        }
    }

    #[test]
    fn a_folder_gives_its_name_without_git() {
        for path in ["/srv/docs", "/srv/docs.git", "/srv/docs/.git"] {
            assert_eq!(Place::parse(path).unwrap().name(), b"docs", "{path}");
        }
    }
}
