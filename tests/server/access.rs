//! Read grants: who may read what, judged before anything about a document is looked up.

use dpe::protocol::wire::capabilities::Limits;
use dpe::server::{Access, Options};
use serde_json::{Value, json};

use super::content;
use super::remote::{DPE1, Remote, Reply, encode, small_limits, target};

const URIS: [&str; 6] = ["x:a/1", "x:a/2", "x:b/1", "x:b/2", "x:c/1", "x:d"];

/// Documents at [`URIS`]; `Bearer root` may do everything, `Bearer w` write below `x:b/` and
/// `Bearer r` read below `x:a/` and what begins with `x:c`.
async fn remote(limits: Limits) -> Remote {
    let mut access = Access::default();
    let mut grant = |who: &str, prefixes: &[&str]| {
        let prefixes = prefixes.iter().map(|prefix| (*prefix).to_owned());
        access.grant(who, prefixes).unwrap();
    };
    grant("Bearer root", &["*"]);
    grant("Bearer w", &["x:b/"]);
    let prefixes = ["x:a/", "x:c"].map(str::to_owned);
    access.grant_read("Bearer r", prefixes).unwrap();
    let options = Options {
        access,
        ..Options::default()
    };
    let remote = Remote::with(limits, options);
    for uri in URIS {
        let headers = [
            DPE1,
            ("if-none-match", "*"),
            ("authorization", "Bearer root"),
        ];
        let body = json!({"document": content::empty()}).to_string();
        let reply = remote
            .send("PUT", &target(uri), &headers, body.into_bytes())
            .await;
        assert_eq!(reply.status, 201, "{}", reply.text);
    }
    remote
}

async fn call(
    remote: &Remote,
    who: &str,
    method: &str,
    target: &str,
    headers: &[(&str, &str)],
) -> Reply {
    let headers = [&[DPE1, ("authorization", who)], headers].concat();
    remote.send(method, target, &headers, None).await
}

async fn heads(remote: &Remote, who: &str, body: &Value) -> Reply {
    let headers = [DPE1, ("authorization", who)];
    let body = body.to_string().into_bytes();
    remote.send("POST", "heads", &headers, body).await
}

#[tokio::test]
async fn read_grants_and_write_grants_allow_reading_and_nothing_else_does() {
    let remote = remote(small_limits()).await;
    for (who, readable) in [
        ("Bearer root", &URIS[..]),
        ("Bearer w", &["x:b/1", "x:b/2"]),
        ("Bearer r", &["x:a/1", "x:a/2", "x:c/1"]),
        ("Bearer nobody", &[]),
    ] {
        for uri in URIS {
            let may = readable.contains(&uri);
            let status = if may { 200 } else { 403 };
            for method in ["HEAD", "GET"] {
                let reply = call(&remote, who, method, &target(uri), &[]).await;
                assert_eq!(reply.status, status, "{who} {method} {uri}");
                assert_eq!(reply.header("dpe-doc-hash").is_some(), may);
                assert_eq!(reply.header("vary"), Some("DPE-Hash-Contract"));
            }
            let reply = heads(&remote, who, &json!({"uris": [uri]})).await;
            assert_eq!(reply.status, status, "{who} heads {uri}");
        }
    }
}

#[tokio::test]
async fn forbidden_reader_learns_nothing_of_existence() {
    let remote = remote(small_limits()).await;
    for uri in ["x:b/1", "x:b/absent"] {
        for (method, condition) in [("HEAD", "*"), ("GET", "*"), ("GET", "\"dpe1:x\"")] {
            let headers = [("if-none-match", condition)];
            let reply = call(&remote, "Bearer r", method, &target(uri), &headers).await;
            assert_eq!(reply.verdict(), (403, "DPE_FORBIDDEN"), "{method} {uri}");
        }
    }
}

#[tokio::test]
async fn one_forbidden_uri_denies_the_batch() {
    let remote = remote(small_limits()).await;
    let batch = json!({"uris": ["x:a/1", "x:b/1", "x:a/absent"]});
    let reply = heads(&remote, "Bearer r", &batch).await;
    assert_eq!(reply.verdict(), (403, "DPE_FORBIDDEN"));
    let batch = json!({"uris": ["x:a/1", "x:a/absent", "x:C"]});
    let reply = heads(&remote, "Bearer r", &batch).await;
    assert_eq!(reply.verdict(), (403, "DPE_FORBIDDEN"), "compared by case");
    let batch = json!({"uris": ["x:a/1", "x:a/absent"]});
    let reply = heads(&remote, "Bearer r", &batch).await;
    assert_eq!(
        reply.json(),
        json!({"heads": [{"doc_hash": content::EMPTY}, null]})
    );
    assert_eq!(
        heads(&remote, "Bearer r", &json!({"uris": []}))
            .await
            .status,
        200
    );
}

#[tokio::test]
async fn message_is_judged_before_the_right_to_read() {
    let remote = remote(small_limits()).await;
    let wrong_contract = [("dpe-hash-contract", "dpe9"), ("authorization", "Bearer r")];
    for method in ["HEAD", "GET"] {
        let reply = remote
            .send(method, &target("x:b/1"), &wrong_contract, None)
            .await;
        assert_eq!(reply.verdict(), (400, "DPE_CONTRACT_UNSUPPORTED"));
        let reply = call(&remote, "Bearer r", method, &target("no uri"), &[]).await;
        assert_eq!(reply.verdict(), (400, "DPE_VALIDATION"));
    }
    let bad = [("if-none-match", "unquoted")];
    let reply = call(&remote, "Bearer r", "GET", &target("x:b/1"), &bad).await;
    assert_eq!(reply.verdict(), (400, "DPE_VALIDATION"));
    for body in [
        json!({"uris": ["x:b/1", "no uri"]}),
        json!({"uris": ["x:b/1", "x:b/1", "x:b/1", "x:b/1"]}),
    ] {
        let reply = heads(&remote, "Bearer r", &body).await;
        assert_eq!(reply.verdict(), (400, "DPE_VALIDATION"), "{body}");
    }
}

/// Walks the list in pages of `limit`; all but the last have to be full.
async fn list(remote: &Remote, who: &str, prefix: &str, limit: usize) -> Vec<String> {
    let mut uris = Vec::new();
    let mut cursor = String::new();
    loop {
        let target = format!("documents?prefix={}&limit={limit}{cursor}", encode(prefix));
        let reply = call(remote, who, "GET", &target, &[]).await;
        assert_eq!(reply.status, 200, "{}", reply.text);
        let body = reply.json();
        let page = body["documents"].as_array().unwrap();
        let page = page.iter().map(|each| each["file_uri"].as_str().unwrap());
        let before = uris.len();
        uris.extend(page.map(str::to_owned));
        let Some(next) = body["next_cursor"].as_str() else {
            return uris;
        };
        assert_eq!(uris.len() - before, limit, "a page that is not full");
        cursor = format!("&cursor={}", encode(next));
    }
}

#[tokio::test]
async fn list_shows_every_readable_document_once_in_full_pages() {
    let remote = remote(small_limits()).await;
    for limit in 1..=5 {
        for (who, prefix, expected) in [
            ("Bearer root", "", &URIS[..]),
            ("Bearer r", "", &["x:a/1", "x:a/2", "x:c/1"]),
            ("Bearer r", "x:a", &["x:a/1", "x:a/2"]),
            ("Bearer r", "x:a/2", &["x:a/2"]),
            ("Bearer r", "x:b", &[]),
            ("Bearer w", "", &["x:b/1", "x:b/2"]),
            ("Bearer w", "x:", &["x:b/1", "x:b/2"]),
        ] {
            let found = list(&remote, who, prefix, limit).await;
            assert_eq!(found, expected, "{who} {prefix:?} by {limit}");
        }
    }
}

#[tokio::test]
async fn list_is_forbidden_to_who_may_read_nothing_at_all() {
    let remote = remote(small_limits()).await;
    for (who, target, expected) in [
        ("Bearer nobody", "documents", (403, "DPE_FORBIDDEN")),
        (
            "Bearer nobody",
            "documents?prefix=x:a",
            (403, "DPE_FORBIDDEN"),
        ),
        // The message comes first.
        (
            "Bearer nobody",
            "documents?limit=0",
            (400, "DPE_VALIDATION"),
        ),
        (
            "Bearer nobody",
            "documents?cursor=x",
            (400, "DPE_VALIDATION"),
        ),
        ("Bearer r", "documents?prefix=x:b", (200, "")),
    ] {
        let reply = call(&remote, who, "GET", target, &[]).await;
        assert_eq!(reply.verdict(), expected, "{who} {target}");
    }
    let reply = remote.send("GET", "documents", &[], None).await;
    assert_eq!(reply.verdict(), (400, "DPE_CONTRACT_UNSUPPORTED"));
}

#[tokio::test]
async fn reading_is_no_right_to_write() {
    let remote = remote(small_limits()).await;
    let base = format!("\"{}\"", content::EMPTY);
    let body = json!({"document": content::empty()})
        .to_string()
        .into_bytes();
    let headers = [DPE1, ("authorization", "Bearer r"), ("if-match", &base)];
    for (method, body) in [("PUT", Some(body)), ("DELETE", None)] {
        let reply = remote.send(method, &target("x:a/1"), &headers, body).await;
        assert_eq!(reply.verdict(), (403, "DPE_FORBIDDEN"), "{method}");
    }
    for (who, from, to) in [
        ("Bearer r", "x:a/1", "x:a/3"),
        ("Bearer w", "x:b/1", "x:a/3"),
        ("Bearer w", "x:a/1", "x:b/3"),
    ] {
        let body = json!({"from_uri": from, "to_uri": to, "base_hash": content::EMPTY});
        let headers = [DPE1, ("authorization", who)];
        let body = body.to_string().into_bytes();
        let reply = remote.send("POST", "move", &headers, body).await;
        assert_eq!(reply.verdict(), (403, "DPE_FORBIDDEN"), "{from} to {to}");
    }
}
