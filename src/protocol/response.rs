//! A response as a value, and the merged reading of its header fields.

use std::borrow::Cow;

use bytes::Bytes;
use http::{HeaderMap, HeaderName};

/// One complete response.
#[derive(Clone, Debug, Default)]
pub struct Response {
    /// HTTP status code.
    pub status: u16,
    /// Header fields as received.
    pub headers: HeaderMap,
    /// Whole body; empty if there was none.
    pub body: Bytes,
}

impl Response {
    /// Returns the field's value with all its lines merged by `, ` (http-binding §3), or `None` if
    /// the field is absent. Bytes that are not UTF-8 are replaced, so they never match anything.
    pub fn header(&self, name: &HeaderName) -> Option<Cow<'_, str>> {
        let merged = merged(&self.headers, name)?;
        Some(match merged {
            Cow::Borrowed(bytes) => String::from_utf8_lossy(bytes),
            Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
        })
    }
}

/// Merges all lines of a field with `, ` in order (RFC 9110 §5.3, http-binding §3).
pub fn merged<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<Cow<'h, [u8]>> {
    let mut lines = headers.get_all(name).iter();
    let first = lines.next()?.as_bytes();
    let mut merged = Cow::Borrowed(first);
    for line in lines {
        let whole = merged.to_mut();
        whole.extend_from_slice(b", ");
        whole.extend_from_slice(line.as_bytes());
    }
    Some(merged)
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderValue, header};

    use super::merged;

    #[test]
    fn lines_of_one_field_merge_in_order() {
        let mut headers = HeaderMap::new();
        assert_eq!(merged(&headers, &header::IF_MATCH), None);
        headers.append(header::IF_MATCH, HeaderValue::from_static("\"a\""));
        headers.append(header::IF_MATCH, HeaderValue::from_static("\"b\""));
        let value = merged(&headers, &header::IF_MATCH).expect("the field is present");
        assert_eq!(&*value, b"\"a\", \"b\"");
    }
}
