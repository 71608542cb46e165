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
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Route {
    Capabilities,
    Heads,
    Documents,
    Move,
    Negotiate,
    Staged(StagedPath),
}

/// Path of an object of a session. What is no text in there names nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StagedPath {
    pub(super) session: String,
    pub(super) kind: Kind,
    /// Hash or blob reference, unjudged.
    pub(super) name: String,
}

/// What is uploaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Pages,
    Objects,
    Blobs,
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
        let first = segments.next()?;
        let rest: Vec<_> = segments.take(4).collect();
        match (first.as_slice(), rest.as_slice()) {
            (name, []) => Route::of_one_segment(name),
            (name, [session, kind, object]) if name == routes::STAGING.as_bytes() => {
                staged(session, kind, object)
            }
            _ => None,
        }
    }
}

fn staged(session: &[u8], kind: &[u8], name: &[u8]) -> Option<Route> {
    let kind = [
        (Kind::Pages, routes::PAGES),
        (Kind::Objects, routes::OBJECTS),
        (Kind::Blobs, routes::BLOBS),
    ]
    .into_iter()
    .find_map(|(known, segment)| (segment.as_bytes() == kind).then_some(known))?;
    if session.is_empty() || name.is_empty() {
        return None;
    }
    let text = |segment| String::from_utf8_lossy(segment).into_owned();
    Some(Route::Staged(StagedPath {
        session: text(session),
        kind,
        name: text(name),
    }))
}

/// Takes a path without its first `/` apart.
pub(super) fn segments(path: &str) -> impl Iterator<Item = Vec<u8>> {
    path.split('/')
        .map(|segment| routes::percent_decode(segment.as_bytes()).into_owned())
}

impl Route {
    fn of_one_segment(name: &[u8]) -> Option<Self> {
        [
            (Self::Capabilities, routes::CAPABILITIES),
            (Self::Heads, routes::HEADS),
            (Self::Documents, routes::DOCUMENTS),
            (Self::Move, routes::MOVE),
            (Self::Negotiate, routes::NEGOTIATE),
        ]
        .into_iter()
        .find_map(|(route, path)| (path.as_bytes() == name).then_some(route))
    }

    /// Whether the path has this method.
    pub(super) fn allows(&self, method: &Method) -> bool {
        self.allow().split(", ").any(|allowed| allowed == method)
    }

    /// Value of `Allow`: exactly the methods of http-binding §2.
    pub(super) fn allow(&self) -> &'static str {
        match self {
            Self::Capabilities => "GET",
            Self::Heads | Self::Move | Self::Negotiate => "POST",
            Self::Documents => "HEAD, GET, PUT, DELETE",
            Self::Staged(path) => match path.kind {
                Kind::Objects => "PUT",
                Kind::Pages | Kind::Blobs => "HEAD, PUT",
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Kind, Prefix, Route, StagedPath};

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
            ("/r/1/negotiate", Some(Route::Negotiate)),
            ("/r/1/negotiate/", None),
            ("/r/1/staging", None),
            ("/r/1/staging/s", None),
            ("/r/1/staging/s/pages", None),
            ("/r/1/staging/s/pages/", None),
            ("/r/1/staging//pages/h", None),
            ("/r/1/staging/s/elements/h", None),
            ("/r/1/staging/s/pages/h/", None),
            ("/r/1/staging/s/pages/h/i", None),
            ("/r/1", None),
            ("/r/1/", None),
            ("/documents", None),
            ("/r/2/documents", None),
            ("/", None),
            ("*", None),
        ] {
            assert_eq!(prefix.route(path), route, "{path}");
        }
        let staged = |session: &str, kind, name: &str| {
            Some(Route::Staged(StagedPath {
                session: session.to_owned(),
                kind,
                name: name.to_owned(),
            }))
        };
        for (path, route) in [
            ("/r/1/staging/s/pages/h", staged("s", Kind::Pages, "h")),
            (
                "/r/1/%73taging/a%2fb/%6Fbjects/dpe1%3Ax",
                staged("a/b", Kind::Objects, "dpe1:x"),
            ),
            (
                "/r/1/staging/s/blobs/%ff",
                staged("s", Kind::Blobs, "\u{FFFD}"),
            ),
        ] {
            assert_eq!(prefix.route(path), route, "{path}");
        }
        assert_eq!(Prefix::new("").route("/documents"), Some(Route::Documents));
        assert_eq!(Prefix::new("").route("//documents"), None);
    }
}
