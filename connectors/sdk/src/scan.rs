//! `scan`, the enumeration in batches (connector contract §11).

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::rpc::{ErrorCode, RpcError, not_null};

/// Parameters of `scan`. `cursor` and `next` exclude each other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScanParams {
    /// Where an earlier round ended; absent or null asks for everything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Continuation of the previous batch.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "not_null"
    )]
    pub next: Option<String>,
    /// At most so many items in the answer.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "not_null"
    )]
    pub max_items: Option<u32>,
}

impl ScanParams {
    pub(crate) fn check(self) -> Result<Self, RpcError> {
        let wrong = |why| Err(RpcError::new(ErrorCode::InvalidParams, why));
        if self.next.is_some() && self.cursor.is_some() {
            return wrong("`cursor` and `next` exclude each other");
        }
        if self.max_items == Some(0) {
            return wrong("`max_items` is positive");
        }
        Ok(self)
    }

    /// Returns the answer to a continuation nobody gave out, or that has been used.
    pub fn expired_next() -> RpcError {
        RpcError::new(ErrorCode::InvalidParams, "`next` is unknown or expired")
    }
}

/// Result of `scan`: items, and how the batch ends.
#[derive(Debug)]
pub struct ScanResult {
    /// Items as JSON texts, in stream order.
    pub items: Vec<Box<RawValue>>,
    /// Whether more follows.
    pub end: ScanEnd,
}

/// How a batch ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScanEnd {
    /// More items follow under this continuation.
    Next(String),
    /// Everything is enumerated.
    Final {
        /// Where the next round may start; `None` from a plugin without cursors.
        cursor: Option<String>,
        /// Whether the enumeration started from the given cursor.
        incremental: bool,
    },
}

impl Serialize for ScanResult {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;

        let mut object = serializer.serialize_struct("ScanResult", 3)?;
        object.serialize_field("items", &self.items)?;
        match &self.end {
            ScanEnd::Next(next) => object.serialize_field("next", next)?,
            ScanEnd::Final {
                cursor,
                incremental,
            } => {
                object.serialize_field("cursor", cursor)?;
                object.serialize_field("incremental", incremental)?;
            }
        }
        object.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(text: &str) -> Result<ScanParams, String> {
        let params: ScanParams = serde_json::from_str(text).map_err(|why| why.to_string())?;
        params.check().map_err(|why| why.to_string())
    }

    #[test]
    fn a_null_cursor_asks_for_everything() {
        assert_eq!(params(r#"{"cursor":null}"#).unwrap(), ScanParams::default());
    }

    #[test]
    fn parameters_that_exclude_each_other_are_refused() {
        assert!(params(r#"{"cursor":"a","next":"b"}"#).is_err());
        assert!(params(r#"{"next":null}"#).is_err());
        assert!(params(r#"{"max_items":0}"#).is_err());
        assert!(params(r#"{"max_items":-1}"#).is_err());
    }

    #[test]
    fn the_two_ends_have_the_shapes_of_the_contract() {
        let shape = |end| {
            serde_json::to_string(&ScanResult {
                items: Vec::new(),
                end,
            })
            .unwrap()
        };
        assert_eq!(
            shape(ScanEnd::Next("p".into())),
            r#"{"items":[],"next":"p"}"#
        );
        let end = ScanEnd::Final {
            cursor: None,
            incremental: false,
        };
        assert_eq!(
            shape(end),
            r#"{"items":[],"cursor":null,"incremental":false}"#
        );
    }
}
