//! Hides the secrets of an instance in everything that is told of it (connector contract §7.3).

use std::fmt;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, OnceLock};

use crate::config::Mask;
use crate::sync::failure::{Failure, Subject};

/// Stands in place of a text in which nothing could be hidden.
const UNREDACTABLE: &str = "[not shown: hiding secrets in it failed]";

/// Hides the secrets of one instance. Clones know the same ones; before they are known, there is
/// nothing to hide.
#[derive(Clone, Default)]
pub struct Redaction(Arc<OnceLock<Mask>>);

impl Redaction {
    /// Makes the secrets of the instance known.
    pub(super) fn know(&self, mask: Mask) {
        // A second mask would be that of a second call, which has a value of its own.
        let _ = self.0.set(mask);
    }

    /// Returns a message without secrets.
    pub fn text(&self, text: &str) -> String {
        self.apply(|mask| mask.hide(text).into_owned(), text)
    }

    /// Returns a name, such as a URI, without secrets.
    pub fn name(&self, name: &str) -> String {
        self.apply(|mask| mask.hide_in_name(name).into_owned(), name)
    }

    /// Returns a failure without secrets.
    pub fn failure(&self, failure: &Failure) -> Failure {
        Failure {
            message: self.text(&failure.message),
            subject: match &failure.subject {
                Subject::Unknown => Subject::Unknown,
                Subject::Document(uri) => Subject::Document(self.name(uri)),
                Subject::Move { from_uri, to_uri } => Subject::Move {
                    from_uri: self.name(from_uri),
                    to_uri: self.name(to_uri),
                },
            },
            ..failure.clone()
        }
    }

    fn apply(&self, hide: impl FnOnce(&Mask) -> String, text: &str) -> String {
        match self.0.get() {
            None => text.to_owned(),
            Some(mask) => panic::catch_unwind(AssertUnwindSafe(|| hide(mask)))
                .unwrap_or_else(|_| UNREDACTABLE.to_owned()),
        }
    }
}

impl fmt::Debug for Redaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Redaction")
    }
}

#[cfg(test)]
mod tests {
    use super::{Redaction, UNREDACTABLE};
    use crate::config::{Mask, Secret};
    use crate::sync::failure::{Failure, FailureSource, Subject};

    #[test]
    fn messages_and_names_of_a_failure_lose_their_secrets() {
        let redaction = Redaction::default();
        let subject = Subject::Move {
            from_uri: "t://hunter2-token".into(),
            to_uri: "t://b".into(),
        };
        let source = FailureSource::Plugin;
        let failure = Failure::item(source, "internal", "no hunter2-token", subject);
        assert_eq!(redaction.failure(&failure), failure);
        let secret = Secret::new("hunter2-token".to_owned());
        redaction.know(Mask::of_instance([secret], None));
        let hidden = redaction.failure(&failure);
        assert_eq!(hidden.message, "no [REDACTED]");
        let expected = Subject::Move {
            from_uri: "t://[REDACTED]".into(),
            to_uri: "t://b".into(),
        };
        assert_eq!(hidden.subject, expected);
    }

    #[test]
    fn a_text_in_which_hiding_fails_is_not_shown() {
        let redaction = Redaction::default();
        redaction.know(Mask::default());
        let shown = redaction.apply(|_| panic!("defect"), "secret");
        assert_eq!(shown, UNREDACTABLE);
    }
}
