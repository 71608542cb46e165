//! Who may do what. The raw `Authorization` value is the caller's identity.
//!
//! Values are kept and compared as SHA-256 digests: a comparison then takes the same time wherever
//! two values differ, and a dump of the server holds no credential.

use http::{HeaderMap, header};
use miette::Diagnostic;
use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::model::{FileUri, InvalidUri};
use crate::protocol::response::merged;

type Identity = [u8; 32];

/// The rules. The default lets everybody read, write and force.
#[derive(Clone, Debug, Default)]
pub struct Access {
    must_authenticate: bool,
    /// `None`: everybody may write everything.
    writers: Option<Grants>,
    /// `None`: everybody may read everything.
    readers: Option<Grants>,
    /// `None`: everybody may force, unless writers were named.
    forcers: Option<Vec<Identity>>,
}

/// Callers and the prefixes of what they may do something to.
type Grants = Vec<(Identity, Vec<String>)>;

/// A grant that would never cover what it is meant to cover: documents are known by their
/// normalised URIs only.
#[derive(Clone, Debug, PartialEq, Eq, Error, Diagnostic)]
pub enum GrantError {
    /// The prefix has another normal form.
    #[error("documents below {prefix} are called {normal}")]
    #[diagnostic(
        code(dpe::server::grant_not_normal),
        help("grant {normal}, if that is what is meant")
    )]
    NotNormal {
        /// Prefix as it was given.
        prefix: String,
        /// Its normal form.
        normal: String,
    },
    /// The prefix begins no URI. It may be a misplaced credential and is not repeated.
    #[error("a granted prefix begins no URI")]
    #[diagnostic(
        code(dpe::server::grant_no_uri),
        help("give the credential first, then URI prefixes such as `dpe://docs/`, or `*` for all")
    )]
    NoUri(#[source] InvalidUri),
    /// No request can carry the credential. It is not repeated.
    #[error("a grant names a credential that no request can carry")]
    #[diagnostic(
        code(dpe::server::grant_no_credential),
        help(
            "give the complete value of Authorization, such as `Bearer …`: visible ASCII, with \
             blanks only inside"
        )
    )]
    NoCredential,
}

/// Who sent a request; nobody in particular without `Authorization`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Caller(Option<Identity>);

/// The documents a caller may read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Readable {
    All,
    /// Those whose normalised URIs begin with one of these.
    Below(Vec<String>),
}

impl Caller {
    /// Returns what tells callers apart; nobody in particular has no bytes.
    pub(super) fn key(&self) -> &[u8] {
        self.0.as_ref().map_or(&[], |identity| identity.as_slice())
    }
}

impl Access {
    /// Refuses requests without `Authorization` from now on, and where callers are named by grants
    /// those of anybody else.
    pub fn require_authentication(&mut self) {
        self.must_authenticate = true;
    }

    /// Lets only callers with a grant write from now on, even while there is none.
    pub fn require_grant_to_write(&mut self) {
        self.writers.get_or_insert_default();
    }

    /// Lets one caller write, and read, documents whose normalised URI begins with one of
    /// `prefixes`; `*` is every document. Callers without a grant cannot write any more.
    ///
    /// # Errors
    ///
    /// [`GrantError`] if a prefix is not in normal form or the credential no header value; nothing
    /// is granted then.
    pub fn grant(
        &mut self,
        authorization: &str,
        prefixes: impl IntoIterator<Item = String>,
    ) -> Result<(), GrantError> {
        let grant = checked(authorization, prefixes)?;
        self.writers.get_or_insert_default().push(grant);
        Ok(())
    }

    /// Lets one caller read documents whose normalised URI begins with one of `prefixes`; `*` is
    /// every document. From now on a caller reads what is granted to him, and writes only what is
    /// granted to be written: who may not read a document must not be able to replace it either.
    ///
    /// # Errors
    ///
    /// As for [`Access::grant`].
    pub fn grant_read(
        &mut self,
        authorization: &str,
        prefixes: impl IntoIterator<Item = String>,
    ) -> Result<(), GrantError> {
        let grant = checked(authorization, prefixes)?;
        self.readers.get_or_insert_default().push(grant);
        self.require_grant_to_write();
        Ok(())
    }

    /// Lets one caller overwrite without a condition, where it may write. Others cannot any more.
    ///
    /// # Errors
    ///
    /// [`GrantError::NoCredential`].
    pub fn grant_force(&mut self, authorization: &str) -> Result<(), GrantError> {
        let forcer = checked_identity(authorization)?;
        self.forcers.get_or_insert_default().push(forcer);
        Ok(())
    }

    /// Step T3: returns the caller, or `None` if the request has to authenticate first.
    pub(super) fn caller(&self, headers: &HeaderMap) -> Option<Caller> {
        let value = merged(headers, &header::AUTHORIZATION).filter(|value| !value.is_empty());
        let caller = Caller(value.map(|value| identity(&value)));
        (!self.must_authenticate || self.is_authentic(caller)).then_some(caller)
    }

    /// Whether the caller is one of those whom grants name, or anybody if they name nobody.
    fn is_authentic(&self, caller: Caller) -> bool {
        let Some(identity) = caller.0 else {
            return false;
        };
        let granted = [&self.writers, &self.readers].into_iter().flatten();
        let granted = granted.flatten().map(|(named, _)| named);
        let mut named = granted.chain(self.forcers.iter().flatten()).peekable();
        named.peek().is_none() || named.any(|named| *named == identity)
    }

    /// Whether writing needs no grant.
    pub fn lets_everybody_write(&self) -> bool {
        self.writers.is_none()
    }

    pub(super) fn may_write(&self, caller: Caller, uri: &FileUri) -> bool {
        let Some(writers) = &self.writers else {
            return true;
        };
        granted(writers, caller).any(|prefix| covers(prefix, uri))
    }

    /// Whether the caller may read a document, by a read grant or by a write grant.
    pub(super) fn may_read(&self, caller: Caller, uri: &FileUri) -> bool {
        self.prefixes_to_read(caller)
            .is_none_or(|mut prefixes| prefixes.any(|prefix| covers(prefix, uri)))
    }

    /// Returns what the caller may read.
    pub(super) fn readable(&self, caller: Caller) -> Readable {
        let Some(prefixes) = self.prefixes_to_read(caller) else {
            return Readable::All;
        };
        let below: Vec<_> = prefixes.map(str::to_owned).collect();
        if below.iter().any(|prefix| prefix == "*") {
            Readable::All
        } else {
            Readable::Below(below)
        }
    }

    /// Returns the prefixes that are granted to the caller; `None` if reading needs no grant.
    fn prefixes_to_read(&self, caller: Caller) -> Option<impl Iterator<Item = &str>> {
        let readers = self.readers.as_ref()?;
        let writers = self.writers.as_deref().unwrap_or_default();
        Some(granted(readers, caller).chain(granted(writers, caller)))
    }

    /// Whether the caller may force where it may write.
    pub(super) fn may_force(&self, caller: Caller) -> bool {
        match &self.forcers {
            Some(forcers) => caller.0.is_some_and(|identity| forcers.contains(&identity)),
            None => self.writers.is_none(),
        }
    }
}

impl Readable {
    /// Whether there is no document that the caller may read, now or later.
    pub(super) fn is_nothing(&self) -> bool {
        matches!(self, Self::Below(prefixes) if prefixes.is_empty())
    }

    /// Returns prefixes for exactly the readable documents that begin with `prefix`: sorted, and
    /// none of them the beginning of another.
    pub(super) fn within(self, prefix: String) -> Vec<String> {
        let Self::Below(granted) = self else {
            return vec![prefix];
        };
        let narrower = granted.into_iter().filter_map(|granted| {
            if granted.starts_with(&prefix) {
                Some(granted)
            } else {
                prefix.starts_with(&granted).then(|| prefix.clone())
            }
        });
        let mut prefixes: Vec<_> = narrower.collect();
        prefixes.sort_unstable();
        // What a prefix covers follows it immediately.
        prefixes.dedup_by(|next, kept| next.starts_with(kept.as_str()));
        prefixes
    }
}

/// Returns the prefixes granted to a caller.
fn granted(grants: &[(Identity, Vec<String>)], caller: Caller) -> impl Iterator<Item = &str> {
    grants
        .iter()
        .filter(move |(identity, _)| caller.0.as_ref() == Some(identity))
        .flat_map(|(_, prefixes)| prefixes.iter().map(String::as_str))
}

fn covers(prefix: &str, uri: &FileUri) -> bool {
    prefix == "*" || uri.as_str().starts_with(prefix)
}

fn checked(
    authorization: &str,
    prefixes: impl IntoIterator<Item = String>,
) -> Result<(Identity, Vec<String>), GrantError> {
    let identity = checked_identity(authorization)?;
    let prefixes = prefixes.into_iter().map(checked_prefix);
    Ok((identity, prefixes.collect::<Result<_, _>>()?))
}

/// The rule for header values of http-binding §13.3, and not empty: that is no authentication.
fn checked_identity(authorization: &str) -> Result<Identity, GrantError> {
    let bytes = authorization.as_bytes();
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let is_sendable = !bytes.is_empty()
        && bytes.trim_ascii() == bytes
        && bytes
            .iter()
            .all(|byte| byte.is_ascii_graphic() || is_blank(byte));
    if is_sendable {
        Ok(identity(bytes))
    } else {
        Err(GrantError::NoCredential)
    }
}

fn checked_prefix(prefix: String) -> Result<String, GrantError> {
    if prefix == "*" {
        return Ok(prefix);
    }
    let normal = FileUri::parse(&prefix).map_err(GrantError::NoUri)?;
    if normal.as_str() == prefix {
        return Ok(prefix);
    }
    Err(GrantError::NotNormal {
        prefix,
        normal: normal.to_string(),
    })
}

fn identity(authorization: &[u8]) -> Identity {
    Sha256::digest(authorization).into()
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderValue, header};

    use super::{Access, GrantError, Readable};
    use crate::model::FileUri;

    fn from(authorization: &'static str) -> HeaderMap {
        let value = HeaderValue::from_static(authorization);
        HeaderMap::from_iter([(header::AUTHORIZATION, value)])
    }

    #[test]
    fn without_grants_everybody_may_write_and_force() {
        let access = Access::default();
        let nobody = access.caller(&HeaderMap::new()).unwrap();
        let uri = FileUri::parse("x:y").unwrap();
        assert!(access.may_write(nobody, &uri) && access.may_force(nobody));
    }

    #[test]
    fn grants_bind_callers_to_prefixes_and_force_to_the_named() {
        let mut access = Access::default();
        let prefixes = ["x://a/", "x://b/"].map(str::to_owned);
        access.grant("Bearer a", prefixes).unwrap();
        access.grant("Bearer root", ["*".to_owned()]).unwrap();
        access.grant_force("Bearer root").unwrap();
        let [a, root, nobody] = [from("Bearer a"), from("Bearer root"), HeaderMap::new()]
            .map(|headers| access.caller(&headers).unwrap());
        for (uri, a_may) in [("x://a/1", true), ("x://b/1", true), ("x://c/1", false)] {
            let uri = FileUri::parse(uri).unwrap();
            assert_eq!(access.may_write(a, &uri), a_may, "{uri:?}");
            assert!(access.may_write(root, &uri));
            assert!(!access.may_write(nobody, &uri));
        }
        assert!(access.may_force(root));
        assert!(!access.may_force(a) && !access.may_force(nobody));
    }

    #[test]
    fn read_grants_bind_reading_and_writers_read_what_they_write() {
        let mut access = Access::default();
        let all = |access: &Access, headers: &HeaderMap| {
            let caller = access.caller(headers).unwrap();
            ["x://a/1", "x://b/1"].map(|uri| {
                let uri = FileUri::parse(uri).unwrap();
                (
                    access.may_read(caller, &uri),
                    access.may_write(caller, &uri),
                )
            })
        };
        access.grant("Bearer a", ["x://a/".to_owned()]).unwrap();
        assert_eq!(all(&access, &HeaderMap::new()), [(true, false); 2]);
        access
            .grant_read("Bearer r", ["x://b/".to_owned()])
            .unwrap();
        assert_eq!(all(&access, &HeaderMap::new()), [(false, false); 2]);
        let [a, r] = ["Bearer a", "Bearer r"].map(from);
        assert_eq!(all(&access, &a), [(true, true), (false, false)]);
        assert_eq!(all(&access, &r), [(false, false), (true, false)]);
        access.grant_read("Bearer a", ["*".to_owned()]).unwrap();
        assert_eq!(all(&access, &a), [(true, true), (true, false)]);
    }

    #[test]
    fn a_read_grant_alone_lets_nobody_write() {
        let mut access = Access::default();
        access.grant_read("Bearer r", ["*".to_owned()]).unwrap();
        let uri = FileUri::parse("x:y").unwrap();
        for headers in [HeaderMap::new(), from("Bearer r")] {
            let caller = access.caller(&headers).unwrap();
            assert!(!access.may_write(caller, &uri) && !access.may_force(caller));
        }
    }

    #[test]
    fn readable_prefixes_are_cut_to_the_wanted_one_without_overlap() {
        let below = |prefixes: &[&str]| {
            Readable::Below(prefixes.iter().map(|prefix| (*prefix).to_owned()).collect())
        };
        for (granted, wanted, expected) in [
            (below(&[]), "", &[][..]),
            (below(&["x:b", "x:a"]), "", &["x:a", "x:b"]),
            (below(&["x:ab", "x:a", "x:a", "x:b"]), "", &["x:a", "x:b"]),
            (below(&["x:a!", "x:a", "x:a-"]), "", &["x:a"]),
            (below(&["x:a", "x:b"]), "x:ab", &["x:ab"]),
            (below(&["x:a", "x:ab"]), "x:ab", &["x:ab"]),
            (below(&["x:a"]), "y", &[]),
            (Readable::All, "é", &["é"]),
        ] {
            let found = granted.clone().within(wanted.to_owned());
            assert_eq!(found, expected, "{granted:?} within {wanted}");
        }
    }

    #[test]
    fn credential_that_no_request_can_carry_is_refused() {
        let mut access = Access::default();
        for credential in ["", " Bearer a", "Bearer a\n", "Bearer \u{1}", "Bearer é"] {
            let all = || ["*".to_owned()];
            assert_eq!(
                access.grant(credential, all()),
                Err(GrantError::NoCredential)
            );
            let read = access.grant_read(credential, all());
            assert_eq!(read, Err(GrantError::NoCredential));
            assert_eq!(
                access.grant_force(credential),
                Err(GrantError::NoCredential)
            );
        }
        let nobody = access.caller(&HeaderMap::new()).unwrap();
        assert!(access.may_force(nobody), "nothing was granted");
    }

    #[test]
    fn prefix_that_no_normalised_uri_begins_with_is_refused() {
        let mut access = Access::default();
        let mut grant = |prefix: &str| access.grant("Bearer a", [prefix.to_owned()]);
        for (prefix, normal) in [
            ("DPE://Docs/", "dpe://docs/"),
            ("dpe://docs/%7e", "dpe://docs/~"),
            ("X:a%c3", "x:a%C3"),
        ] {
            let expected = GrantError::NotNormal {
                prefix: prefix.to_owned(),
                normal: normal.to_owned(),
            };
            assert_eq!(grant(prefix), Err(expected));
            assert_eq!(grant(normal), Ok(()));
        }
        for prefix in ["", "docs", "x:é", "x:%c", "Bearer b"] {
            let refused = grant(prefix);
            assert!(matches!(refused, Err(GrantError::NoUri(_))), "{prefix}");
        }
    }

    #[test]
    fn refused_grant_grants_nothing_and_takes_nothing() {
        let mut access = Access::default();
        let prefixes = ["x:a", "X:b"].map(str::to_owned);
        assert!(access.grant("Bearer a", prefixes).is_err());
        let nobody = access.caller(&HeaderMap::new()).unwrap();
        assert!(access.may_write(nobody, &FileUri::parse("x:c").unwrap()));
    }

    #[test]
    fn required_authentication_takes_any_value_while_nobody_is_named() {
        let mut access = Access::default();
        access.require_authentication();
        access.require_grant_to_write();
        assert_eq!(access.caller(&HeaderMap::new()), None);
        assert_eq!(access.caller(&from("")), None);
        assert!(access.caller(&from("anything")).is_some());
    }

    #[test]
    fn required_authentication_takes_only_the_values_that_a_grant_names() {
        let all = || ["*".to_owned()];
        type Grant = fn(&mut Access) -> Result<(), GrantError>;
        let grants: [Grant; 3] = [
            |access| access.grant("Bearer a", ["*".to_owned()]),
            |access| access.grant_read("Bearer a", ["*".to_owned()]),
            |access| access.grant_force("Bearer a"),
        ];
        for grant in grants {
            let mut access = Access::default();
            access.require_authentication();
            grant(&mut access).unwrap();
            for unnamed in ["", "Bearer b", "Bearer", "bearer a"] {
                assert_eq!(access.caller(&from(unnamed)), None, "{unnamed}");
            }
            assert_eq!(access.caller(&HeaderMap::new()), None);
            assert!(access.caller(&from("Bearer a")).is_some());
            access.grant("Bearer b", all()).unwrap();
            assert!(access.caller(&from("Bearer b")).is_some());
        }
    }
}
