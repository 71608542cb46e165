//! Failure objects: what went wrong, at which level, and who caused it (connector contract §25).

use std::borrow::Cow;

/// How far a failure reaches (§25.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// The plugin broke the wire protocol; the round is void.
    Protocol,
    /// The plugin is not started or stopped; never retried by itself.
    Instance,
    /// The round is void.
    Round,
    /// Only this item; the round continues and the cursor is held.
    Item,
}

impl Level {
    /// Returns the name used in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Protocol => "protocol",
            Self::Instance => "instance",
            Self::Round => "round",
            Self::Item => "item",
        }
    }
}

/// Which side caused a failure (§25.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureSource {
    /// The plugin said so itself.
    Plugin,
    /// What the plugin produced broke a rule of the hash contract or the item envelope.
    Validation,
    /// What the plugin produced lies outside the instance's prefix.
    Prefix,
    /// The bytes of a blob could not be had.
    Blob,
    /// The remote refused or could not be reached.
    Remote,
    /// The runner itself, its definition or its state.
    Runner,
}

impl FailureSource {
    /// Returns the name used in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Plugin => "plugin",
            Self::Validation => "validation",
            Self::Prefix => "prefix",
            Self::Blob => "blob",
            Self::Remote => "remote",
            Self::Runner => "runner",
        }
    }
}

/// What an item failure is about: normalised URIs, or as received if they cannot be normalised.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Subject {
    /// Not known, or not an item failure.
    #[default]
    Unknown,
    /// One document.
    Document(String),
    /// Both sides of a move.
    Move {
        /// Where the document was.
        from_uri: String,
        /// Where it should be.
        to_uri: String,
    },
}

/// One failure as it appears in reports and logs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// How far it reaches.
    pub level: Level,
    /// Who caused it.
    pub source: FailureSource,
    /// A code of §25.3, or one of the remote's.
    pub code: Cow<'static, str>,
    /// For people.
    pub message: String,
    /// Whether the next round may succeed without anybody doing anything.
    pub retryable: bool,
    /// What it is about.
    pub subject: Subject,
    /// The error page that came instead of a DPE reply, if one did; never in a report (connector
    /// contract §35).
    pub page: Option<Box<ErrorPage>>,
}

/// What is kept of an error page, for people who ask to see everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorPage {
    /// Its first line.
    pub line: String,
}

impl Failure {
    /// Returns a failure of `level` that is about no particular item and not retryable.
    pub fn new(
        level: Level,
        source: FailureSource,
        code: impl Into<Cow<'static, str>>,
        message: impl Into<String>,
    ) -> Self {
        Self {
            level,
            source,
            code: code.into(),
            message: message.into(),
            retryable: false,
            subject: Subject::Unknown,
            page: None,
        }
    }

    /// Returns a failure for which the runner keeps an instance from running.
    pub fn instance(code: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self::new(Level::Instance, FailureSource::Runner, code, message)
    }

    /// Returns a failure for which the runner ends a round.
    pub fn round(code: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self::new(Level::Round, FailureSource::Runner, code, message)
    }

    /// Returns the failure of a plugin that broke the wire protocol.
    pub fn protocol(message: impl Into<String>) -> Self {
        let source = FailureSource::Runner;
        Self::new(Level::Protocol, source, "protocol_error", message)
    }

    /// Returns an item failure.
    pub fn item(
        source: FailureSource,
        code: impl Into<Cow<'static, str>>,
        message: impl Into<String>,
        subject: Subject,
    ) -> Self {
        Self {
            subject,
            ..Self::new(Level::Item, source, code, message)
        }
    }

    /// Returns the same failure, retryable or not.
    #[must_use]
    pub fn retryable(self, retryable: bool) -> Self {
        Self { retryable, ..self }
    }
}
