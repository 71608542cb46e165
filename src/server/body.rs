//! Step T5 of the ladder: reading a request body within its limit (http-binding §6.1).

use std::io::{self, Read};
use std::mem;
use std::time::Duration;

use axum::body::{Body, HttpBody as _};
use bytes::{Bytes, BytesMut};
use flate2::bufread::MultiGzDecoder;
use http::request::Parts;
use http::{HeaderMap, StatusCode, header};
use http_body_util::BodyExt;
use tokio::time::timeout;

use crate::protocol::ErrorCode;
use crate::protocol::response::merged;
use crate::server::answer::Refusal;
use crate::server::room::{self, Place};
use crate::server::service;

/// The coding a server of ours declares.
pub(super) const GZIP: &str = "gzip";

/// How long and how much of a body nobody wants is read, so that its sender gets to the answer.
const DRAIN_FOR: Duration = Duration::from_secs(3);
const DRAIN_MAX: usize = 64 << 20;

/// How long the next bytes of a body may take.
const SILENCE: Duration = Duration::from_secs(30);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Coding {
    Identity,
    Gzip,
}

/// Reads and decodes a body without `Content-Range`; exactly `max` decoded bytes are accepted.
/// What it occupies is held until the place is dropped.
pub(super) async fn read(head: &Parts, body: Body, max: u64) -> Result<(Bytes, Place), Refusal> {
    let headers = &head.headers;
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
    let decoded_max = match coding {
        Coding::Identity => 0,
        Coding::Gzip => max,
    };
    let (raw, place) = collect(head, body, raw_max, decoded_max).await?;
    let bytes = match coding {
        Coding::Identity => raw,
        Coding::Gzip => service::off_thread(raw.len(), move || decode(&raw, max)).await?,
    };
    Ok((bytes, place))
}

/// Reads a body as it is; exactly `max` bytes are accepted.
pub(super) async fn read_raw(
    head: &Parts,
    body: Body,
    max: u64,
) -> Result<(Bytes, Place), Refusal> {
    collect(head, body, max, 0).await
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

/// Collects at most `max` bytes, when there is room for them and for `more` that are made of them;
/// a body of one frame is not copied.
async fn collect(
    head: &Parts,
    mut body: Body,
    max: u64,
    more: u64,
) -> Result<(Bytes, Place), Refusal> {
    let hint = body.size_hint();
    if hint.lower() > max {
        drain(&head.headers, body);
        return Err(too_large());
    }
    let most = hint.upper().map_or(max, |upper| upper.min(max));
    let place = match room::enter(head, most.saturating_add(more)).await {
        Ok(place) => place,
        Err(refusal) => {
            drain(&head.headers, body);
            return Err(refusal);
        }
    };
    let announced = usize::try_from(hint.lower()).unwrap_or(usize::MAX);
    let max = usize::try_from(max).unwrap_or(usize::MAX);
    let mut first = Bytes::new();
    let mut whole = BytesMut::new();
    while let Some(data) = next(&mut body).await? {
        if first.len() + whole.len() + data.len() > max {
            drain(&head.headers, body);
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
    let bytes = if whole.is_empty() {
        first
    } else {
        whole.freeze()
    };
    Ok((bytes, place))
}

/// Returns the next bytes of a body, none of them where it has something else.
async fn next(body: &mut Body) -> Result<Option<Bytes>, Refusal> {
    let frame = timeout(SILENCE, body.frame()).await;
    let frame = frame.map_err(|_| {
        // The rest may still come, and would be taken for the next request.
        Refusal::bare_with(StatusCode::REQUEST_TIMEOUT, header::CONNECTION, "close")
    })?;
    match frame {
        Some(Ok(frame)) => Ok(Some(frame.into_data().unwrap_or_default())),
        // The sender went away or broke the framing; nobody reads this answer.
        Some(Err(_)) => Err(Refusal::bare(StatusCode::BAD_REQUEST)),
        None => Ok(None),
    }
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
    use std::convert::Infallible;
    use std::io::Write;
    use std::time::Duration;

    use axum::body::Body;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use futures_util::stream::{self, StreamExt};
    use http::{HeaderValue, Request, header};
    use tokio::time::{Instant, sleep};

    use super::{SILENCE, read};
    use crate::protocol::headers;

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
        let mut head = Request::new(()).into_parts().0;
        if let Some(coding) = coding {
            let coding = HeaderValue::from_static(coding);
            head.headers.insert(header::CONTENT_ENCODING, coding);
        }
        match read(&head, Body::from(body), max).await {
            Ok((bytes, _)) => Ok(bytes.to_vec()),
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

    #[tokio::test(start_paused = true)]
    async fn body_that_stops_coming_is_a_timeout_and_one_that_is_slow_is_not() {
        let chunk = || async {
            sleep(SILENCE - Duration::from_secs(1)).await;
            Ok::<_, Infallible>("abc")
        };
        let slow = || stream::iter(0..3).then(move |_| chunk());
        let head = Request::new(()).into_parts().0;
        let read_slow = read(&head, Body::from_stream(slow()), 100).await;
        assert_eq!(read_slow.unwrap().0, "abcabcabc");

        let begun = Instant::now();
        let stuck = Body::from_stream(slow().chain(stream::pending()));
        let refusal = read(&head, stuck, 100).await.err().unwrap();
        assert!(begun.elapsed() < SILENCE * 4, "{:?}", begun.elapsed());
        let answer = refusal.into_answer(false);
        assert_eq!(answer.status(), 408);
        assert_eq!(answer.headers()[header::CONNECTION], "close");
        assert!(!answer.headers().contains_key(headers::DPE_ERROR_CODE));
    }
}
