//! The file of `dpe serve --auth-file`: who may do what, without secrets in it.
//!
//! Reads text and gives values; where the credentials are is named here and looked up elsewhere.
//! Errors name lines and never repeat a value, which could be a misplaced secret.

use std::fmt;
use std::path::{Path, PathBuf};

use miette::Diagnostic;
use thiserror::Error;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::credential_source::CredentialSource;

/// What an auth file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuthFile {
    /// Whether requests without `Authorization` are refused.
    pub require_auth: bool,
    /// Who may do what.
    pub callers: Vec<Caller>,
}

/// One caller and what he may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// Where this caller is in the file.
    pub at: Place,
    /// Where his `Authorization` value is.
    pub credential: CredentialSource,
    /// Prefixes of the documents he may write.
    pub write: Vec<String>,
    /// Prefixes of the documents he may read.
    pub read: Vec<String>,
    /// Whether he may overwrite without a condition.
    pub force: bool,
}

/// A line of an auth file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub path: PathBuf,
    /// Its line, from 1.
    pub line: usize,
}

/// An auth file that says nothing usable.
#[derive(Clone, Debug, PartialEq, Eq, Error, Diagnostic)]
pub enum AuthFileError {
    /// The text is no TOML.
    #[error("{at}: {why}")]
    #[diagnostic(code(dpe::config::auth_syntax), help("write it as TOML"))]
    Syntax {
        /// Where.
        at: Place,
        /// What the parser says.
        why: String,
    },
    /// A key that means nothing.
    #[error("{at}: there is no key {key:?} here")]
    #[diagnostic(code(dpe::config::auth_key), help("the keys here are {known}"))]
    UnknownKey {
        /// Where.
        at: Place,
        /// The key.
        key: String,
        /// Keys that mean something.
        known: &'static str,
    },
    /// A value of the wrong type.
    #[error("{at}: {key} is not {wanted}")]
    #[diagnostic(code(dpe::config::auth_type), help("for example: {key} = {example}"))]
    Type {
        /// Where.
        at: Place,
        /// Key of the value.
        key: &'static str,
        /// What it has to be.
        wanted: &'static str,
        /// Something that would do.
        example: &'static str,
    },
    /// A caller whose credential is missing, is written down, or is in two places.
    #[error("{at}: {why}")]
    #[diagnostic(
        code(dpe::config::auth_credential),
        help(
            "secrets stay out of this file: write credential = {{ env = \"DOCS_WRITER\" }} with the \
             name of a variable, or {{ file = \"…\" }} with the path of a file that holds the whole \
             Authorization value"
        )
    )]
    Credential {
        /// Where.
        at: Place,
        /// What is wrong.
        why: &'static str,
    },
    /// A caller who may do nothing.
    #[error("{at}: this caller is granted nothing")]
    #[diagnostic(
        code(dpe::config::auth_nothing),
        help("add write = [\"dpe://docs/\"], read = [\"*\"] or force = true, or leave him out")
    )]
    Nothing {
        /// Where.
        at: Place,
    },
}

impl AuthFile {
    /// Reads the text of the file at `path`; the path is only for messages.
    ///
    /// # Errors
    ///
    /// [`AuthFileError`].
    pub fn parse(text: &str, path: &Path) -> Result<Self, AuthFileError> {
        let reader = Reader { text, path };
        let root = DeTable::parse(text).map_err(|error| AuthFileError::Syntax {
            at: reader.at(error.span().map_or(0, |span| span.start)),
            why: error.message().to_owned(),
        })?;
        let mut file = Self::default();
        for (key, value) in root.get_ref() {
            match &**key.get_ref() {
                "require_auth" => file.require_auth = reader.switch("require_auth", value)?,
                "caller" => file.callers = reader.callers(value)?,
                _ => return Err(reader.unknown(key, "require_auth and caller")),
            }
        }
        Ok(file)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} line {}", self.path.display(), self.line)
    }
}

struct Reader<'a> {
    text: &'a str,
    path: &'a Path,
}

type Item<'a> = Spanned<DeValue<'a>>;

impl Reader<'_> {
    fn callers(&self, value: &Item<'_>) -> Result<Vec<Caller>, AuthFileError> {
        let wrong = |at| self.wrong(at, "caller", "an array of tables", "[{ … }], or [[caller]]");
        let DeValue::Array(items) = value.get_ref() else {
            return Err(wrong(value));
        };
        let caller = |item| match Spanned::get_ref(item) {
            DeValue::Table(table) => self.caller(item, table),
            _ => Err(wrong(item)),
        };
        items.iter().map(caller).collect()
    }

    fn caller(&self, item: &Item<'_>, table: &DeTable<'_>) -> Result<Caller, AuthFileError> {
        let at = self.at(item.span().start);
        let (mut credential, mut write, mut read, mut force) = (None, None, None, false);
        for (key, value) in table {
            match &**key.get_ref() {
                "credential" => credential = Some(self.credential(value)?),
                "write" => write = Some(self.prefixes("write", value)?),
                "read" => read = Some(self.prefixes("read", value)?),
                "force" => force = self.switch("force", value)?,
                _ => return Err(self.unknown(key, "credential, write, read and force")),
            }
        }
        let Some(credential) = credential else {
            let why = "this caller has no credential";
            return Err(AuthFileError::Credential { at, why });
        };
        let (write, read) = (write.unwrap_or_default(), read.unwrap_or_default());
        if write.is_empty() && read.is_empty() && !force {
            return Err(AuthFileError::Nothing { at });
        }
        Ok(Caller {
            at,
            credential,
            write,
            read,
            force,
        })
    }

    fn credential(&self, value: &Item<'_>) -> Result<CredentialSource, AuthFileError> {
        let refused = |why| AuthFileError::Credential {
            at: self.at(value.span().start),
            why,
        };
        let DeValue::Table(table) = value.get_ref() else {
            return Err(refused("a credential is written down here"));
        };
        let mut sources = Vec::new();
        for (key, value) in table {
            sources.push(match (&**key.get_ref(), value.get_ref()) {
                ("env", DeValue::String(name)) => CredentialSource::Env(name.to_string()),
                ("file", DeValue::String(path)) => CredentialSource::File((&**path).into()),
                ("env", _) => return Err(self.wrong(value, "env", "a string", "\"DOCS_WRITER\"")),
                ("file", _) => {
                    return Err(self.wrong(value, "file", "a string", "\"writer.auth\""));
                }
                _ => return Err(self.unknown(key, "env and file")),
            });
        }
        let only = sources.pop().filter(|_| sources.is_empty());
        only.ok_or_else(|| refused("a credential is in exactly one place"))
    }

    fn prefixes(&self, key: &'static str, value: &Item<'_>) -> Result<Vec<String>, AuthFileError> {
        let wrong = |at| self.wrong(at, key, "an array of strings", "[\"dpe://docs/\"]");
        let DeValue::Array(items) = value.get_ref() else {
            return Err(wrong(value));
        };
        let prefix = |item| match Spanned::get_ref(item) {
            DeValue::String(prefix) => Ok(prefix.to_string()),
            _ => Err(wrong(item)),
        };
        items.iter().map(prefix).collect()
    }

    fn switch(&self, key: &'static str, value: &Item<'_>) -> Result<bool, AuthFileError> {
        match value.get_ref() {
            DeValue::Boolean(is_on) => Ok(*is_on),
            _ => Err(self.wrong(value, key, "true or false", "true")),
        }
    }

    fn wrong(
        &self,
        value: &Item<'_>,
        key: &'static str,
        wanted: &'static str,
        example: &'static str,
    ) -> AuthFileError {
        AuthFileError::Type {
            at: self.at(value.span().start),
            key,
            wanted,
            example,
        }
    }

    fn unknown(
        &self,
        key: &Spanned<impl std::ops::Deref<Target = str>>,
        known: &'static str,
    ) -> AuthFileError {
        AuthFileError::UnknownKey {
            at: self.at(key.span().start),
            key: key.get_ref().to_string(),
            known,
        }
    }

    fn at(&self, offset: usize) -> Place {
        let before = &self.text.as_bytes()[..offset.min(self.text.len())];
        Place {
            path: self.path.to_owned(),
            line: before.iter().filter(|&&byte| byte == b'\n').count() + 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use miette::Diagnostic;

    use super::{AuthFile, AuthFileError, Caller, Place};
    use crate::config::CredentialSource;

    fn parse(text: &str) -> Result<AuthFile, AuthFileError> {
        AuthFile::parse(text, Path::new("auth.toml"))
    }

    fn line(line: usize) -> Place {
        let path = "auth.toml".into();
        Place { path, line }
    }

    #[test]
    fn callers_and_their_grants_are_read() {
        let file = parse(
            r#"
            require_auth = true

            [[caller]]
            credential = { env = "DOCS_WRITER" }
            write = ["dpe://docs/", "dpe://wiki/"]
            force = true

            [[caller]]
            credential.file = "reader.auth"
            read = ["*"]
            "#,
        );
        let expected = AuthFile {
            require_auth: true,
            callers: vec![
                Caller {
                    at: line(4),
                    credential: CredentialSource::Env("DOCS_WRITER".to_owned()),
                    write: vec!["dpe://docs/".to_owned(), "dpe://wiki/".to_owned()],
                    read: Vec::new(),
                    force: true,
                },
                Caller {
                    at: line(9),
                    credential: CredentialSource::File("reader.auth".into()),
                    write: Vec::new(),
                    read: vec!["*".to_owned()],
                    force: false,
                },
            ],
        };
        assert_eq!(file, Ok(expected));
        assert_eq!(parse(""), Ok(AuthFile::default()));
    }

    #[test]
    fn mistakes_are_told_by_line_with_a_way_out() {
        let caller = "[[caller]]\ncredential = { env = \"A\" }\n";
        for (text, expected) in [
            ("a = ".to_owned(), "auth.toml line 1: "),
            (
                "\nrequire_auht = true".to_owned(),
                "auth.toml line 2: there is no key \"require_auht\" here",
            ),
            (
                "require_auth = 1".to_owned(),
                "auth.toml line 1: require_auth is not true or false",
            ),
            (
                "caller = 1".to_owned(),
                "auth.toml line 1: caller is not an array of tables",
            ),
            (
                "caller = [1]".to_owned(),
                "auth.toml line 1: caller is not an array of tables",
            ),
            (
                format!("{caller}wirte = [\"*\"]"),
                "auth.toml line 3: there is no key \"wirte\" here",
            ),
            (
                format!("{caller}write = \"*\""),
                "auth.toml line 3: write is not an array of strings",
            ),
            (
                format!("{caller}read = [\"*\",\n1]"),
                "auth.toml line 4: read is not an array of strings",
            ),
            (
                format!("{caller}force = \"no\""),
                "auth.toml line 3: force is not true or false",
            ),
            (
                caller.to_owned(),
                "auth.toml line 1: this caller is granted nothing",
            ),
            (
                format!("{caller}write = []"),
                "auth.toml line 1: this caller is granted nothing",
            ),
            (
                "[[caller]]\nwrite = [\"*\"]".to_owned(),
                "auth.toml line 1: this caller has no credential",
            ),
            (
                "[[caller]]\ncredential = {}".to_owned(),
                "auth.toml line 2: a credential is in exactly one place",
            ),
            (
                "[[caller]]\ncredential = { env = \"A\", file = \"b\" }".to_owned(),
                "auth.toml line 2: a credential is in exactly one place",
            ),
            (
                "[[caller]]\ncredential = { env = 1 }".to_owned(),
                "auth.toml line 2: env is not a string",
            ),
            (
                "[[caller]]\ncredential = { value = \"x\" }".to_owned(),
                "auth.toml line 2: there is no key \"value\" here",
            ),
        ] {
            let error = parse(&text).unwrap_err();
            assert!(
                error.to_string().starts_with(expected),
                "{error} for {text}"
            );
            assert!(error.code().is_some() && error.help().is_some(), "{text}");
        }
    }

    #[test]
    fn written_down_credential_is_refused_and_not_repeated() {
        for text in [
            "[[caller]]\ncredential = \"Bearer hunter2\"\nwrite = [\"*\"]",
            "[[caller]]\ncredential = [\"Bearer hunter2\"]",
            "[[caller]]\ncredential = { value = \"Bearer hunter2\" }",
            "[[caller]]\ncredential = { env = [\"Bearer hunter2\"] }",
            "[[caller]]\nwrite = \"Bearer hunter2\"",
            "[[caller]]\nwrite = [\"*\"]\ncredential = \"Bearer hunter2",
            "caller = \"Bearer hunter2\"",
            "require_auth = \"Bearer hunter2\"",
        ] {
            let error = parse(text).unwrap_err();
            let help = error.help().unwrap();
            let said = format!("{error} {error:?} {help}");
            assert!(!said.contains("hunter2"), "{said}");
        }
        let literal = parse("[[caller]]\ncredential = \"Bearer hunter2\"").unwrap_err();
        let help = literal.help().unwrap().to_string();
        assert!(help.contains("{ env = \"DOCS_WRITER\" }"), "{help}");
    }
}
