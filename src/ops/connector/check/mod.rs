//! Examines a connector: the obligations of plugins (connector contract §30), each tried out on
//! processes of their own, so that one broken rule does not hide another.
//!
//! The source should stand still meanwhile, and be small: it is enumerated a few times. Nothing is
//! delivered anywhere.

mod bad_config;
mod bench;
mod blobs;
mod ends;
mod enumeration;
mod handshake;
mod rounds;
mod rule;
mod session;
mod subject;

use super::error::ConnectorError;
use bench::Bench;

pub use rule::Rule;
pub use subject::{Asked, Command, Subject};

/// The verdict on one rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// The rule.
    pub rule: Rule,
    /// What was found.
    pub verdict: Verdict,
    /// What was seen, for people.
    pub detail: String,
}

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The rule is kept.
    Ok,
    /// It is broken.
    Failed,
    /// It could not be tried out.
    Skipped,
}

impl Verdict {
    /// Returns the word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }
}

/// Examines a connector and tells every verdict as soon as it is known. Returns whether no rule is
/// broken.
///
/// # Errors
///
/// When the program cannot be started, or it cannot read its source, so that most of the rules could
/// not be tried out.
pub async fn check(
    subject: &Subject,
    tell: &mut dyn FnMut(Checked),
) -> Result<bool, ConnectorError> {
    let mut bench = Bench::new(subject, tell);
    bench.start()?;
    handshake::check(&mut bench).await;
    rounds::check(&mut bench).await;
    bench.finish()
}
