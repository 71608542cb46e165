//! Error replies: http-binding §14.1.

use bytes::Bytes;
use dpe::model::Contract;
use dpe::protocol::reply::Coded;
use dpe::protocol::{ErrorCode, ReplyError, Response, Wait, wire};
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};

const HASH: &str = "dpe1:5044788699fbc5362d08cae535a0c6ba274b6d6c9a8d7e8179366163b22f05ee";
const BLOB: &str = "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";

fn response(
    status: u16,
    headers: &[(&'static str, &'static str)],
    body: impl Into<Bytes>,
) -> Response {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        map.append(
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        );
    }
    Response {
        status,
        headers: map,
        body: body.into(),
    }
}

const PROBLEM: (&str, &str) = ("content-type", "application/problem+json");

fn problem(status: u16, body: &Value) -> Response {
    response(status, &[PROBLEM], body.to_string())
}

/// The coded error of a reply, or `None` if it is unexpected.
fn coded(response: &Response) -> Option<Coded> {
    match wire::delete::decode(response, Contract::Dpe1) {
        Err(ReplyError::Coded(coded)) => Some(*coded),
        Err(ReplyError::Unexpected { status, .. }) => {
            assert_eq!(status, response.status);
            None
        }
        other => panic!("{other:?}"),
    }
}

fn code(response: &Response) -> Option<String> {
    coded(response).map(|coded| coded.code)
}

#[test]
fn code_of_the_body_wins_over_that_of_the_header() {
    let body = json!({"code": "DPE_FORBIDDEN"}).to_string();
    let header = ("dpe-error-code", "DPE_NOT_FOUND");
    for (media_type, found) in [
        ("application/problem+json", "DPE_FORBIDDEN"),
        ("Application/Problem+JSON ; charset=utf-8", "DPE_FORBIDDEN"),
        ("application/json", "DPE_NOT_FOUND"),
        ("application/problem+jsonx", "DPE_NOT_FOUND"),
    ] {
        let reply = response(500, &[("content-type", media_type), header], body.clone());
        assert_eq!(code(&reply).as_deref(), Some(found), "{media_type}");
    }
    for broken in [
        "",
        "[]",
        "{}",
        r#"{"code":""}"#,
        r#"{"code":1}"#,
        r#"{"code":"X","code":"X"}"#,
    ] {
        let reply = response(412, &[PROBLEM, header], broken);
        assert_eq!(code(&reply).as_deref(), Some("DPE_NOT_FOUND"), "{broken}");
        assert_eq!(code(&response(412, &[PROBLEM], broken)), None, "{broken}");
    }
}

#[test]
fn header_with_a_comma_or_nothing_counts_as_absent() {
    let of = |values: &[&'static str]| {
        let headers: Vec<_> = values
            .iter()
            .map(|value| ("dpe-error-code", *value))
            .collect();
        code(&response(404, &headers, ""))
    };
    assert_eq!(
        of(&[" \tDPE_NOT_FOUND\t"]).as_deref(),
        Some("DPE_NOT_FOUND")
    );
    assert_eq!(of(&["DPE_NOT_FOUND", "DPE_NOT_FOUND"]), None);
    assert_eq!(of(&["A,B"]), None);
    assert_eq!(of(&[""]), None);
    assert_eq!(of(&[]), None);
}

#[test]
fn message_is_the_first_that_says_something() {
    for (body, message) in [
        (json!({"code": "X", "detail": "d", "title": "t"}), "d"),
        (json!({"code": "X", "detail": "", "title": "t"}), "t"),
        (json!({"code": "X", "detail": 1, "title": "t"}), "t"),
        (json!({"code": "X", "detail": null}), "X"),
    ] {
        assert_eq!(coded(&problem(400, &body)).unwrap().message, message);
    }
}

#[test]
fn known_codes_know_themselves_whether_they_may_be_retried() {
    for (body, known, retryable) in [
        (
            json!({"code": "DPE_UNAVAILABLE", "retryable": false}),
            Some(ErrorCode::Unavailable),
            true,
        ),
        (
            json!({"code": "DPE_FORBIDDEN", "retryable": true}),
            Some(ErrorCode::Forbidden),
            false,
        ),
        (json!({"code": "DPE_NEW", "retryable": true}), None, true),
        (json!({"code": "DPE_NEW", "retryable": "true"}), None, false),
        (json!({"code": "DPE_NEW"}), None, false),
    ] {
        let coded = coded(&problem(503, &body)).unwrap();
        assert_eq!((coded.known, coded.retryable), (known, retryable), "{body}");
        assert_eq!(coded.status, 503);
    }
}

#[test]
fn missing_list_that_says_nothing_is_unknown() {
    let of = |body: &Value| coded(&problem(400, body)).unwrap().missing;
    let list = |pages: Value| json!({"pages": pages, "content_hashes": [], "blobs": [BLOB]});
    let body = |missing: Value, truncated: Value| json!({"code": "DPE_MISSING_CONTENT", "missing": missing, "missing_truncated": truncated});
    let found = of(&body(list(json!([HASH])), json!(false))).unwrap();
    assert_eq!(found.missing.pages[0].to_string(), HASH);
    assert_eq!(found.missing.blobs[0].to_string(), BLOB);
    assert!(!found.truncated);
    assert!(of(&body(list(json!([])), json!(true))).unwrap().truncated);
    assert!(!of(&body(list(json!([])), json!("true"))).unwrap().truncated);
    for unknown in [
        json!({"code": "DPE_MISSING_CONTENT"}),
        body(json!(null), json!(false)),
        body(
            json!({"pages": [], "content_hashes": [], "blobs": []}),
            json!(false),
        ),
        body(json!({"pages": [HASH], "content_hashes": []}), json!(false)),
        body(list(json!(["dpe1:00"])), json!(false)),
        body(list(json!([1])), json!(false)),
        body(list(json!(HASH)), json!(false)),
    ] {
        let found = of(&unknown).unwrap();
        assert!(found.missing.is_empty() && found.truncated, "{unknown}");
    }
    let header_only = response(400, &[("dpe-error-code", "DPE_MISSING_CONTENT")], "");
    assert!(coded(&header_only).unwrap().missing.unwrap().truncated);
    assert_eq!(
        of(&json!({"code": "DPE_FORBIDDEN", "missing": list(json!([]))})),
        None
    );
}

#[test]
fn delay_is_kept_with_and_without_a_code() {
    let now = "2026-10-09T08:00:00Z".parse().unwrap();
    let delay = ("retry-after", "7");
    let body = json!({"code": "DPE_RATE_LIMITED"}).to_string();
    let coded = coded(&response(429, &[PROBLEM, delay], body)).unwrap();
    let wait = coded.retry_after.and_then(|after| after.wait(now));
    assert_eq!(wait, Some(Wait::Seconds(7)));
    let bare = response(503, &[delay], "");
    let Err(ReplyError::Unexpected { retry_after, .. }) =
        wire::delete::decode(&bare, Contract::Dpe1)
    else {
        panic!("a bare 503 has no code");
    };
    assert_eq!(
        retry_after.and_then(|after| after.wait(now)),
        Some(Wait::Seconds(7))
    );
    let twice = response(503, &[delay, delay], "");
    let Err(ReplyError::Unexpected { retry_after, .. }) =
        wire::delete::decode(&twice, Contract::Dpe1)
    else {
        panic!("a bare 503 has no code");
    };
    assert_eq!(retry_after.and_then(|after| after.wait(now)), None);
}
