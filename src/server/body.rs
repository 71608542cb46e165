//! Step T5 of the ladder: reading a request body within its limit (http-binding §6.1).

use std::io::{self, Read};
use std::mem;
use std::time::Duration;

use axum::body::{Body, HttpBody as _};
use bytes::{Bytes, BytesMut};
use flate2::bufread::MultiGzDecoder;
use http::{HeaderMap, StatusCode, header};
use http_body_util::BodyExt;

use crate::protocol::ErrorCode;
use crate::protocol::response::merged;
use crate::server::answer::Refusal;
use crate::server::service;

/// The coding a server of ours declares.
pub(super) const GZIP: &str = "gzip";

/// How long and how much of a body nobody wants is read, so that its sender gets to the answer.
const DRAIN_FOR: Duration = Duration::from_secs(3);
const DRAIN_MAX: usize = 64 << 20;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Coding {
    Identity,
    Gzip,
}

/// Reads and decodes a body without `Content-Range`; exactly `max` decoded bytes are accepted.
pub(super) async fn read(headers: &HeaderMap, body: Body, max: u64) -> Result<Bytes, Refusal> {
    let coding = match coding(headers) {
        Ok(coding) => coding,
        Err(refusal) => {
            drain(headers, body);
            return Err(refusal);
        }
    };
    // Compressed bytes may outgrow the decoded ones a little; far more than that is no legal body.
    let raw_max = match coding {
        Coding::Identity => max,
        Coding::Gzip => max.saturating_mul(2).saturating_add(1024),
    };
    let raw = read_raw(headers, body, raw_max).await?;
    match coding {
        Coding::Identity => Ok(raw),
        Coding::Gzip => service::off_thread(raw.len(), move || decode(&raw, max)).await,
    }
}

/// Reads a body as it is; exactly `max` bytes are accepted.
pub(super) async fn read_raw(headers: &HeaderMap, body: Body, max: u64) -> Result<Bytes, Refusal> {
    let max = usize::try_from(max).unwrap_or(usize::MAX);
    collect(headers, body, max).await
}

/// Reads on in the background what the answer does not wait for (T1–T4 must not). A sender that
/// asks before it sends is not invited.
pub(super) fn drain(headers: &HeaderMap, mut body: Body) {
    if body.is_end_stream() || headers.contains_key(header::EXPECT) {
        return;
    }
    tokio::spawn(tokio::time::timeout(DRAIN_FOR, async move {
        let mut read = 0;
        while let Some(Ok(frame)) = body.frame().await {
            read += frame.data_ref().map_or(0, Bytes::len);
            if read > DRAIN_MAX {
                break;
            }
        }
    }));
}

fn coding(headers: &HeaderMap) -> Result<Coding, Refusal> {
    let Some(value) = merged(headers, &header::CONTENT_ENCODING) else {
        return Ok(Coding::Identity);
    };
    match value.trim_ascii().to_ascii_lowercase().as_slice() {
        b"identity" => Ok(Coding::Identity),
        b"gzip" | b"x-gzip" => Ok(Coding::Gzip),
        _ => Err(Refusal::bare_with(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            header::ACCEPT_ENCODING,
            GZIP,
        )),
    }
}

/// Collects at most `max` bytes; a body of one frame is not copied.
async fn collect(headers: &HeaderMap, mut body: Body, max: usize) -> Result<Bytes, Refusal> {
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if announced > max {
        drain(headers, body);
        return Err(too_large());
    }
    let mut first = Bytes::new();
    let mut whole = BytesMut::new();
    while let Some(frame) = body.frame().await {
        // The sender went away or broke the framing; nobody reads this answer.
        let frame = frame.map_err(|_| Refusal::bare(StatusCode::BAD_REQUEST))?;
        let Ok(data) = frame.into_data() else {
            continue;
        };
        if first.len() + whole.len() + data.len() > max {
            drain(headers, body);
            return Err(too_large());
        }
        if first.is_empty() && whole.is_empty() {
            first = data;
            continue;
        }
        if whole.is_empty() {
            whole.reserve(announced.max(first.len() + data.len()));
            whole.extend_from_slice(&mem::take(&mut first));
        }
        whole.extend_from_slice(&data);
    }
    Ok(if whole.is_empty() {
        first
    } else {
        whole.freeze()
    })
}

/// Decodes one or more gzip members, stopping at the limit.
fn decode(raw: &[u8], max: u64) -> Result<Bytes, Refusal> {
    let mut decoded = Vec::new();
    let mut decoder = MultiGzDecoder::new(raw).take(max.saturating_add(1));
    match decoder.read_to_end(&mut decoded) {
        Ok(_) if u64::try_from(decoded.len()).is_ok_and(|length| length <= max) => {
            Ok(decoded.into())
        }
        Ok(_) => Err(too_large()),
        Err(error) => Err(not_gzip(&error)),
    }
}

fn not_gzip(error: &io::Error) -> Refusal {
    Refusal::invalid(format!("the body is not gzip: {error}"))
}

fn too_large() -> Refusal {
    let code = ErrorCode::PayloadTooLarge;
    Refusal::coded(code, "the body is longer than max_payload_bytes")
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use axum::body::Body;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use http::{HeaderMap, HeaderValue, header};

    use super::read;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    async fn outcome(
        coding: Option<&'static str>,
        body: Vec<u8>,
        max: u64,
    ) -> Result<Vec<u8>, u16> {
        let mut headers = HeaderMap::new();
        if let Some(coding) = coding {
            headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(coding));
        }
        match read(&headers, Body::from(body), max).await {
            Ok(bytes) => Ok(bytes.to_vec()),
            Err(refusal) => Err(refusal.into_answer(false).status().as_u16()),
        }
    }

    #[tokio::test]
    async fn limit_counts_decoded_bytes_and_includes_itself() {
        let body = vec![b'x'; 1000];
        for coding in [None, Some("identity"), Some("Identity")] {
            assert_eq!(outcome(coding, body.clone(), 1000).await, Ok(body.clone()));
            assert_eq!(outcome(coding, body.clone(), 999).await, Err(413));
        }
        for coding in ["gzip", "x-gzip", "GZip"] {
            let packed = gzip(&body);
            assert_eq!(
                outcome(Some(coding), packed.clone(), 1000).await,
                Ok(body.clone())
            );
            assert_eq!(outcome(Some(coding), packed, 999).await, Err(413));
        }
    }

    #[tokio::test]
    async fn members_are_one_body_and_count_together() {
        let two = [gzip(b"abc"), gzip(b"def")].concat();
        assert_eq!(
            outcome(Some("gzip"), two.clone(), 6).await,
            Ok(b"abcdef".to_vec())
        );
        assert_eq!(outcome(Some("gzip"), two, 5).await, Err(413));
    }

    #[tokio::test]
    async fn broken_gzip_is_invalid_and_unknown_coding_unsupported() {
        let whole = gzip(b"abcdef");
        let mut corrupt = whole.clone();
        let last = corrupt.len() - 5;
        corrupt[last] ^= 1;
        for broken in [
            whole[..whole.len() - 1].to_vec(),
            whole[..5].to_vec(),
            corrupt,
            [&whole[..], b"garbage"].concat(),
            [&whole[..], b"\0"].concat(),
            b"{}".to_vec(),
            Vec::new(),
        ] {
            assert_eq!(
                outcome(Some("gzip"), broken.clone(), 100).await,
                Err(400),
                "{broken:?}"
            );
        }
        for coding in ["br", "deflate", "gzip, gzip", "gzip, identity", "*", ""] {
            assert_eq!(
                outcome(Some(coding), whole.clone(), 100).await,
                Err(415),
                "{coding}"
            );
        }
    }

    #[tokio::test]
    async fn small_body_that_would_expand_without_bound_stops_at_the_limit() {
        let bomb = gzip(&vec![0; 50 << 20]);
        assert!(bomb.len() < 1 << 20);
        assert_eq!(outcome(Some("gzip"), bomb, 1 << 20).await, Err(413));
    }

    #[tokio::test]
    async fn raw_body_far_above_the_limit_is_too_large_before_it_is_decoded() {
        let refusal = outcome(Some("gzip"), vec![b'x'; 4000], 1000).await;
        assert_eq!(refusal, Err(413));
    }
}
