//! The conformance side channel: what it takes, what it does, and what it leaves alone.

use dpe::model::{Contract, Contracts};
use dpe::protocol::wire::capabilities::Limits;
use dpe::server::{Access, Options};
use serde_json::{Value, json};

use super::content;
use super::remote::{DPE1, IF_ABSENT, Remote, Reply, small_limits, target};

const CHANNEL: &str = "__hooks__";

/// A remote with a side channel where only `Bearer root` may write, and nobody without a
/// credential may do anything.
fn remote() -> Remote {
    with(Contracts::SUPPORTED, small_limits())
}

fn with(contracts: Contracts, limits: Limits) -> Remote {
    let mut access = Access::default();
    access.grant("Bearer root", ["*".to_owned()]).unwrap();
    access.grant_read("Bearer root", ["*".to_owned()]).unwrap();
    access.require_authentication();
    let options = Options {
        access,
        hooks: Some(format!("/{CHANNEL}")),
        ..Options::default()
    };
    Remote::declaring(contracts, limits, options)
}

async fn hook(remote: &Remote, name: &str, body: &Value) -> Reply {
    let target = format!("{CHANNEL}/{name}");
    let body = body.to_string().into_bytes();
    remote.send("POST", &target, &[], body).await
}

async fn arm(remote: &Remote, body: &Value) {
    let reply = hook(remote, "inject-error", body).await;
    let count = body.get("count").cloned().unwrap_or(json!(1));
    assert_eq!(reply.status, 200, "{}", reply.text);
    assert_eq!(reply.json(), json!({"armed": true, "count": count}));
}

/// `GET capabilities` of a probe, with a credential.
async fn probe(remote: &Remote, probe: &str) -> Reply {
    let headers = [
        ("dpe-conformance-probe", probe),
        ("authorization", "Bearer root"),
    ];
    remote.send("GET", "capabilities", &headers, None).await
}

fn other() -> Value {
    json!({"file_type": "md", "pages": []})
}

#[tokio::test]
async fn paths_and_methods_are_judged_before_the_body() {
    let remote = remote();
    for (method, name, status) in [
        ("POST", "", 404),
        ("POST", "/unknown", 404),
        ("GET", "/unknown", 404),
        ("POST", "/self-write/", 404),
        ("POST", "/clock", 404),
        ("GET", "/self-write", 405),
        ("HEAD", "/self-write", 405),
        ("PUT", "/expire-session", 405),
        ("DELETE", "/clock/advance", 405),
        ("OPTIONS", "/inject-error", 405),
    ] {
        let target = format!("{CHANNEL}{name}");
        let reply = remote.send(method, &target, &[], b"[".to_vec()).await;
        assert_eq!(reply.verdict(), (status, ""), "{method} {name}");
        let allow = (status == 405).then_some("POST");
        assert_eq!(reply.header("allow"), allow, "{method} {name}");
        assert_eq!(reply.header("vary"), None);
    }
}

#[tokio::test]
async fn side_channel_is_unknown_unless_it_was_asked_for() {
    let remote = Remote::new();
    for name in ["self-write", "inject-error"] {
        let reply = hook(&remote, name, &json!({})).await;
        assert_eq!(reply.verdict(), (404, ""));
    }
}

#[tokio::test]
async fn bodies_are_closed() {
    let remote = remote();
    let document = content::empty();
    for (name, body) in [
        ("self-write", json!([])),
        ("self-write", json!({"file_uri": "x:a", "force": true})),
        ("self-write", json!({"document": document, "force": true})),
        (
            "self-write",
            json!({"file_uri": "no uri", "document": document, "force": true}),
        ),
        (
            "self-write",
            json!({"file_uri": "x:a", "document": [], "force": true}),
        ),
        (
            "self-write",
            json!({"file_uri": "x:a", "document": document, "force": 1}),
        ),
        (
            "self-write",
            json!({"file_uri": "x:a", "document": document, "if_absent": "yes"}),
        ),
        (
            "self-write",
            json!({"file_uri": "x:a", "document": document, "base_hash": 1}),
        ),
        (
            "self-write",
            json!({"file_uri": "x:a", "document": document, "force": true, "pages": {}}),
        ),
        (
            "self-write",
            json!({"file_uri": "x:a", "document": document, "force": true, "contract": 1}),
        ),
        (
            "self-write",
            json!({"file_uri": "x:a", "document": document, "force": true, "staging_session": "s"}),
        ),
        ("expire-session", json!({})),
        ("expire-session", json!({"session_id": null})),
        ("expire-session", json!({"session_id": 1})),
        ("expire-session", json!({"session_id": "s", "more": 1})),
        ("clock/advance", json!({})),
        ("clock/advance", json!({"advance_seconds": 0})),
        ("clock/advance", json!({"advance_seconds": -1})),
        ("clock/advance", json!({"advance_seconds": 1.0})),
        ("clock/advance", json!({"advance_seconds": "1"})),
        ("clock/advance", json!({"advance_seconds": 1, "more": 1})),
        ("inject-error", json!({"code": "DPE_UNAVAILABLE"})),
        ("inject-error", json!({"probe": "p"})),
        (
            "inject-error",
            json!({"code": "DPE_VALIDATION", "probe": "p"}),
        ),
        (
            "inject-error",
            json!({"code": "dpe_unavailable", "probe": "p"}),
        ),
        (
            "inject-error",
            json!({"code": "DPE_UNAVAILABLE", "probe": ""}),
        ),
        (
            "inject-error",
            json!({"code": "DPE_UNAVAILABLE", "probe": " p"}),
        ),
        (
            "inject-error",
            json!({"code": "DPE_UNAVAILABLE", "probe": "a\nb"}),
        ),
        (
            "inject-error",
            json!({"code": "DPE_UNAVAILABLE", "probe": "p", "count": 0}),
        ),
        (
            "inject-error",
            json!({"code": "DPE_UNAVAILABLE", "probe": "p", "count": true}),
        ),
        (
            "inject-error",
            json!({"code": "DPE_UNAVAILABLE", "probe": "p", "retry_after": -1}),
        ),
        (
            "inject-error",
            json!({"code": "DPE_UNAVAILABLE", "probe": "p", "retry_after": "1"}),
        ),
        (
            "inject-error",
            json!({"code": "DPE_UNAVAILABLE", "probe": "p", "retry_after": -0.5}),
        ),
        (
            "inject-error",
            json!({"code": "DPE_UNAVAILABLE", "probe": "p", "more": 1}),
        ),
    ] {
        let reply = hook(&remote, name, &body).await;
        assert_eq!(reply.verdict(), (400, "DPE_VALIDATION"), "{name} {body}");
    }
    for text in [
        "",
        "{",
        "{\"session_id\":\"a\",\"session_id\":\"a\"}",
        "\u{feff}{}",
    ] {
        let target = format!("{CHANNEL}/expire-session");
        let reply = remote
            .send("POST", &target, &[], text.as_bytes().to_vec())
            .await;
        assert_eq!(reply.verdict(), (400, "DPE_VALIDATION"), "{text}");
    }
    let long = json!({"session_id": "s".repeat(3000)});
    let reply = hook(&remote, "expire-session", &long).await;
    assert_eq!(reply.verdict(), (413, "DPE_PAYLOAD_TOO_LARGE"));
}

#[tokio::test]
async fn server_writes_as_itself_by_the_ladder_of_a_commit() {
    let remote = remote();
    let write = async |document: Value, more: Value| {
        let mut body = json!({"file_uri": "X:a", "document": document});
        body.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        hook(&remote, "self-write", &body).await
    };
    let empty = content::empty;
    let other_hash = content::hash(&other(), dpe_hash::ObjectKind::Document, "dpe1");
    let invalid = (400, "DPE_VALIDATION");
    let required = (428, "DPE_PRECONDITION_REQUIRED");
    // In this order: each sees what those before it wrote.
    for (document, more, expected) in [
        (empty(), json!({}), required),
        (
            empty(),
            json!({"if_absent": false, "force": false, "base_hash": null}),
            required,
        ),
        (
            empty(),
            json!({"if_absent": true, "base_hash": content::EMPTY}),
            invalid,
        ),
        (empty(), json!({"if_absent": true, "force": true}), invalid),
        (
            empty(),
            json!({"base_hash": content::EMPTY, "force": true}),
            invalid,
        ),
        (json!({"pages": []}), json!({}), invalid),
        (
            empty(),
            json!({"force": true, "contract": "dpe9"}),
            (400, "DPE_CONTRACT_UNSUPPORTED"),
        ),
        (
            empty(),
            json!({"force": true, "contract": "dpex"}),
            (400, "DPE_CONTRACT_UNSUPPORTED"),
        ),
        (
            empty(),
            json!({"base_hash": content::EMPTY}),
            (404, "DPE_NOT_FOUND"),
        ),
        (
            json!({"file_type": "md", "pages": [content::P0]}),
            json!({"if_absent": true}),
            (400, "DPE_MISSING_CONTENT"),
        ),
        (
            empty(),
            json!({"if_absent": true, "contract": "dpe1"}),
            (201, ""),
        ),
        (empty(), json!({"if_absent": true}), (200, "")),
        (
            other(),
            json!({"if_absent": true}),
            (409, "DPE_ALREADY_EXISTS"),
        ),
        (
            other(),
            json!({"base_hash": "foreign"}),
            (409, "DPE_PRECONDITION_FAILED"),
        ),
        (
            other(),
            json!({"base_hash": other_hash}),
            (409, "DPE_PRECONDITION_FAILED"),
        ),
        (other(), json!({"base_hash": content::EMPTY}), (200, "")),
        (empty(), json!({"force": true}), (200, "")),
        (empty(), json!({}), required),
    ] {
        let reply = write(document.clone(), more.clone()).await;
        assert_eq!(reply.verdict(), expected, "{document} {more}");
        if reply.status < 300 {
            let body = reply.json();
            let hash = body["doc_hash"].as_str().unwrap();
            assert_eq!(reply.header("dpe-doc-hash"), Some(hash));
            assert_eq!(reply.header("etag"), Some(format!("\"{hash}\"").as_str()));
        }
    }
}

#[tokio::test]
async fn what_the_server_wrote_is_read_through_the_protocol() {
    let remote = with(Contracts::SUPPORTED, Limits::default());
    let (mut body, hash) = content::inline(&[&["a", "b"], &["c"]]);
    body["file_uri"] = json!("x:a");
    body["if_absent"] = json!(true);
    let reply = hook(&remote, "self-write", &body).await;
    let delta = json!({"added": 3, "removed": 0, "retained": 0});
    let expected = json!({"status": "created", "doc_hash": hash, "delta": delta});
    assert_eq!((reply.status, reply.json()), (201, expected));
    let headers = [DPE1, ("authorization", "Bearer root")];
    let reply = remote.send("GET", &target("x:a"), &headers, None).await;
    assert_eq!(reply.json()["doc_hash"], json!(hash));
    assert_eq!(reply.json()["pages"], body["pages"]);
}

#[tokio::test]
async fn contract_of_a_self_write_is_the_named_one_or_the_first_declared() {
    let both = Contracts::SUPPORTED.with(Contract::Dpex);
    let remote = with(both, small_limits());
    for (uri, contract, prefix) in [
        ("x:a", None, "dpe1:"),
        ("x:b", Some("dpe1"), "dpe1:"),
        ("x:c", Some("dpex"), "dpex:"),
    ] {
        let body = json!({"file_uri": uri, "document": content::empty(), "force": true,
                          "contract": contract});
        let reply = hook(&remote, "self-write", &body).await;
        let hash = reply.header("dpe-doc-hash").unwrap();
        assert!(hash.starts_with(prefix), "{hash} for {contract:?}");
    }
}

#[tokio::test]
async fn armed_error_hits_the_next_requests_of_its_probe_only() {
    let remote = remote();
    arm(
        &remote,
        &json!({"code": "DPE_UNAVAILABLE", "probe": "p", "count": 2}),
    )
    .await;
    assert_eq!(probe(&remote, "q").await.status, 200);
    assert_eq!(probe(&remote, "P").await.status, 200);
    let plain = [("authorization", "Bearer root")];
    let plain = remote.send("GET", "capabilities", &plain, None).await;
    assert_eq!(plain.status, 200);
    for _ in 0..2 {
        let reply = probe(&remote, "p").await;
        assert_eq!(reply.verdict(), (503, "DPE_UNAVAILABLE"));
        assert_eq!(reply.header("retry-after"), Some("1"));
    }
    assert_eq!(probe(&remote, "p").await.status, 200);
}

#[tokio::test]
async fn last_arming_of_a_probe_wins() {
    let remote = remote();
    arm(
        &remote,
        &json!({"code": "DPE_UNAVAILABLE", "probe": "p", "count": 5}),
    )
    .await;
    let last = json!({"code": "DPE_RATE_LIMITED", "probe": "p", "retry_after": 0});
    arm(&remote, &last).await;
    let reply = probe(&remote, "p").await;
    assert_eq!(reply.verdict(), (429, "DPE_RATE_LIMITED"));
    assert_eq!(reply.header("retry-after"), Some("0"));
    assert_eq!(probe(&remote, "p").await.status, 200);
}

#[tokio::test]
async fn fraction_of_a_second_to_wait_is_rounded_up() {
    let remote = remote();
    for (retry_after, told) in [
        (json!(1.5), "2"),
        (json!(0.001), "1"),
        (json!(3.0), "3"),
        (json!(7), "7"),
        (json!(0.0), "0"),
    ] {
        let armed = json!({"code": "DPE_UNAVAILABLE", "probe": "p", "retry_after": retry_after});
        arm(&remote, &armed).await;
        let reply = probe(&remote, "p").await;
        assert_eq!(reply.header("retry-after"), Some(told), "{retry_after}");
    }
}

#[tokio::test]
async fn armed_error_comes_after_route_and_method_and_before_all_else() {
    let remote = remote();
    let armed = json!({"code": "DPE_RATE_LIMITED", "probe": "p", "count": 100});
    arm(&remote, &armed).await;
    // Without a credential, a contract, a condition or a sensible body.
    let headers = [("dpe-conformance-probe", "p"), ("content-encoding", "br")];
    let hit = (429, "DPE_RATE_LIMITED");
    for (method, target, expected) in [
        ("GET", "unknown", (404, "")),
        ("PATCH", "documents", (405, "")),
        ("POST", "capabilities", (405, "")),
        ("GET", "capabilities", hit),
        ("POST", "heads", hit),
        ("HEAD", "documents", hit),
        ("GET", "documents?uri=x:a&uri=x:b", hit),
        ("PUT", "documents?uri=x:a", hit),
        ("DELETE", "documents", hit),
        ("POST", "move", hit),
        ("POST", "negotiate", hit),
        ("PUT", "staging/s/pages/h", hit),
        ("HEAD", "staging/s/blobs/h", hit),
        ("HEAD", "staging/s/objects/h", (405, "")),
    ] {
        let reply = remote.send(method, target, &headers, b"[".to_vec()).await;
        assert_eq!(reply.verdict(), expected, "{method} {target}");
        let retry_after = (expected == hit).then_some("1");
        assert_eq!(reply.header("retry-after"), retry_after);
        let vary = target
            .starts_with("documents")
            .then_some("DPE-Hash-Contract");
        assert_eq!(reply.header("vary"), vary, "{method} {target}");
    }
    let bare = remote.send("GET", "capabilities", &[], None).await;
    assert_eq!(bare.verdict(), (401, ""));
}

#[tokio::test]
async fn armed_error_leaves_the_write_undone() {
    let remote = remote();
    arm(&remote, &json!({"code": "DPE_UNAVAILABLE", "probe": "p"})).await;
    let headers = [
        DPE1,
        IF_ABSENT,
        ("authorization", "Bearer root"),
        ("dpe-conformance-probe", "p"),
    ];
    let body = json!({"document": content::empty()})
        .to_string()
        .into_bytes();
    let put = || remote.send("PUT", "documents?uri=x%3Aa", &headers, body.clone());
    assert_eq!(put().await.verdict(), (503, "DPE_UNAVAILABLE"));
    assert_eq!(put().await.status, 201, "nothing was there");
}

#[tokio::test]
async fn probes_mean_nothing_without_a_side_channel() {
    let remote = Remote::new();
    let headers = [("dpe-conformance-probe", "p")];
    let reply = remote.send("GET", "capabilities", &headers, None).await;
    assert_eq!(reply.status, 200);
}

#[tokio::test]
async fn clock_only_goes_forward_and_says_where_it_is() {
    let remote = remote();
    let now = async |seconds: u64| {
        let body = json!({"advance_seconds": seconds});
        let reply = hook(&remote, "clock/advance", &body).await;
        assert_eq!(reply.status, 200, "{}", reply.text);
        let text = reply.json()["now"].as_str().unwrap().to_owned();
        text.parse::<jiff::Timestamp>().unwrap().as_second()
    };
    let first = now(1).await;
    let second = now(7200).await;
    assert!((7200..7260).contains(&(second - first)), "{first} {second}");
    now(9_007_199_254_740_991).await;
}

/// Opens a session and returns its id and when it ends.
async fn negotiate(remote: &Remote) -> (String, i64) {
    let headers = [DPE1, ("authorization", "Bearer root")];
    let body = json!({"file_uri": "x:a", "document": content::document()});
    let body = body.to_string().into_bytes();
    let reply = remote.send("POST", "negotiate", &headers, body).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    let session = &reply.json()["staging_session"];
    let expires = session["expires_at"].as_str().unwrap();
    let expires = expires.parse::<jiff::Timestamp>().unwrap().as_second();
    (session["id"].as_str().unwrap().to_owned(), expires)
}

/// Asks a session how much of a blob it has, which does not renew it.
async fn resume(remote: &Remote, session: &str) -> u16 {
    let headers = [DPE1, ("authorization", "Bearer root")];
    let target = format!("staging/{session}/blobs/{}", content::HELLO);
    remote.send("HEAD", &target, &headers, None).await.status
}

#[tokio::test]
async fn expired_session_is_over_at_once_and_only_once() {
    let remote = remote();
    let (session, _) = negotiate(&remote).await;
    let (other, _) = negotiate(&remote).await;
    assert_eq!(resume(&remote, &session).await, 200);
    for expired in [true, false] {
        let reply = hook(&remote, "expire-session", &json!({"session_id": session})).await;
        assert_eq!(reply.json(), json!({"expired": expired}));
        assert_eq!(resume(&remote, &session).await, 410);
    }
    assert_eq!(resume(&remote, &other).await, 200);
}

#[tokio::test]
async fn lifetime_of_sessions_is_judged_on_the_advanced_clock() {
    let remote = remote();
    let (session, expires) = negotiate(&remote).await;
    let advance = async |seconds: i64| {
        let body = json!({"advance_seconds": seconds});
        let reply = hook(&remote, "clock/advance", &body).await;
        let now = reply.json()["now"].as_str().unwrap().to_owned();
        now.parse::<jiff::Timestamp>().unwrap().as_second()
    };
    let now = advance(1).await;
    // A minute for the rest of the test.
    let now = advance(expires - now - 60).await;
    assert!((expires - 60..expires).contains(&now), "{now} {expires}");
    assert_eq!(resume(&remote, &session).await, 200);
    advance(60).await;
    assert_eq!(resume(&remote, &session).await, 410);
    let reply = hook(&remote, "expire-session", &json!({"session_id": session})).await;
    assert_eq!(reply.json(), json!({"expired": false}));
    let (_, later) = negotiate(&remote).await;
    assert!(later >= expires + i64::try_from(small_limits().staging_ttl_seconds).unwrap());
}

#[tokio::test]
async fn unknown_session_is_not_expired() {
    let remote = remote();
    for session in ["", "st-unknown"] {
        let reply = hook(&remote, "expire-session", &json!({"session_id": session})).await;
        assert_eq!(reply.json(), json!({"expired": false}));
    }
}
