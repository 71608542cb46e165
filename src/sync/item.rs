//! Judges the envelope of one item of a batch (connector contract §12).
//!
//! The content of a document is not looked at here; the model does that when the segments of
//! the document are put together.

use crate::json::{Kind, Value};
use crate::model::FileUri;

use super::failure::{Failure, FailureSource, Subject};

/// One well-formed item.
#[derive(Debug)]
pub enum Item<'t> {
    /// A document, or one segment of it.
    Segment(Segment<'t>),
    /// A document is gone from the source.
    Delete {
        /// Which one.
        uri: FileUri,
    },
    /// A document has another name in the source.
    Move {
        /// Its old name.
        from: FileUri,
        /// Its new name.
        to: FileUri,
    },
    /// The plugin could not produce something, and says so.
    Error(Failure),
}

/// One segment of a document (§13).
#[derive(Debug)]
pub struct Segment<'t> {
    /// Which document.
    pub uri: FileUri,
    /// The members of the document object without `pages`; only on the first segment.
    pub head: Option<Value<'t>>,
    /// Expanded pages: an array.
    pub pages: Value<'t>,
    /// Whether another segment follows.
    pub continued: bool,
}

/// An item that is not taken, and what of it still matters for the rules of segments.
#[derive(Debug)]
pub struct Rejected {
    /// What is reported.
    pub failure: Failure,
    /// Present if the item can be recognised as a segment of a document.
    pub segment: Option<RejectedSegment>,
}

/// The recognisable rest of a rejected segment.
#[derive(Debug, PartialEq, Eq)]
pub struct RejectedSegment {
    /// Which document.
    pub uri: FileUri,
    /// Whether it carries `document` and so starts a document.
    pub starts: bool,
    /// Whether more follows; anything but a boolean counts as true.
    pub continued: bool,
}

/// Judges one item; `prefix` is the instance's URI prefix.
///
/// # Errors
///
/// The first violation in the order of §12.
pub fn judge<'t>(value: Value<'t>, prefix: &str) -> Result<Item<'t>, Box<Rejected>> {
    let envelope = Envelope { value, prefix };
    envelope.item().map_err(|failure| {
        Box::new(Rejected {
            failure,
            segment: envelope.rejected_segment(),
        })
    })
}

struct Envelope<'t, 'p> {
    value: Value<'t>,
    prefix: &'p str,
}

impl<'t> Envelope<'t, '_> {
    fn item(&self) -> Result<Item<'t>, Failure> {
        if self.value.kind() != Kind::Object {
            return Err(self.violation("an item must be an object"));
        }
        match self.text("kind")?.as_str() {
            "document" => self.segment().map(Item::Segment),
            "delete" => self.delete(),
            "move" => self.rename(),
            "error" => self.error().map(Item::Error),
            other => Err(self.violation(format!("unknown kind of item {other:?}"))),
        }
    }

    fn segment(&self) -> Result<Segment<'t>, Failure> {
        self.closed(&["kind", "file_uri", "pages", "document", "continued"])?;
        let uri = self.text("file_uri")?;
        let pages = self
            .value
            .member("pages")
            .filter(|pages| pages.kind() == Kind::Array)
            .ok_or_else(|| self.violation("`pages` must be an array"))?;
        let head = self.value.member("document");
        if head.is_some_and(|head| head.kind() != Kind::Object) {
            return Err(self.violation("`document` must be an object"));
        }
        if head.is_some_and(|head| head.member("pages").is_some()) {
            return Err(self.violation("`document` must not have `pages`"));
        }
        let continued = match self.value.member("continued") {
            None => false,
            Some(flag) => flag
                .as_bool()
                .ok_or_else(|| self.violation("`continued` must be a boolean"))?,
        };
        Ok(Segment {
            uri: self.uri(&uri)?,
            head,
            pages,
            continued,
        })
    }

    fn delete(&self) -> Result<Item<'t>, Failure> {
        self.closed(&["kind", "file_uri"])?;
        let uri = self.uri(&self.text("file_uri")?)?;
        Ok(Item::Delete { uri })
    }

    fn rename(&self) -> Result<Item<'t>, Failure> {
        self.closed(&["kind", "from_uri", "to_uri"])?;
        let (from, to) = (self.text("from_uri")?, self.text("to_uri")?);
        let (from, to) = (self.valid(&from)?, self.valid(&to)?);
        self.inside(&from)?;
        self.inside(&to)?;
        if from == to {
            return Err(self.violation("`from_uri` and `to_uri` are the same document"));
        }
        Ok(Item::Move { from, to })
    }

    fn error(&self) -> Result<Failure, Failure> {
        self.closed(&["kind", "code", "message", "retryable", "file_uri"])?;
        let code = match self.text("code")?.as_str() {
            "source_unavailable" => "source_unavailable",
            "content_invalid" => "content_invalid",
            "internal" => "internal",
            other => return Err(self.violation(format!("unknown error code {other:?}"))),
        };
        let message = self.text("message")?;
        let retryable = self
            .value
            .member("retryable")
            .and_then(Value::as_bool)
            .ok_or_else(|| self.violation("`retryable` must be a boolean"))?;
        let subject = match self.value.member("file_uri") {
            None => Subject::Unknown,
            Some(uri) if uri.is_null() => Subject::Unknown,
            Some(_) => Subject::Document(normalised_or_raw(&self.text("file_uri")?)),
        };
        Ok(Failure::item(FailureSource::Plugin, code, message, subject).retryable(retryable))
    }

    fn closed(&self, allowed: &[&str]) -> Result<(), Failure> {
        let undefined = self
            .value
            .members()
            .into_iter()
            .flatten()
            .find(|(name, _)| !allowed.contains(&name.as_ref()));
        match undefined {
            Some((name, _)) => Err(self.violation(format!("undefined member {name:?}"))),
            None => Ok(()),
        }
    }

    fn text(&self, member: &str) -> Result<String, Failure> {
        self.value
            .member(member)
            .and_then(Value::as_str)
            .map(std::borrow::Cow::into_owned)
            .ok_or_else(|| self.violation(format!("`{member}` must be a string")))
    }

    fn uri(&self, text: &str) -> Result<FileUri, Failure> {
        let uri = self.valid(text)?;
        self.inside(&uri)?;
        Ok(uri)
    }

    fn valid(&self, text: &str) -> Result<FileUri, Failure> {
        FileUri::parse(text).map_err(|invalid| self.violation(invalid.to_string()))
    }

    fn inside(&self, uri: &FileUri) -> Result<(), Failure> {
        if uri.as_str().starts_with(self.prefix) {
            return Ok(());
        }
        Err(Failure::item(
            FailureSource::Prefix,
            "out_of_prefix",
            format!("{uri} is outside the prefix {}", self.prefix),
            self.subject(),
        ))
    }

    fn violation(&self, message: impl Into<String>) -> Failure {
        Failure::item(
            FailureSource::Validation,
            "DPE_VALIDATION",
            message,
            self.subject(),
        )
    }

    fn subject(&self) -> Subject {
        let text = |member| {
            let value = self.value.member(member)?.as_str()?;
            Some(normalised_or_raw(&value))
        };
        let kind = self.value.member("kind").and_then(Value::as_str);
        let (document, sides) = match kind.as_deref() {
            Some("move") => (None, (text("from_uri"), text("to_uri"))),
            Some("document" | "delete" | "error") => (text("file_uri"), (None, None)),
            _ => (text("file_uri"), (text("from_uri"), text("to_uri"))),
        };
        match (document, sides) {
            (Some(uri), _) => Subject::Document(uri),
            (None, (Some(from_uri), Some(to_uri))) => Subject::Move { from_uri, to_uri },
            _ => Subject::Unknown,
        }
    }

    fn rejected_segment(&self) -> Option<RejectedSegment> {
        if self.value.member("kind")?.as_str()? != "document" {
            return None;
        }
        let uri = FileUri::parse(&self.value.member("file_uri")?.as_str()?).ok()?;
        let continued = match self.value.member("continued") {
            None => false,
            Some(flag) => flag.as_bool().unwrap_or(true),
        };
        Some(RejectedSegment {
            uri,
            starts: self.value.member("document").is_some(),
            continued,
        })
    }
}

/// Returns the normalised form of a URI in a report, or the text as received (§25.4).
fn normalised_or_raw(text: &str) -> String {
    FileUri::parse(text).map_or_else(|_| text.to_owned(), |uri| uri.to_string())
}

#[cfg(test)]
mod tests {
    use super::{Item, judge};
    use crate::json::Text;
    use crate::sync::failure::{FailureSource, Subject};

    fn verdict(text: &str) -> Result<String, (FailureSource, String, Subject)> {
        let text = Text::parse(text.as_bytes()).unwrap();
        match judge(text.root(), "w://eng/") {
            Ok(Item::Segment(segment)) => Ok(format!("segment {}", segment.uri)),
            Ok(Item::Delete { uri }) => Ok(format!("delete {uri}")),
            Ok(Item::Move { from, to }) => Ok(format!("move {from} {to}")),
            Ok(Item::Error(failure)) => Ok(format!("error {} {:?}", failure.code, failure.subject)),
            Err(rejected) => Err((
                rejected.failure.source,
                rejected.failure.code.into_owned(),
                rejected.failure.subject,
            )),
        }
    }

    fn invalid(text: &str) -> bool {
        matches!(verdict(text), Err((FailureSource::Validation, code, _)) if code == "DPE_VALIDATION")
    }

    #[test]
    fn the_four_kinds_are_taken() {
        let taken = [
            (
                r#"{"kind":"document","file_uri":"W://eng/a","pages":[],"document":{}}"#,
                "segment w://eng/a",
            ),
            (
                r#"{"kind":"delete","file_uri":"w://eng/%61"}"#,
                "delete w://eng/a",
            ),
            (
                r#"{"kind":"move","from_uri":"w://eng/a","to_uri":"w://eng/b"}"#,
                "move w://eng/a w://eng/b",
            ),
            (
                r#"{"kind":"error","code":"internal","message":"m","retryable":true,"file_uri":null}"#,
                "error internal Unknown",
            ),
        ];
        for (text, expected) in taken {
            assert_eq!(verdict(text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn envelopes_are_closed_and_typed() {
        for text in [
            "5",
            "{}",
            r#"{"kind":"rename"}"#,
            r#"{"kind":"delete","file_uri":"w://eng/a","x":1}"#,
            r#"{"kind":"delete","file_uri":5}"#,
            r#"{"kind":"delete","file_uri":"no uri"}"#,
            r#"{"kind":"document","file_uri":"w://eng/a"}"#,
            r#"{"kind":"document","file_uri":"w://eng/a","pages":{}}"#,
            r#"{"kind":"document","file_uri":"w://eng/a","pages":[],"document":null}"#,
            r#"{"kind":"document","file_uri":"w://eng/a","pages":[],"document":{"pages":[]}}"#,
            r#"{"kind":"document","file_uri":"w://eng/a","pages":[],"continued":"yes"}"#,
            r#"{"kind":"move","from_uri":"w://eng/a","to_uri":"W://eng/a"}"#,
            r#"{"kind":"error","code":"other","message":"m","retryable":true}"#,
            r#"{"kind":"error","code":"internal","message":"m"}"#,
        ] {
            assert!(invalid(text), "{text}");
        }
    }

    #[test]
    fn a_rejected_item_is_named_by_the_members_of_its_kind() {
        for (text, expected) in [
            (
                r#"{"kind":"move","from_uri":"w://eng/a","to_uri":"w://eng/b","file_uri":"w://eng/c"}"#,
                Subject::Move {
                    from_uri: "w://eng/a".into(),
                    to_uri: "w://eng/b".into(),
                },
            ),
            (
                r#"{"kind":"document","file_uri":"W://eng/%61","from_uri":"w://eng/b","to_uri":"w://eng/c"}"#,
                Subject::Document("w://eng/a".into()),
            ),
            (
                r#"{"kind":"delete","from_uri":"w://eng/a","to_uri":"w://eng/b"}"#,
                Subject::Unknown,
            ),
            (
                r#"{"file_uri":"no uri"}"#,
                Subject::Document("no uri".into()),
            ),
        ] {
            assert_eq!(verdict(text).unwrap_err().2, expected, "{text}");
        }
    }

    #[test]
    fn uris_outside_the_prefix_are_named_with_both_sides() {
        let outside = verdict(r#"{"kind":"move","from_uri":"w://eng/a","to_uri":"w://ops/a"}"#);
        let (source, code, subject) = outside.unwrap_err();
        assert_eq!(
            (source, code.as_str()),
            (FailureSource::Prefix, "out_of_prefix")
        );
        assert_eq!(
            subject,
            Subject::Move {
                from_uri: "w://eng/a".into(),
                to_uri: "w://ops/a".into()
            }
        );
    }
}
