//! delete and move: http-binding §10.5, §10.6.

use dpe::server::Options;
use serde_json::{Value, json};

use super::content::{self, EMPTY};
use super::remote::{DPE1, Remote, small_limits, target};

fn tag() -> String {
    format!("\"{EMPTY}\"")
}

fn document() -> Value {
    json!({"document": content::empty()})
}

#[tokio::test]
async fn delete_needs_the_current_version() {
    let remote = Remote::new();
    let delete = async |condition: &[(&str, &str)]| {
        let reply = remote.call("DELETE", &target("x:d"), condition).await;
        assert_eq!(reply.header("vary"), Some("DPE-Hash-Contract"));
        let (status, code) = reply.verdict();
        (status, code.to_owned(), reply)
    };
    let verdict = async |condition: &[(&str, &str)]| {
        let (status, code, _) = delete(condition).await;
        (status, code)
    };
    let tag = tag();
    let right = ("if-match", tag.as_str());
    let is = |status, code: &str| (status, code.to_owned());
    assert_eq!(verdict(&[]).await, is(428, "DPE_PRECONDITION_REQUIRED"));
    assert_eq!(verdict(&[right]).await, is(412, "DPE_NOT_FOUND"));
    remote.create("x:d", &document()).await;
    assert_eq!(verdict(&[]).await, is(428, "DPE_PRECONDITION_REQUIRED"));
    let weak = format!("W/{tag}");
    for other in ["\"x\"", weak.as_str()] {
        let failed = is(412, "DPE_PRECONDITION_FAILED");
        assert_eq!(verdict(&[("if-match", other)]).await, failed, "{other}");
    }
    for malformed in [
        &[("if-match", "*")][..],
        &[("if-match", "x")],
        &[("if-match", "")],
        &[right, right],
        &[("if-none-match", "*")],
        &[right, ("if-none-match", "*")],
        &[right, ("if-none-match", "\"x\"")],
    ] {
        assert_eq!(
            verdict(malformed).await,
            is(400, "DPE_VALIDATION"),
            "{malformed:?}"
        );
    }
    let (status, _, reply) = delete(&[right]).await;
    assert_eq!((status, reply.text.as_str()), (204, ""));
    assert_eq!(
        (reply.header("etag"), reply.header("dpe-doc-hash")),
        (None, None)
    );
    assert_eq!(remote.head("x:d").await, None);
    assert_eq!(verdict(&[right]).await, is(412, "DPE_NOT_FOUND"));
}

#[tokio::test]
async fn move_decides_by_source_and_target() {
    let remote = Remote::new();
    let other = json!({"document": {"file_type": "md", "pages": []}});
    let move_ = async |from: &str, to: &str, base: &str| {
        let body = json!({"from_uri": from, "to_uri": to, "base_hash": base});
        let reply = remote.post("move", &body).await;
        let (status, code) = reply.verdict();
        (status, code.to_owned())
    };
    let is = |status, code: &str| (status, code.to_owned());
    assert_eq!(move_("x:a", "x:b", EMPTY).await, is(404, "DPE_NOT_FOUND"));
    remote.create("x:a", &document()).await;
    remote.create("x:taken", &other).await;
    let unmatched = is(409, "DPE_PRECONDITION_FAILED");
    for base in ["", "x", "dpe1:00", &tag(), &EMPTY.to_uppercase(), "dpex:00"] {
        for to in ["x:b", "x:taken", "x:a"] {
            assert_eq!(move_("x:a", to, base).await, unmatched, "{base} {to}");
        }
    }
    let taken = is(409, "DPE_ALREADY_EXISTS");
    assert_eq!(move_("x:a", "x:taken", EMPTY).await, taken);
    assert_eq!(move_("x:a", "X:%61", EMPTY).await, taken);
    assert_eq!(move_("x:a", "x:b", EMPTY).await, is(200, ""));
    assert_eq!(remote.head("x:a").await, None);
    assert_eq!(remote.head("x:b").await.as_deref(), Some(EMPTY));
    // Done already.
    assert_eq!(move_("x:a", "x:b", EMPTY).await, is(200, ""));
    assert_eq!(
        move_("x:a", "x:taken", EMPTY).await,
        is(404, "DPE_NOT_FOUND")
    );
    assert_eq!(move_("x:a", "x:b", "x").await, is(404, "DPE_NOT_FOUND"));
    assert_eq!(
        move_("x:gone", "x:gone", EMPTY).await,
        is(404, "DPE_NOT_FOUND")
    );
}

#[tokio::test]
async fn moved_document_is_whole_and_its_place_is_told() {
    let options = Options {
        public_url: "https://docs.example/r/1".to_owned(),
        ..Options::default()
    };
    let remote = Remote::with(small_limits(), options);
    let (body, hash) = content::inline(&[&["a", "b"], &["c"]]);
    remote.create("x://h/a", &body).await;
    let before = remote.call("GET", &target("x://h/a"), &[]).await.json();
    let body = json!({"from_uri": "X://H/a", "to_uri": "x://H/%7eb%20c", "base_hash": hash});
    let reply = remote.post("move", &body).await;
    assert_eq!(
        (reply.status, reply.json()),
        (200, json!({"doc_hash": hash}))
    );
    assert_eq!(reply.header("dpe-doc-hash"), Some(hash.as_str()));
    assert_eq!(
        reply.header("content-location"),
        Some("https://docs.example/r/1/documents?uri=x%3A%2F%2Fh%2F~b%2520c")
    );
    assert_eq!((reply.header("etag"), reply.header("vary")), (None, None));
    let mut after = remote
        .call("GET", &target("x://h/~b%20c"), &[])
        .await
        .json();
    assert_eq!(after["file_uri"], "x://h/~b%20c");
    after["file_uri"] = before["file_uri"].clone();
    assert_eq!(after, before);
}

#[tokio::test]
async fn base_of_a_move_is_required_only_after_the_envelope() {
    let remote = Remote::new();
    let uris = json!({"from_uri": "x:a", "to_uri": "x:b"});
    let null_base = json!({"from_uri": "x:a", "to_uri": "x:b", "base_hash": null});
    for body in [uris, null_base] {
        let reply = remote.post("move", &body).await;
        assert_eq!(reply.verdict(), (428, "DPE_PRECONDITION_REQUIRED"));
        assert_eq!(reply.header("vary"), None);
    }
    for body in [
        json!({"from_uri": "x:a"}),
        json!({"to_uri": "x:b"}),
        json!({"from_uri": "x:a", "to_uri": null}),
        json!({"from_uri": "x:a", "to_uri": 1}),
        json!({"from_uri": "x:a", "to_uri": "é"}),
        json!({"from_uri": "a", "to_uri": "x:b"}),
        json!({"from_uri": "x:a", "to_uri": "x:b", "base_hash": 1}),
        json!({"from_uri": "x:a", "to_uri": "x:b", "base_hash": "x", "force": true}),
        json!({"from_uri": "x:a", "to_uri": "x:b", "force": null}),
        json!("x:a"),
    ] {
        let reply = remote.post("move", &body).await;
        assert_eq!(reply.verdict(), (400, "DPE_VALIDATION"), "{body}");
    }
    // Conditions of HTTP mean nothing here.
    let body = json!({"from_uri": "x:a", "to_uri": "x:b", "base_hash": "x"}).to_string();
    let headers = [DPE1, ("if-match", "x"), ("if-none-match", "x")];
    let reply = remote
        .send("POST", "move", &headers, body.into_bytes())
        .await;
    assert_eq!(reply.verdict(), (404, "DPE_NOT_FOUND"));
}
