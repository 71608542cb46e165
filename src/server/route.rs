//! Steps T1 and T2 of the ladder: which paths and methods there are (http-binding §2, §6.1).

use http::Method;

use crate::protocol::routes;

/// First segments of the paths of a remote, below its prefix.
pub const PATHS: [&str; 6] = [
    routes::CAPABILITIES,
    routes::HEADS,
    routes::DOCUMENTS,
    routes::MOVE,
    routes::NEGOTIATE,
    routes::STAGING,
];

/// A known path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Route {
    Capabilities,
    Heads,
    Documents,
    Move,
}

/// The path under which a remote lives, taken apart.
#[derive(Clone, Debug, Default)]
pub(super) struct Prefix(Vec<Vec<u8>>);

impl Prefix {
    /// Takes a prefix such as `/r/1`, or the empty one.
    pub(super) fn new(prefix: &str) -> Self {
        let path = prefix.strip_prefix('/').unwrap_or(prefix);
        Self(if path.is_empty() {
            Vec::new()
        } else {
            segments(path).collect()
        })
    }

    /// Returns the route of a request path. Segments are decoded before they are compared, so an
    /// encoded `/` never separates.
    pub(super) fn route(&self, path: &str) -> Option<Route> {
        let mut segments = segments(path.strip_prefix('/')?);
        for expected in &self.0 {
            if segments.next().as_ref() != Some(expected) {
                return None;
            }
        }
        let name = segments.next()?;
        if segments.next().is_some() {
            return None;
        }
        Route::ALL
            .into_iter()
            .find(|route| route.path().as_bytes() == name)
    }
}

/// Takes a path without its first `/` apart.
pub(super) fn segments(path: &str) -> impl Iterator<Item = Vec<u8>> {
    path.split('/')
        .map(|segment| routes::percent_decode(segment.as_bytes()).into_owned())
}

impl Route {
    const ALL: [Self; 4] = [Self::Capabilities, Self::Heads, Self::Documents, Self::Move];

    fn path(self) -> &'static str {
        match self {
            Self::Capabilities => routes::CAPABILITIES,
            Self::Heads => routes::HEADS,
            Self::Documents => routes::DOCUMENTS,
            Self::Move => routes::MOVE,
        }
    }

    /// Whether the path has this method.
    pub(super) fn allows(self, method: &Method) -> bool {
        self.allow().split(", ").any(|allowed| allowed == method)
    }

    /// Value of `Allow`: exactly the methods of http-binding §2.
    pub(super) fn allow(self) -> &'static str {
        match self {
            Self::Capabilities => "GET",
            Self::Heads | Self::Move => "POST",
            Self::Documents => "HEAD, GET, PUT, DELETE",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Prefix, Route};

    #[test]
    fn paths_are_known_by_their_decoded_segments() {
        let prefix = Prefix::new("/r/1");
        for (path, route) in [
            ("/r/1/heads", Some(Route::Heads)),
            ("/r/1/%68eads", Some(Route::Heads)),
            ("/%72/1/move", Some(Route::Move)),
            ("/r/1/documents", Some(Route::Documents)),
            ("/r/1/capabilities", Some(Route::Capabilities)),
            ("/r/1/documents/", None),
            ("/r/1//documents", None),
            ("/r%2F1/documents", None),
            ("/r/1/Documents", None),
            ("/r/1/negotiate", None),
            ("/r/1/staging/s/pages/h", None),
            ("/r/1", None),
            ("/r/1/", None),
            ("/documents", None),
            ("/r/2/documents", None),
            ("/", None),
            ("*", None),
        ] {
            assert_eq!(prefix.route(path), route, "{path}");
        }
        assert_eq!(Prefix::new("").route("/documents"), Some(Route::Documents));
        assert_eq!(Prefix::new("").route("//documents"), None);
    }
}
