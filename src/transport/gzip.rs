//! Compression of request bodies (HTTP binding §13.4).

use std::io::Write;

use bytes::Bytes;
use flate2::{Compression, GzBuilder};
use http::header;

use crate::protocol::{Request, headers};

/// Bodies below this length are not worth it (HTTP binding §22).
const SMALLEST_BODY: usize = 1024;
/// From this length on compressing takes so long that others should not wait for it.
const LARGE_BODY: usize = 64 << 10;

/// Whether the body of a request may be compressed when the remote takes that: JSON of some
/// length, and no chunk.
pub(super) fn is_worthwhile(request: &Request) -> bool {
    let is_long = request
        .body
        .as_ref()
        .is_some_and(|body| body.len() >= SMALLEST_BODY);
    let has = |name, value: Option<&str>| {
        let mut fields = request.headers.iter();
        fields.any(|(known, text)| *known == name && value.is_none_or(|value| value == text))
    };
    is_long
        && has(header::CONTENT_TYPE, Some(headers::MEDIA_TYPE_JSON))
        && !has(header::CONTENT_RANGE, None)
}

/// Compresses a body; the same bytes always become the same bytes.
pub(super) async fn compress(body: Bytes) -> Bytes {
    if body.len() < LARGE_BODY {
        return compressed(&body);
    }
    let copy = body.clone();
    match tokio::task::spawn_blocking(move || compressed(&copy)).await {
        Ok(compressed) => compressed,
        // The runtime is going down; nothing will be sent any more.
        Err(_) => compressed(&body),
    }
}

/// A header without a time and the name of a system.
fn compressed(body: &[u8]) -> Bytes {
    let mut gzip = GzBuilder::new()
        .mtime(0)
        .write(Vec::with_capacity(body.len() / 4), Compression::default());
    gzip.write_all(body)
        .and_then(|()| gzip.finish())
        .expect("a vector takes every byte")
        .into()
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use bytes::Bytes;
    use http::{HeaderName, Method, header};

    use super::{compress, is_worthwhile};
    use crate::protocol::Request;

    fn request(length: usize, fields: &[(HeaderName, &str)]) -> Request {
        Request {
            method: Method::PUT,
            target: "t".to_owned(),
            headers: fields
                .iter()
                .map(|(name, value)| (name.clone(), (*value).to_owned()))
                .collect(),
            body: Some(vec![b' '; length].into()),
            longest_reply: 0,
        }
    }

    /// The conditions of §13.4.
    #[test]
    fn only_json_of_a_kibibyte_and_more_is_compressed_and_never_a_chunk() {
        let json = (header::CONTENT_TYPE, "application/json");
        let bytes = (header::CONTENT_TYPE, "application/octet-stream");
        let range = (header::CONTENT_RANGE, "bytes 0-1023/4096");
        assert!(is_worthwhile(&request(1024, std::slice::from_ref(&json))));
        assert!(!is_worthwhile(&request(1023, std::slice::from_ref(&json))));
        assert!(!is_worthwhile(&request(1024, &[json, range])));
        assert!(!is_worthwhile(&request(1024, &[bytes])));
        assert!(!is_worthwhile(&request(1024, &[])));
    }

    #[tokio::test]
    async fn compression_is_deterministic_and_can_be_undone() {
        for length in [1024, 200_000] {
            let body: Vec<u8> = (0..length).map(|n: u32| (n % 61) as u8).collect();
            let body = Bytes::from(body);
            let first = compress(body.clone()).await;
            assert_eq!(first, compress(body.clone()).await);
            // RFC 1952: MTIME of zero is no time stamp.
            assert_eq!(first[4..8], [0; 4]);
            let mut undone = Vec::new();
            let mut gzip = flate2::read::GzDecoder::new(&first[..]);
            gzip.read_to_end(&mut undone).unwrap();
            assert_eq!(undone, body);
        }
    }
}
