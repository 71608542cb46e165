//! Judges the answers to `read_blob` (connector contract §14.2, §15).

use dpe_connector::ErrorCode;

use crate::json::Value;
use crate::sync::byte_source::decode_base64;
use crate::sync::ports::{BlobChunk, BlobFailure};

use super::message::ErrorResponse;

/// Reads the result of `read_blob`; the error names the rule it breaks.
pub(super) fn chunk(result: Value<'_>, max_bytes: u64) -> Result<BlobChunk, String> {
    let (mut data, mut eof) = (None, None);
    for (name, value) in result.members().ok_or("no object")? {
        match &*name {
            "data" => data = Some(value),
            "eof" => eof = Some(value),
            _ => return Err("an undefined member".into()),
        }
    }
    let data = data.and_then(Value::as_str);
    let data = data.ok_or("`data` is no string")?;
    let eof = eof.and_then(Value::as_bool);
    let eof = eof.ok_or("`eof` is no boolean")?;
    let bytes = decode_base64(&data).map_err(|why| format!("`data` is no base64: {why}"))?;
    if bytes.len() as u64 > max_bytes {
        return Err(format!("more than the {max_bytes} bytes asked for"));
    }
    if bytes.is_empty() && !eof {
        return Err("no bytes although the end is not reached".into());
    }
    Ok(BlobChunk { bytes, eof })
}

/// Returns the failure of a result that breaks a rule.
pub(super) fn malformed(why: &str) -> BlobFailure {
    BlobFailure::Unread {
        message: format!("the plugin answered read_blob wrongly: {why}"),
        retryable: false,
    }
}

/// Returns the failure of a request that the plugin refused.
pub(super) fn refused(error: &ErrorResponse) -> BlobFailure {
    let retryable = match ErrorCode::from_number(error.code) {
        Some(ErrorCode::UnknownHandle) => false,
        Some(ErrorCode::Cancelled) => true,
        _ => error.is_retryable(),
    };
    BlobFailure::Unread {
        message: format!("{}: {}", error.name(), error.message),
        retryable,
    }
}

#[cfg(test)]
mod tests {
    use super::{chunk, refused};
    use crate::host::message::ErrorResponse;
    use crate::json::Text;
    use crate::sync::ports::{BlobChunk, BlobFailure};

    fn judged(result: &str) -> Result<BlobChunk, String> {
        let text = Text::parse(result.as_bytes()).unwrap();
        chunk(text.root(), 5)
    }

    #[test]
    fn a_chunk_has_bytes_or_is_the_end() {
        let read = judged(r#"{"data":"aGVsbG8=","eof":false}"#).unwrap();
        assert_eq!((&*read.bytes, read.eof), (&b"hello"[..], false));
        let read = judged(r#"{"data":"","eof":true}"#).unwrap();
        assert_eq!((&*read.bytes, read.eof), (&b""[..], true));
    }

    #[test]
    fn other_results_are_refused() {
        for text in [
            "[]",
            "{}",
            r#"{"data":"aGVsbG8="}"#,
            r#"{"data":null,"eof":true}"#,
            r#"{"data":"aGVsbG8=","eof":null}"#,
            r#"{"data":"aGVsbG8=","eof":"true"}"#,
            r#"{"data":"aGVsbG8=","eof":true,"size":5}"#,
            r#"{"data":"aGVsbG8","eof":true}"#,
            r#"{"data":"aGVsbG8h","eof":true}"#,
            r#"{"data":"","eof":false}"#,
        ] {
            assert!(judged(text).is_err(), "{text}");
        }
    }

    /// The table of §14.2, and §9 for codes that are not its own.
    #[test]
    fn whether_a_refused_read_is_retryable_depends_on_the_code_then_on_data() {
        for (code, data, expected) in [
            (-32002, true, false),
            (-32001, false, true),
            (-32003, true, true),
            (-32003, false, false),
            (-32603, true, true),
            (-1, true, false),
        ] {
            let error = ErrorResponse {
                code,
                message: "m".into(),
                retryable: data,
            };
            let BlobFailure::Unread { retryable, .. } = refused(&error) else {
                panic!("the plugin lives");
            };
            assert_eq!(retryable, expected, "{code} {data}");
        }
    }
}
