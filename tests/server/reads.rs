//! capabilities, heads, head, get_skeleton and list: http-binding §7.

use serde_json::json;

use super::content::{self, EMPTY};
use super::remote::{Remote, encode, small_limits, target};

#[tokio::test]
async fn capabilities_need_no_contract_and_announce_the_limits() {
    let remote = Remote::new();
    let reply = remote.send("GET", "capabilities?any=%zz", &[], None).await;
    assert_eq!(reply.status, 200);
    assert_eq!(reply.header("content-type"), Some("application/json"));
    assert_eq!(reply.header("vary"), None);
    let limits = small_limits();
    let expected = json!({
        "protocol": "dpe/1", "hash_contracts": ["dpe1"],
        "limits": {"max_payload_bytes": limits.max_payload_bytes, "page_max_bytes": 268_435_456,
                   "staging_ttl_seconds": 86400, "blob_max_bytes": 104_857_600,
                   "blob_chunk_bytes": 8_388_608, "batch_head_max": 3, "list_page_max": 5},
        "content_encodings": ["gzip"], "features": ["move"]});
    assert_eq!(reply.json(), expected);
}

#[tokio::test]
async fn heads_answer_by_position_for_normalised_uris() {
    let remote = Remote::new();
    remote
        .create("x://h/~", &json!({"document": content::empty()}))
        .await;
    let uris = json!({"uris": ["x:absent", "X://H/%7e", "x://h/~"]});
    let reply = remote.post("heads", &uris).await;
    let head = json!({"doc_hash": EMPTY});
    assert_eq!(reply.json(), json!({"heads": [null, head, head]}));
    let reply = remote.post("heads", &json!({"uris": []})).await;
    assert_eq!(reply.json(), json!({"heads": []}));
    for body in [
        json!({"uris": ["x:1", "x:2", "x:3", "x:4"]}),
        json!({"uris": ["x:1", "no uri"]}),
        json!({"uris": ["x:1", 2]}),
        json!({"uris": null}),
        json!({"uris": "x:1"}),
        json!({}),
        json!([]),
        json!({"uris": [], "more": null}),
    ] {
        let reply = remote.post("heads", &body).await;
        assert_eq!(reply.verdict(), (400, "DPE_VALIDATION"), "{body}");
    }
}

#[tokio::test]
async fn head_tells_the_version_or_that_there_is_none() {
    let remote = Remote::new();
    let reply = remote.call("HEAD", &target("x:d"), &[]).await;
    assert_eq!(
        (reply.verdict(), reply.text.as_str()),
        ((404, "DPE_NOT_FOUND"), "")
    );
    assert_eq!(reply.header("vary"), Some("DPE-Hash-Contract"));
    remote
        .create("x:d", &json!({"document": content::empty()}))
        .await;
    // If-None-Match is ignored here, even a malformed one.
    for condition in [
        ("if-none-match", "*"),
        ("if-none-match", "x"),
        ("if-match", "x"),
    ] {
        let reply = remote.call("HEAD", &target("x:d"), &[condition]).await;
        assert_eq!((reply.status, reply.text.as_str()), (200, ""));
        // The answer to GET is longer than 0.
        assert_eq!(reply.header("content-length"), None);
        assert_eq!(reply.header("dpe-doc-hash"), Some(EMPTY));
        assert_eq!(reply.header("etag"), Some(format!("\"{EMPTY}\"").as_str()));
        assert_eq!(reply.header("vary"), Some("DPE-Hash-Contract"));
    }
}

#[tokio::test]
async fn skeleton_is_not_sent_again_to_who_has_it() {
    let remote = Remote::new();
    let absent = remote
        .call("GET", &target("x:d"), &[("if-none-match", "*")])
        .await;
    assert_eq!(absent.verdict(), (404, "DPE_NOT_FOUND"));
    remote
        .create("x:d", &json!({"document": content::empty()}))
        .await;
    let tag = format!("\"{EMPTY}\"");
    let weak = format!("W/{tag}");
    let among = format!("\"a,b\",\t{weak} , \"c\"");
    for value in ["*", " * ", tag.as_str(), weak.as_str(), among.as_str()] {
        let reply = remote
            .call("GET", &target("x:d"), &[("if-none-match", value)])
            .await;
        assert_eq!((reply.status, reply.text.as_str()), (304, ""), "{value}");
        assert_eq!(reply.header("dpe-doc-hash"), Some(EMPTY));
        assert_eq!(reply.header("etag"), Some(tag.as_str()));
        assert_eq!(reply.header("vary"), Some("DPE-Hash-Contract"));
    }
    let two_lines = [("if-none-match", "\"x\""), ("if-none-match", tag.as_str())];
    assert_eq!(
        remote.call("GET", &target("x:d"), &two_lines).await.status,
        304
    );
    for value in ["\"x\"", "\"\"", &tag.to_uppercase()] {
        let reply = remote
            .call("GET", &target("x:d"), &[("if-none-match", value)])
            .await;
        assert_eq!(reply.status, 200, "{value}");
        assert_eq!(reply.json()["doc_hash"], EMPTY);
    }
    for value in ["x", "\"a", "W/", "*, \"x\"", "\"a\",", "\"a\",,\"b\"", ""] {
        let reply = remote
            .call("GET", &target("x:d"), &[("if-none-match", value)])
            .await;
        assert_eq!(reply.verdict(), (400, "DPE_VALIDATION"), "{value}");
        let reply = remote
            .call("GET", &target("x:absent"), &[("if-none-match", value)])
            .await;
        assert_eq!(reply.verdict(), (400, "DPE_VALIDATION"), "{value}");
    }
    // If-Match means nothing on a read.
    let reply = remote
        .call("GET", &target("x:d"), &[("if-match", "x")])
        .await;
    assert_eq!(reply.status, 200);
}

/// Follows the cursors and returns every listed URI.
async fn list_all(remote: &Remote, prefix: &str, limit: usize) -> Vec<String> {
    let mut uris = Vec::new();
    let mut next = String::new();
    loop {
        let target = format!("documents?prefix={}&limit={limit}{next}", encode(prefix));
        let reply = remote.call("GET", &target, &[]).await;
        assert_eq!(reply.status, 200, "{}", reply.text);
        assert_eq!(reply.header("vary"), Some("DPE-Hash-Contract"));
        let body = reply.json();
        let documents = body["documents"].as_array().unwrap();
        assert!(documents.len() <= limit);
        for document in documents {
            assert_eq!(document["doc_hash"], EMPTY);
            uris.push(document["file_uri"].as_str().unwrap().to_owned());
        }
        match body["next_cursor"].as_str() {
            Some(cursor) => next = format!("&cursor={}", encode(cursor)),
            None => {
                assert!(body["next_cursor"].is_null());
                return uris;
            }
        }
    }
}

#[tokio::test]
async fn list_has_every_document_once_in_the_order_of_code_points() {
    let remote = Remote::new();
    let mut uris = [
        "x:b", "x:a", "x:aa", "x:A", "X:%7e", "y://H/1", "y://h/2", "x:a/b", "x:a.b",
    ];
    for uri in uris {
        remote
            .create(uri, &json!({"document": content::empty()}))
            .await;
    }
    uris[4] = "x:~";
    uris[5] = "y://h/1";
    uris.sort_unstable();
    for limit in 1..=5 {
        assert_eq!(list_all(&remote, "", limit).await, uris);
        assert_eq!(
            list_all(&remote, "x:a", limit).await,
            ["x:a", "x:a.b", "x:a/b", "x:aa"]
        );
        assert_eq!(
            list_all(&remote, "y://h/", limit).await,
            ["y://h/1", "y://h/2"]
        );
    }
    // Prefixes are neither normalised nor judged.
    for prefix in ["Y://h/", "x:%7e", "é", "%", " ", "z"] {
        assert_eq!(list_all(&remote, prefix, 5).await, [""; 0], "{prefix}");
    }
    let everything = remote.call("GET", "documents", &[]).await.json();
    assert_eq!(everything["documents"].as_array().unwrap().len(), 5);
}

#[tokio::test]
async fn limit_and_cursor_are_judged_after_the_contract() {
    let remote = Remote::new();
    for (target, verdict) in [
        ("documents?limit=0", (400, "DPE_VALIDATION")),
        ("documents?limit=6", (400, "DPE_VALIDATION")),
        (
            "documents?limit=9223372036854775807",
            (400, "DPE_VALIDATION"),
        ),
        ("documents?cursor=", (400, "DPE_VALIDATION")),
        ("documents?cursor=x", (400, "DPE_VALIDATION")),
        ("documents?limit=5", (200, "")),
        ("documents?limit=0001", (200, "")),
    ] {
        assert_eq!(
            remote.call("GET", target, &[]).await.verdict(),
            verdict,
            "{target}"
        );
        let without = remote.send("GET", target, &[], None).await;
        assert_eq!(
            without.verdict(),
            (400, "DPE_CONTRACT_UNSUPPORTED"),
            "{target}"
        );
    }
    let reply = remote.send("GET", "documents?limit=abc", &[], None).await;
    assert_eq!(reply.verdict(), (400, "DPE_VALIDATION"));
}
