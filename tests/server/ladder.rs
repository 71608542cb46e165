//! The order of evaluation: each step against the next ones (http-binding §6, §10.2, §12).

use std::io::Write;

use dpe::server::{Access, Options};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use super::content::{self, EMPTY, P0};
use super::remote::{DPE1, IF_ABSENT, Remote, Reply, small_limits, target};

const VALIDATION: (u16, &str) = (400, "DPE_VALIDATION");
const CONTRACT: (u16, &str) = (400, "DPE_CONTRACT_UNSUPPORTED");
const TOO_LARGE: (u16, &str) = (413, "DPE_PAYLOAD_TOO_LARGE");
const FORBIDDEN: (u16, &str) = (403, "DPE_FORBIDDEN");
const BARE: &str = "";

/// `alice` may write below `x:a`, `root` everywhere and by force; a caller is required.
fn guarded() -> Remote {
    let mut access = Access::default();
    access.require_authentication();
    access.grant("alice", ["x:a".to_owned()]).unwrap();
    access.grant("root", ["*".to_owned()]).unwrap();
    access.grant_force("root").unwrap();
    let options = Options {
        access,
        ..Options::default()
    };
    Remote::with(small_limits(), options)
}

const ALICE: (&str, &str) = ("authorization", "alice");
const ROOT: (&str, &str) = ("authorization", "root");

fn oversized() -> Vec<u8> {
    vec![b'['; 2001]
}

fn body(value: &Value) -> Vec<u8> {
    value.to_string().into_bytes()
}

#[tokio::test]
async fn unknown_paths_are_not_found_without_a_code_before_anything_else() {
    let remote = guarded();
    for path in [
        "",
        "unknown",
        "documents/",
        "documents/x?uri=x:a",
        "Documents?uri=x:a",
        "capabilities/",
        "negotiate/",
        "staging/s",
        "staging/s/pages",
        "staging/s/pages/",
        "staging/s/elements/h",
        "staging//pages/h",
        "staging/s//h",
        "staging/s/pages/h/",
        "staging/s/pages/h/i",
    ] {
        for method in ["GET", "PUT", "POST", "PATCH"] {
            let reply = remote.send(method, path, &[], oversized()).await;
            assert_eq!(reply.verdict(), (404, BARE), "{method} {path}");
            assert_eq!(reply.text, "");
            assert_eq!(reply.header("vary"), None);
        }
    }
}

#[tokio::test]
async fn wrong_methods_are_told_the_right_ones_before_authentication() {
    let remote = guarded();
    let documents = ["DELETE", "GET", "HEAD", "PUT"];
    for (path, methods, others) in [
        (
            "capabilities",
            &["GET"][..],
            &["HEAD", "POST", "OPTIONS"][..],
        ),
        ("heads", &["POST"], &["GET", "HEAD", "PUT"]),
        ("move", &["POST"], &["GET", "DELETE", "PATCH"]),
        ("negotiate", &["POST"], &["GET", "HEAD", "PUT"]),
        ("staging/s/pages/h", &["HEAD", "PUT"], &["GET", "POST"]),
        ("staging/s/objects/h", &["PUT"], &["HEAD", "GET", "DELETE"]),
        ("staging/s/blobs/h", &["HEAD", "PUT"], &["GET", "PATCH"]),
        (
            "%64ocuments?uri=x:a&uri=x:a",
            &documents,
            &["POST", "PATCH", "OPTIONS", "put"],
        ),
    ] {
        for method in others {
            let reply = remote.send(method, path, &[], oversized()).await;
            assert_eq!(reply.verdict(), (405, BARE), "{method} {path}");
            let mut allowed: Vec<_> = reply.header("allow").unwrap().split(", ").collect();
            allowed.sort_unstable();
            assert_eq!(allowed, methods);
            let vary = (methods.len() == 4).then_some("DPE-Hash-Contract");
            assert_eq!(reply.header("vary"), vary);
        }
    }
}

#[tokio::test]
async fn authentication_precedes_query_and_body_everywhere() {
    let remote = guarded();
    for (method, path) in [
        ("GET", "capabilities"),
        ("POST", "heads"),
        ("POST", "move"),
        ("POST", "negotiate"),
        ("PUT", "staging/s/pages/h"),
        ("HEAD", "staging/s/pages/h"),
        ("PUT", "staging/s/objects/h"),
        ("PUT", "staging/s/blobs/h"),
        ("PUT", "documents"),
        ("GET", "documents?limit=abc"),
        ("HEAD", "documents?uri=x:a&uri=x:a"),
        ("DELETE", "documents"),
    ] {
        let reply = remote
            .send(method, path, &[("content-encoding", "br")], oversized())
            .await;
        assert_eq!(reply.verdict(), (401, BARE), "{method} {path}");
        assert!(reply.header("www-authenticate").is_some());
        let is_documents = path.starts_with("documents");
        assert_eq!(reply.header("vary").is_some(), is_documents);
    }
    for (authorization, expected) in [("alice", 200), ("anyone", 401)] {
        let headers = [("authorization", authorization)];
        let reply = remote.send("GET", "capabilities", &headers, None).await;
        assert_eq!(reply.status, expected, "{authorization}");
    }
}

#[tokio::test]
async fn query_form_precedes_the_body_and_the_contract() {
    let remote = Remote::new();
    for query in [
        "uri=x:a&uri=x:a",
        "uri=x:a&cursor=1",
        "uri=%ff",
        "",
        "limit=abc",
    ] {
        let target = format!("documents?{query}");
        let headers = [("content-encoding", "br")];
        let reply = remote.send("PUT", &target, &headers, oversized()).await;
        assert_eq!(reply.verdict(), VALIDATION, "{query}");
        assert_eq!(reply.header("vary"), Some("DPE-Hash-Contract"));
    }
    // Parameters of other names do not matter, nor any on other paths.
    let other = format!("{}&x=%ff&x&%zz", target("x:a"));
    assert_eq!(
        remote.call("GET", &other, &[]).await.verdict(),
        (404, "DPE_NOT_FOUND")
    );
    let reply = remote
        .post("heads?uri=x:a&uri=%ff&limit=abc", &json!({"uris": []}))
        .await;
    assert_eq!(reply.status, 200);
}

#[tokio::test]
async fn coding_and_size_precede_the_message() {
    let remote = Remote::new();
    for (method, target) in [
        ("PUT", target("x:a")),
        ("POST", "heads".into()),
        ("POST", "move".into()),
    ] {
        let coded = [("content-encoding", "br")];
        let reply = remote.send(method, &target, &coded, oversized()).await;
        assert_eq!(reply.verdict(), (415, BARE), "{target}");
        assert_eq!(reply.header("accept-encoding"), Some("gzip"));
        assert_eq!(reply.header("vary").is_some(), method == "PUT");
        // No contract, and not even JSON.
        let reply = remote.send(method, &target, &[], oversized()).await;
        assert_eq!(reply.verdict(), TOO_LARGE, "{target}");
        let reply = remote
            .send(
                method,
                &target,
                &[("content-encoding", "gzip")],
                b"x".to_vec(),
            )
            .await;
        assert_eq!(reply.verdict(), VALIDATION, "{target}");
    }
    // Requests without a body in the binding do not look at one.
    let reply = remote
        .send(
            "GET",
            "documents",
            &[DPE1, ("content-encoding", "br")],
            oversized(),
        )
        .await;
    assert_eq!(reply.status, 200);
}

#[tokio::test]
async fn body_of_exactly_the_limit_is_accepted_compressed_or_not() {
    let remote = Remote::new();
    let empty = body(&json!({"document": content::empty(), "force": true}));
    let padded = [&empty[..], &vec![b' '; 2000 - empty.len()]].concat();
    let reply = remote
        .send("PUT", &target("x:a"), &[DPE1], padded.clone())
        .await;
    assert_eq!(reply.status, 201, "{}", reply.text);
    let gzip = |bytes: &[u8]| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    };
    let coded = [DPE1, ("content-encoding", "gzip")];
    let reply = remote
        .send("PUT", &target("x:b"), &coded, gzip(&padded))
        .await;
    assert_eq!(reply.status, 201, "{}", reply.text);
    let longer = [&padded[..], b" "].concat();
    let reply = remote
        .send("PUT", &target("x:c"), &coded, gzip(&longer))
        .await;
    assert_eq!(reply.verdict(), TOO_LARGE);
}

#[tokio::test]
async fn json_precedes_the_contract_and_the_contract_the_envelope() {
    let remote = Remote::new();
    let broken = [
        &b"["[..],
        b"",
        b"{} x",
        b"{\"a\":1,\"\\u0061\":2}",
        b"{\"a\":\"\\ud800\"}",
        b"\xff",
        b"\xef\xbb\xbf{}",
    ];
    let wrong_envelope = b"{\"undefined\":null}".to_vec();
    for (method, target) in [
        ("PUT", target("no uri")),
        ("POST", "heads".into()),
        ("POST", "move".into()),
    ] {
        for broken in broken {
            let reply = remote.send(method, &target, &[], broken.to_vec()).await;
            assert_eq!(reply.verdict(), VALIDATION, "{target} {broken:?}");
        }
        for contract in [
            &[][..],
            &[("dpe-hash-contract", "dpe2")],
            &[("dpe-hash-contract", "DPE1")],
            &[("dpe-hash-contract", "dpex")],
            &[("dpe-hash-contract", "")],
            &[DPE1, DPE1],
        ] {
            let reply = remote
                .send(method, &target, contract, wrong_envelope.clone())
                .await;
            assert_eq!(reply.verdict(), CONTRACT, "{target} {contract:?}");
        }
        let reply = remote
            .send(method, &target, &[DPE1], wrong_envelope.clone())
            .await;
        assert_eq!(reply.verdict(), VALIDATION, "{target}");
    }
    for method in ["GET", "HEAD", "DELETE"] {
        let reply = remote.send(method, &target("no uri"), &[], None).await;
        assert_eq!(reply.verdict(), CONTRACT, "{method}");
        let reply = remote.send(method, &target("no uri"), &[DPE1], None).await;
        assert_eq!(reply.verdict(), VALIDATION, "{method}");
    }
}

#[tokio::test]
async fn commit_envelopes_are_closed() {
    let remote = Remote::new();
    let document = content::empty();
    for wrong in [
        json!({}),
        json!([]),
        json!({"document": null}),
        json!({"document": "x"}),
        json!({"document": document, "file_uri": "x:a"}),
        json!({"document": document, "base_hash": EMPTY}),
        json!({"document": document, "if_absent": true}),
        json!({"document": document, "undefined": null}),
        json!({"document": document, "pages": {}}),
        json!({"document": document, "objects": "x"}),
        json!({"document": document, "staging_session": 1}),
        json!({"document": document, "force": "true"}),
        json!({"document": document, "force": 1}),
    ] {
        let reply = remote.put("x:a", IF_ABSENT, &wrong).await;
        assert_eq!(reply.verdict(), VALIDATION, "{wrong}");
    }
    let nulls = json!({"document": document, "pages": null, "objects": null,
                       "staging_session": null, "force": null});
    assert_eq!(remote.put("x:a", IF_ABSENT, &nulls).await.status, 201);
    let falsely = json!({"document": {"file_type": "md", "pages": []}, "force": false});
    assert_eq!(remote.put("x:b", IF_ABSENT, &falsely).await.status, 201);
}

#[tokio::test]
async fn objects_are_judged_in_order_after_the_envelope() {
    let remote = guarded();
    let verdict = async |uri: &str, value: Value| {
        // A malformed condition and no right to write: both come later.
        let headers = [DPE1, ALICE, ("if-match", "*")];
        let reply = remote
            .send("PUT", &target(uri), &headers, body(&value))
            .await;
        let (status, code) = reply.verdict();
        (status, code.to_owned())
    };
    let is = |(status, code): (u16, &str)| (status, code.to_owned());
    let unknown = (400, "DPE_CATEGORY_UNKNOWN");
    let foreign = json!({"file_type": "md", "pages": ["dpe9:zz"]});
    let bad_page = json!({"elements": ["dpe1:zz"]});
    let foreign_page = json!({"elements": ["dpe9:zz"]});
    let bad_element = json!({"category": "Nonsense"});
    let empty = content::empty();
    let found = verdict("é", json!({"document": foreign}));
    assert_eq!(found.await, is(VALIDATION));
    let found = verdict("x:z", json!({"document": foreign, "pages": [bad_page]}));
    assert_eq!(found.await, is(CONTRACT));
    let found = verdict(
        "x:z",
        json!({"document": empty, "pages": [{"elements": []}, foreign_page, bad_page],
                                      "objects": [bad_element]}),
    );
    assert_eq!(found.await, is(CONTRACT));
    let found = verdict(
        "x:z",
        json!({"document": empty, "pages": [bad_page, foreign_page]}),
    );
    assert_eq!(found.await, is(VALIDATION));
    let found = verdict(
        "x:z",
        json!({"document": empty, "objects": [bad_element, {"category": 5}]}),
    );
    assert_eq!(found.await, is(unknown));
    let found = verdict("x:z", json!({"document": empty, "objects": [1]}));
    assert_eq!(found.await, is(VALIDATION));
    let found = verdict("x:z", json!({"document": empty}));
    assert_eq!(found.await, is(VALIDATION));
}

#[tokio::test]
async fn condition_form_precedes_authorisation_and_authorisation_the_precondition() {
    let remote = guarded();
    let send = async |uri: &str, headers: &[(&str, &str)], value: Value| -> Reply {
        let headers = [&[DPE1], headers].concat();
        remote
            .send("PUT", &target(uri), &headers, body(&value))
            .await
    };
    let plain = json!({"document": content::empty()});
    let forced = json!({"document": content::empty(), "force": true});
    let tag = format!("\"{EMPTY}\"");
    let tag = ("if-match", tag.as_str());
    for malformed in [
        &[ALICE, ("if-match", "*")][..],
        &[ALICE, ("if-match", "")],
        &[ALICE, ("if-match", "x")],
        &[ALICE, ("if-none-match", "\"x\"")],
        &[ALICE, ("if-none-match", "")],
        &[ALICE, tag, IF_ABSENT],
        &[ALICE, tag, tag],
        &[ALICE, IF_ABSENT, IF_ABSENT],
    ] {
        let reply = send("x:z", malformed, plain.clone()).await;
        assert_eq!(reply.verdict(), VALIDATION, "{malformed:?}");
    }
    for condition in [tag, IF_ABSENT, ("if-match", "x")] {
        let reply = send("x:z", &[ALICE, condition], forced.clone()).await;
        assert_eq!(reply.verdict(), VALIDATION, "{condition:?}");
    }
    // The right comes before the missing precondition, whatever the document's state.
    assert_eq!(
        send("x:z", &[ALICE], plain.clone()).await.verdict(),
        FORBIDDEN
    );
    assert_eq!(
        send("x:z", &[ROOT, IF_ABSENT], plain.clone()).await.status,
        201
    );
    for condition in [tag, IF_ABSENT] {
        let reply = send("x:z", &[ALICE, condition], plain.clone()).await;
        assert_eq!(reply.verdict(), FORBIDDEN);
    }
    let required = (428, "DPE_PRECONDITION_REQUIRED");
    assert_eq!(
        send("x:a", &[ALICE], plain.clone()).await.verdict(),
        required
    );
    assert_eq!(
        send("x:a", &[ALICE], forced.clone()).await.verdict(),
        FORBIDDEN
    );
    assert_eq!(send("x:a", &[ROOT], forced).await.status, 201);
    // Reads are open to every caller.
    assert_eq!(
        remote.call("HEAD", &target("x:z"), &[ALICE]).await.status,
        200
    );
}

#[tokio::test]
async fn delete_and_move_ask_for_the_right_before_the_state() {
    let remote = guarded();
    let tag = format!("\"{EMPTY}\"");
    let delete = async |uri: &str, headers: &[(&str, &str)]| {
        let reply = remote.call("DELETE", &target(uri), headers).await;
        let (status, code) = reply.verdict();
        (status, code.to_owned())
    };
    let is = |(status, code): (u16, &str)| (status, code.to_owned());
    assert_eq!(delete("é", &[ALICE]).await, is(VALIDATION));
    assert_eq!(
        delete("x:z", &[ALICE, ("if-match", "*")]).await,
        is(VALIDATION)
    );
    assert_eq!(delete("x:z", &[ALICE]).await, is(FORBIDDEN));
    assert_eq!(
        delete("x:z", &[ALICE, ("if-match", &tag)]).await,
        is(FORBIDDEN)
    );
    let move_ = async |from: &str, to: &str| {
        let value = json!({"from_uri": from, "to_uri": to});
        let reply = remote
            .send("POST", "move", &[DPE1, ALICE], body(&value))
            .await;
        let (status, code) = reply.verdict();
        (status, code.to_owned())
    };
    assert_eq!(move_("x:z", "é").await, is(VALIDATION));
    assert_eq!(move_("x:z", "x:a").await, is(FORBIDDEN));
    assert_eq!(move_("x:a", "x:z").await, is(FORBIDDEN));
    assert_eq!(
        move_("x:a", "x:a2").await,
        is((428, "DPE_PRECONDITION_REQUIRED"))
    );
}

#[tokio::test]
async fn refused_commit_has_no_effect_at_all() {
    let remote = Remote::new();
    let (first, hash) = content::inline(&[&["a"], &["b"]]);
    remote.create("x:a", &first).await;
    let before = remote.call("GET", &target("x:a"), &[]).await.text;
    let (new, new_hash) = content::text("new");
    let (page, page_hash) = content::page(&[&new_hash]);
    let (document, _) = content::doc(&[&page_hash, P0]);
    let value = json!({"document": document, "pages": [page], "objects": [new]});
    let tag = format!("\"{hash}\"");
    let reply = remote.put("x:a", ("if-match", &tag), &value).await;
    assert_eq!(reply.verdict(), (400, "DPE_MISSING_CONTENT"));
    assert_eq!(remote.call("GET", &target("x:a"), &[]).await.text, before);
    // The new page was not kept either.
    let (document, _) = content::doc(&[&page_hash]);
    let reply = remote
        .put("x:a", ("if-match", &tag), &json!({"document": document}))
        .await;
    assert_eq!(reply.json()["missing"]["pages"], json!([page_hash]));
}
