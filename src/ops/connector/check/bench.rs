//! Where verdicts come together.

use crate::host::{Deadlines, Trouble};
use crate::ops::connector::error::ConnectorError;

use super::session::{ROOMY, start};
use super::{Checked, Rule, Subject, Verdict, rule};

/// What trying out a rule came to: what was seen, or why the rule is not known to be kept.
pub(super) type Found<T> = Result<T, Why>;

/// Why a rule is not known to be kept.
#[derive(Clone, Debug)]
pub(super) enum Why {
    /// It is broken.
    Broken(String),
    /// Something else than a response was on stdout, so nothing can be said about this rule.
    Framing(String),
    /// It could not be tried out.
    Unknown(String),
    /// It could not be tried out, because the plugin says that its source cannot be read
    /// (connector contract §9).
    Source(String),
}

impl Why {
    /// Returns that the rule is broken.
    pub(super) fn broken(why: impl Into<String>) -> Self {
        Self::Broken(why.into())
    }

    /// Returns that the rule could not be tried out.
    pub(super) fn unknown(why: impl Into<String>) -> Self {
        Self::Unknown(why.into())
    }

    /// Returns why a rule is broken that was tried out when the source had been read already.
    pub(super) fn with_a_source(self) -> Self {
        match self {
            Self::Source(why) => {
                Self::Broken(format!("says that its source cannot be read: {why}"))
            }
            other => other,
        }
    }
}

impl From<Trouble> for Why {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Framing(why) => Self::Framing(why),
            // The grace is the contract's (§34): nobody is allowed more of it.
            Trouble::Silent(within, _) if within != Deadlines::default().grace => {
                Self::Broken(format!("{trouble}; --wait allows more time"))
            }
            other => Self::Broken(other.to_string()),
        }
    }
}

/// Takes the verdicts of one examination.
pub(super) struct Bench<'b> {
    pub(super) subject: &'b Subject,
    tell: &'b mut dyn FnMut(Checked),
    /// What was on stdout first that should not be there.
    framing: Option<String>,
    /// Whether anything the plugin said was as it should be.
    is_heard: bool,
    has_failed: bool,
    /// Why the source cannot be read.
    source: Option<String>,
}

impl<'b> Bench<'b> {
    pub(super) fn new(subject: &'b Subject, tell: &'b mut dyn FnMut(Checked)) -> Self {
        Self {
            subject,
            tell,
            framing: None,
            is_heard: false,
            has_failed: false,
            source: None,
        }
    }

    /// Tries whether there is a program at all.
    pub(super) fn start(&self) -> Result<(), ConnectorError> {
        start(self.subject, ROOMY)
            .map(drop)
            .map_err(|source| ConnectorError::Start {
                program: self.subject.program.clone(),
                source,
            })
    }

    /// Takes what trying out a rule came to.
    pub(super) fn take(&mut self, rule: Rule, found: Found<String>) {
        let (verdict, detail) = match found {
            Ok(detail) => (Verdict::Ok, detail),
            Err(Why::Broken(why)) => (Verdict::Failed, why),
            Err(Why::Unknown(why)) => (Verdict::Skipped, why),
            Err(Why::Source(why)) => {
                let detail = format!("the source cannot be read: {why}");
                self.source.get_or_insert(why);
                (Verdict::Skipped, detail)
            }
            Err(Why::Framing(why)) => {
                self.framing.get_or_insert(why);
                (Verdict::Skipped, "the framing is broken".to_owned())
            }
        };
        self.is_heard |= verdict == Verdict::Ok && rule != rule::MANIFEST;
        self.has_failed |= verdict == Verdict::Failed;
        (self.tell)(Checked {
            rule,
            verdict,
            detail: self.subject.mask.hide(&detail).into_owned(),
        });
    }

    /// Takes that rules cannot be tried out, for want of something else.
    pub(super) fn skip(&mut self, rules: &[Rule], why: &str) {
        for rule in rules {
            self.take(*rule, Err(Why::unknown(why)));
        }
    }

    /// Takes the verdict that all processes together lead to, and returns whether no rule is broken.
    ///
    /// # Errors
    ///
    /// When none is, but most of them could not be tried out.
    pub(super) fn finish(mut self) -> Result<bool, ConnectorError> {
        let found = match self.framing.take() {
            Some(why) => Err(Why::Broken(why)),
            None if self.is_heard => Ok("nothing but responses on stdout".to_owned()),
            None => Err(Why::unknown("nothing of use was on stdout")),
        };
        self.take(rule::FRAMING, found);
        match self.source {
            Some(why) if !self.has_failed => Err(ConnectorError::Source {
                why: self.subject.mask.hide(&why).into_owned(),
            }),
            _ => Ok(!self.has_failed),
        }
    }
}
