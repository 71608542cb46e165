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

/// The rules. The default lets everybody write and force.
#[derive(Clone, Debug, Default)]
pub struct Access {
    must_authenticate: bool,
    /// `None`: everybody may write everything.
    writers: Option<Vec<(Identity, Vec<String>)>>,
    /// `None`: everybody may force, unless writers were named.
    forcers: Option<Vec<Identity>>,
}

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
}

/// Who sent a request; nobody in particular without `Authorization`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Caller(Option<Identity>);

impl Access {
    /// Refuses requests without `Authorization` from now on.
    pub fn require_authentication(&mut self) {
        self.must_authenticate = true;
    }

    /// Lets one caller write documents whose normalised URI begins with one of `prefixes`; `*` is
    /// every document. Callers without a grant cannot write any more.
    ///
    /// # Errors
    ///
    /// [`GrantError`] if a prefix is not in normal form; nothing is granted then.
    pub fn grant(
        &mut self,
        authorization: &str,
        prefixes: impl IntoIterator<Item = String>,
    ) -> Result<(), GrantError> {
        let prefixes = prefixes.into_iter().map(checked_prefix);
        let prefixes = prefixes.collect::<Result<_, _>>()?;
        let writers = self.writers.get_or_insert_default();
        writers.push((identity(authorization.as_bytes()), prefixes));
        Ok(())
    }

    /// Lets one caller overwrite without a condition, where it may write. Others cannot any more.
    pub fn grant_force(&mut self, authorization: &str) {
        let forcers = self.forcers.get_or_insert_default();
        forcers.push(identity(authorization.as_bytes()));
    }

    /// Step T3: returns the caller, or `None` if the request has to authenticate first.
    pub(super) fn caller(&self, headers: &HeaderMap) -> Option<Caller> {
        let value = merged(headers, &header::AUTHORIZATION).filter(|value| !value.is_empty());
        if value.is_none() && self.must_authenticate {
            return None;
        }
        Some(Caller(value.map(|value| identity(&value))))
    }

    pub(super) fn may_write(&self, caller: Caller, uri: &FileUri) -> bool {
        let Some(writers) = &self.writers else {
            return true;
        };
        let covers = |prefix: &String| prefix == "*" || uri.as_str().starts_with(prefix.as_str());
        writers
            .iter()
            .filter(|(identity, _)| caller.0.as_ref() == Some(identity))
            .any(|(_, prefixes)| prefixes.iter().any(covers))
    }

    /// Whether the caller may force where it may write.
    pub(super) fn may_force(&self, caller: Caller) -> bool {
        match &self.forcers {
            Some(forcers) => caller.0.is_some_and(|identity| forcers.contains(&identity)),
            None => self.writers.is_none(),
        }
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

    use super::{Access, GrantError};
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
        access.grant_force("Bearer root");
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
    fn required_authentication_refuses_only_requests_without_a_value() {
        let mut access = Access::default();
        access.require_authentication();
        assert_eq!(access.caller(&HeaderMap::new()), None);
        assert_eq!(access.caller(&from("")), None);
        assert!(access.caller(&from("anything")).is_some());
    }
}
