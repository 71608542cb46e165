//! The upload machine: http-binding §17, row by row.

use dpe::model::{BlobRef, Contract};
use dpe::protocol::delivery::{Source, Upload};
use dpe::protocol::wire::capabilities::Limits;
use dpe::protocol::{ErrorCode, Fate, OperationError, ReplyError, Request, Staged};
use serde_json::json;

use super::drive::{coded, drive, lost, problem, reply};

const TOTAL: u64 = 25;

/// An upload of 25 bytes in chunks of 10.
fn upload() -> Upload<'static> {
    of(TOTAL, 20)
}

fn of(total: u64, max_payload_bytes: u64) -> Upload<'static> {
    let limits = Limits {
        max_payload_bytes,
        blob_chunk_bytes: 10,
        ..Limits::default()
    };
    let blob = Staged::Blob(BlobRef::of(b"x"));
    Upload::new(
        "s".into(),
        blob,
        Source::Blob(total),
        Contract::Dpe1,
        &limits,
    )
}

/// Answers like a session that has `received` bytes.
fn session(received: &mut u64, request: &Request) -> Fate {
    if request.method == "HEAD" {
        return reply(200, &[("dpe-upload-offset", &received.to_string())], "");
    }
    let Some((first, last)) = range(request) else {
        return reply(201, &[], "{}");
    };
    if *received == TOTAL {
        return reply(200, &[], "{}");
    }
    if first != *received {
        return out_of_order(*received);
    }
    *received = last + 1;
    if *received == TOTAL {
        reply(201, &[], "{}")
    } else {
        reply(202, &[("dpe-upload-offset", &received.to_string())], "")
    }
}

fn out_of_order(offset: u64) -> Fate {
    let Fate::Answered(mut response) = coded(400, "DPE_VALIDATION") else {
        unreachable!()
    };
    let offset = offset.to_string().parse().unwrap();
    response.headers.insert("dpe-upload-offset", offset);
    Fate::Answered(response)
}

fn range(request: &Request) -> Option<(u64, u64)> {
    let named = |name: &http::HeaderName| name == http::header::CONTENT_RANGE;
    let (_, value) = request.headers.iter().find(|(name, _)| named(name))?;
    let (first, rest) = value.strip_prefix("bytes ")?.split_once('-')?;
    let (last, total) = rest.split_once('/')?;
    assert_eq!(total.parse(), Ok(TOTAL));
    Some((first.parse().unwrap(), last.parse().unwrap()))
}

/// What was sent: ranges, `ask` for a resume query, `whole`.
fn story(sent: &[Request]) -> Vec<String> {
    let one = |request: &Request| match range(request) {
        Some((first, last)) => format!("{first}-{last}"),
        None if request.method == "HEAD" => "ask".to_owned(),
        None => "whole".to_owned(),
    };
    sent.iter().map(one).collect()
}

/// The status of an unexpected response.
fn unexpected(error: &OperationError) -> Option<u16> {
    match error {
        OperationError::Reply(ReplyError::Unexpected { status, .. }) => Some(*status),
        _ => None,
    }
}

#[test]
fn object_that_fits_goes_whole_and_a_longer_one_in_chunks() {
    let mut received = 0;
    let (end, sent) = drive(upload(), |request| session(&mut received, request));
    assert!(end.is_ok());
    assert_eq!(story(&sent), ["0-9", "10-19", "20-24"]);
    for (total, limit) in [(20, 20), (0, 20), (TOTAL, TOTAL)] {
        let (end, sent) = drive(of(total, limit), |_| reply(201, &[], "{}"));
        assert!(end.is_ok());
        assert_eq!(story(&sent), ["whole"], "{total} of {limit}");
    }
}

#[test]
fn chunks_are_no_longer_than_a_payload() {
    let limits = Limits {
        max_payload_bytes: 7,
        ..Limits::default()
    };
    let blob = Staged::Blob(BlobRef::of(b"x"));
    let upload = Upload::new(
        "s".into(),
        blob,
        Source::Blob(TOTAL),
        Contract::Dpe1,
        &limits,
    );
    let mut received = 0;
    let (end, sent) = drive(upload, |request| session(&mut received, request));
    assert!(end.is_ok());
    assert_eq!(story(&sent), ["0-6", "7-13", "14-20", "21-24"]);
}

#[test]
fn cut_upload_resumes_at_confirmed_offset() {
    // The second chunk arrives and its reply does not; then one that does not arrive at all.
    let (mut received, mut requests) = (0, 0);
    let (end, sent) = drive(upload(), |request| {
        requests += 1;
        match requests {
            2 => {
                session(&mut received, request);
                lost()
            }
            4 => reply(504, &[], "<html>"),
            _ => session(&mut received, request),
        }
    });
    assert!(end.is_ok());
    assert_eq!(
        story(&sent),
        ["0-9", "10-19", "ask", "20-24", "ask", "20-24"]
    );
}

#[test]
fn complete_object_is_asked_about_its_missing_list_with_its_last_chunk() {
    let (mut received, mut requests) = (0, 0);
    let (end, sent) = drive(upload(), |request| {
        requests += 1;
        let fate = session(&mut received, request);
        if requests == 3 { lost() } else { fate }
    });
    assert!(end.is_ok());
    assert_eq!(story(&sent), ["0-9", "10-19", "20-24", "ask", "20-24"]);
}

#[test]
fn offset_of_an_error_is_followed_without_a_query() {
    // The session has a part that this upload does not know of.
    let mut received = 10;
    let (end, sent) = drive(upload(), |request| session(&mut received, request));
    assert!(end.is_ok());
    assert_eq!(story(&sent), ["0-9", "10-19", "20-24"]);
}

#[test]
fn upload_that_another_one_began_asks_first() {
    let mut received = 20;
    let (end, sent) = drive(upload().resuming(), |request| {
        session(&mut received, request)
    });
    assert!(end.is_ok());
    assert_eq!(story(&sent), ["ask", "20-24"]);
}

#[test]
fn offsets_that_cannot_be_are_unexpected_under_the_status_they_came_with() {
    for (answer, status) in [
        (reply(202, &[], ""), 202),
        (reply(202, &[("dpe-upload-offset", "9")], ""), 202),
        (reply(202, &[("dpe-upload-offset", "25")], ""), 202),
        (out_of_order(26), 400),
    ] {
        let (end, sent) = drive(upload(), |_| answer.clone());
        assert_eq!(unexpected(&end.unwrap_err()), Some(status), "{answer:?}");
        assert_eq!(sent.len(), 1);
    }
    let (end, sent) = drive(upload(), |request| {
        if request.method == "HEAD" {
            reply(200, &[("dpe-upload-offset", "26")], "")
        } else {
            lost()
        }
    });
    assert_eq!(unexpected(&end.unwrap_err()), Some(200));
    assert_eq!(story(&sent), ["0-9", "ask"]);
}

#[test]
fn upload_without_progress_gives_up_after_two_recoveries() {
    let (end, sent) = drive(upload(), |request| match request.method.as_str() {
        "HEAD" => reply(200, &[("dpe-upload-offset", "0")], ""),
        _ => lost(),
    });
    assert!(matches!(end, Err(OperationError::Lost { .. })));
    assert_eq!(story(&sent), ["0-9", "ask", "0-9", "ask", "0-9"]);
    let (end, sent) = drive(of(5, 20), |_| lost());
    assert!(matches!(end, Err(OperationError::Lost { .. })));
    assert_eq!(story(&sent), ["whole", "whole", "whole"]);
}

#[test]
fn dropped_object_is_begun_again_once() {
    for (upload, once) in [(upload(), 3), (of(5, 20), 1)] {
        let mut received = 0;
        let (end, sent) = drive(upload, |request| {
            let is_end = range(request).is_none_or(|(_, last)| last + 1 == TOTAL);
            if is_end {
                received = 0;
                return coded(400, "DPE_HASH_MISMATCH");
            }
            session(&mut received, request)
        });
        assert_eq!(end.unwrap_err().code(), Some(ErrorCode::HashMismatch));
        assert_eq!(sent.len(), 2 * once);
    }
}

#[test]
fn object_begun_again_gets_its_recoveries_back_with_every_chunk() {
    let (mut received, mut requests) = (0, 0);
    let (end, sent) = drive(upload(), |request| {
        requests += 1;
        if requests == 3 {
            received = 0;
            return coded(400, "DPE_HASH_MISMATCH");
        }
        let fate = session(&mut received, request);
        // From then on every chunk arrives, and the reply to none of them but the last.
        let is_lost = requests > 3 && request.method == "PUT" && requests < 10;
        if is_lost { lost() } else { fate }
    });
    assert!(end.is_ok(), "{end:?}");
    let first = ["0-9", "10-19", "20-24"];
    let second = ["0-9", "ask", "10-19", "ask", "20-24", "ask", "20-24"];
    assert_eq!(story(&sent), [&first[..], &second].concat());
}

#[test]
fn retryable_code_repeats_the_same_chunk_without_a_query() {
    let (mut received, mut requests) = (0, 0);
    let (end, sent) = drive(upload(), |request| {
        requests += 1;
        if requests == 2 {
            return problem(429, &json!({"code": "DPE_RATE_LIMITED"}));
        }
        session(&mut received, request)
    });
    assert!(end.is_ok());
    assert_eq!(story(&sent), ["0-9", "10-19", "10-19", "20-24"]);
}

#[test]
fn other_codes_and_pages_of_gateways_end_it() {
    for (answer, code) in [
        (
            coded(410, "DPE_SESSION_EXPIRED"),
            Some(ErrorCode::SessionExpired),
        ),
        (
            coded(413, "DPE_PAYLOAD_TOO_LARGE"),
            Some(ErrorCode::PayloadTooLarge),
        ),
        (coded(400, "DPE_VALIDATION"), Some(ErrorCode::Validation)),
        (reply(413, &[], "<html>"), None),
        (Fate::Local("no".into()), None),
    ] {
        let (end, sent) = drive(upload(), |_| answer.clone());
        assert_eq!(end.unwrap_err().code(), code, "{answer:?}");
        assert_eq!(sent.len(), 1);
    }
}
