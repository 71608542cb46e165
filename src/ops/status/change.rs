//! One thing that is not as the last push left it, and what a push would do about it.

use dpe_connector_files::UNREADABLE;

use crate::model::{FileUri, Hash};
use crate::ops::source::PassedOver;
use crate::sync::failure::{Failure, FailureSource, Subject};

/// What has happened to a document since the last push.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// The source has it, and the remote has not.
    Added,
    /// The source has other content.
    Modified,
    /// The source has it under another name.
    Moved,
    /// The source has it no more.
    Deleted,
    /// Somebody else wrote it on the remote.
    Conflict,
    /// The remote has it below the prefix, and this source has never had it there.
    RemoteOnly,
    /// The source has a file of which no document can be made, and ought to be.
    Unreadable,
    /// The source has a file that is no document and is passed over.
    Unsupported,
}

impl Kind {
    /// Every kind, in the order in which they are told.
    pub const ALL: [Self; 8] = [
        Self::Added,
        Self::Modified,
        Self::Moved,
        Self::Deleted,
        Self::Conflict,
        Self::RemoteOnly,
        Self::Unreadable,
        Self::Unsupported,
    ];

    /// Returns the name that programs read.
    pub fn name(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Modified => "modified",
            Self::Moved => "moved",
            Self::Deleted => "deleted",
            Self::Conflict => "conflict",
            Self::RemoteOnly => "remote_only",
            Self::Unreadable => "unreadable",
            Self::Unsupported => "unsupported",
        }
    }
}

/// What a push would do about a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// It writes.
    Write,
    /// It reports a failure, and leaves the document as it is.
    Fail,
    /// Nothing.
    None,
}

impl Effect {
    /// Returns the name that programs read.
    pub fn name(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Fail => "fail",
            Self::None => "none",
        }
    }
}

/// One change. Ordered by kind, then by what it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// What has happened.
    pub kind: Kind,
    /// To which document, or where from and where to.
    pub subject: Subject,
    /// What a push would do about it.
    pub effect: Effect,
    /// Why, where the kind does not say it all.
    pub reason: Option<String>,
    /// What the remote holds, if it alone has the document.
    pub held: Option<Hash>,
    /// Whether the remote has not got it, because somebody else deleted it.
    pub is_gone: bool,
}

impl Change {
    /// Returns what a push would carry out.
    pub(super) fn planned(kind: Kind, subject: Subject) -> Self {
        Self {
            kind,
            subject,
            effect: Effect::Write,
            reason: None,
            held: None,
            is_gone: false,
        }
    }

    /// Returns a conflict, and what a push does about it.
    pub(super) fn conflict(subject: Subject, effect: Effect, reason: impl Into<String>) -> Self {
        Self {
            effect,
            reason: Some(reason.into()),
            ..Self::planned(Kind::Conflict, subject)
        }
    }

    /// Returns a document that the remote alone has.
    pub(super) fn remote_only(uri: &FileUri, held: Hash) -> Self {
        Self {
            effect: Effect::None,
            held: Some(held),
            ..Self::planned(Kind::RemoteOnly, document(uri))
        }
    }

    /// Returns what a failure of an item is.
    pub(super) fn failed(failure: &Failure) -> Self {
        let refusals = [
            "DPE_PRECONDITION_FAILED",
            "DPE_ALREADY_EXISTS",
            "DPE_NOT_FOUND",
        ];
        let is_conflict =
            failure.source == FailureSource::Remote && refusals.contains(&&*failure.code);
        Self {
            kind: match is_conflict {
                true => Kind::Conflict,
                false => Kind::Unreadable,
            },
            subject: failure.subject.clone(),
            effect: Effect::Fail,
            reason: Some(failure.message.clone()),
            held: None,
            is_gone: false,
        }
    }

    /// Returns a file that is passed over.
    pub(super) fn passed_over(file: PassedOver) -> Self {
        let (kind, why) = match file.why.strip_prefix(UNREADABLE) {
            Some(why) => (Kind::Unreadable, why.to_owned()),
            None => (Kind::Unsupported, file.why.replace('_', " ")),
        };
        Self {
            effect: Effect::None,
            reason: Some(why),
            ..Self::planned(kind, Subject::Document(file.uri))
        }
    }

    /// Returns the URIs that it is about: none, one, or where from and where to.
    pub fn uris(&self) -> impl Iterator<Item = &str> {
        let (first, second) = match &self.subject {
            Subject::Unknown => (None, None),
            Subject::Document(uri) => (Some(uri), None),
            Subject::Move { from_uri, to_uri } => (Some(from_uri), Some(to_uri)),
        };
        first.into_iter().chain(second).map(String::as_str)
    }
}

impl PartialOrd for Change {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Change {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let by_kind = self.kind.cmp(&other.kind);
        by_kind.then_with(|| self.uris().cmp(other.uris()))
    }
}

/// Returns a document as what something is about.
pub(super) fn document(uri: &FileUri) -> Subject {
    Subject::Document(uri.to_string())
}
