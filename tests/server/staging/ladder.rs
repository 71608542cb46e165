//! The order of evaluation of staging: http-binding §6, §8.2, §9, §12.

use dpe::server::{Access, Options};
use serde_json::json;

use super::super::content::{self, E1, HELLO, P0};
use super::super::remote::{DPE1, IF_ABSENT, Remote, target};
use super::{ALICE, BOB, json_bytes, limits, open, path, session_of};

const VALIDATION: (u16, &str) = (400, "DPE_VALIDATION");
const CONTRACT: (u16, &str) = (400, "DPE_CONTRACT_UNSUPPORTED");
const MISMATCH: (u16, &str) = (400, "DPE_HASH_MISMATCH");
const TOO_LARGE: (u16, &str) = (413, "DPE_PAYLOAD_TOO_LARGE");
const EXPIRED: (u16, &str) = (410, "DPE_SESSION_EXPIRED");
const BARE: &str = "";

/// A caller is required; `alice` may write below `x:a`, and `bob` elsewhere.
fn guarded() -> Remote {
    let mut access = Access::default();
    access.require_authentication();
    access.grant("alice", ["x:a".to_owned()]).unwrap();
    access.grant("bob", ["x:bob/".to_owned()]).unwrap();
    let options = Options {
        access,
        ..Options::default()
    };
    Remote::with(limits(), options)
}

#[tokio::test]
async fn paths_have_exactly_their_methods_before_authentication() {
    let remote = guarded();
    let all = ["GET", "HEAD", "PUT", "POST", "DELETE", "PATCH", "OPTIONS"];
    for (target, allowed) in [
        ("negotiate", &["POST"][..]),
        ("%6Eegotiate?limit=abc", &["POST"]),
        ("staging/s/pages/h", &["HEAD", "PUT"]),
        ("staging/s/blobs/h", &["HEAD", "PUT"]),
        ("staging/s/objects/h", &["PUT"]),
        ("staging/%2F/p%61ges/%20?uri=x:a&uri=x:a", &["HEAD", "PUT"]),
    ] {
        for method in all {
            let reply = remote.send(method, target, &[], vec![b'['; 4001]).await;
            if allowed.contains(&method) {
                assert_eq!(reply.verdict(), (401, BARE), "{method} {target}");
                assert!(reply.header("www-authenticate").is_some());
            } else {
                assert_eq!(reply.verdict(), (405, BARE), "{method} {target}");
                let allow: Vec<_> = reply.header("allow").unwrap().split(", ").collect();
                assert_eq!(allow, allowed, "{target}");
            }
            assert_eq!(reply.header("vary"), None);
        }
    }
}

#[tokio::test]
async fn negotiate_climbs_to_the_right_to_write() {
    let remote = guarded();
    let send = async |headers: &[(&str, &str)], body: Vec<u8>| {
        let reply = remote.send("POST", "negotiate", headers, body).await;
        assert_eq!(reply.header("dpe-session-expires"), None);
        let (status, code) = reply.verdict();
        (status, code.to_owned())
    };
    let is = |(status, code): (u16, &str)| (status, code.to_owned());
    let body = |uri: &str| json_bytes(&json!({"file_uri": uri, "document": content::document()}));
    assert_eq!(
        send(&[ALICE, ("content-encoding", "br")], vec![b'['; 4001]).await,
        (415, BARE.into())
    );
    assert_eq!(send(&[ALICE], vec![b'['; 4001]).await, is(TOO_LARGE));
    assert_eq!(send(&[ALICE], b"[".to_vec()).await, is(VALIDATION));
    assert_eq!(send(&[ALICE], b"{\"x\":null}".to_vec()).await, is(CONTRACT));
    for wrong in [
        json!([]),
        json!({}),
        json!({"file_uri": "x:a", "document": null}),
        json!({"file_uri": null, "document": content::empty()}),
        json!({"file_uri": "x:a", "document": "x"}),
        json!({"file_uri": "é", "document": content::empty()}),
        json!({"file_uri": "x:a", "document": content::empty(), "pages": {}}),
        json!({"file_uri": "x:a", "document": content::empty(), "objects": []}),
        json!({"file_uri": "x:a", "document": content::empty(), "force": null}),
    ] {
        let found = send(&[ALICE, DPE1], json_bytes(&wrong)).await;
        assert_eq!(found, is(VALIDATION), "{wrong}");
    }
    let foreign = json!({"file_uri": "x:z", "document": {"file_type": "md", "pages": ["dpe9:0"]},
                         "pages": [1]});
    assert_eq!(
        send(&[ALICE, DPE1], json_bytes(&foreign)).await,
        is(CONTRACT)
    );
    let bad_page = json!({"file_uri": "x:z", "document": content::empty(), "pages": [{}]});
    assert_eq!(
        send(&[ALICE, DPE1], json_bytes(&bad_page)).await,
        is(VALIDATION)
    );
    // The right does not depend on what there is, and conditions do not matter.
    for uri in ["x:z", "x:b"] {
        assert_eq!(
            send(&[ALICE, DPE1], body(uri)).await,
            (403, "DPE_FORBIDDEN".into())
        );
    }
    assert_eq!(
        send(&[BOB, DPE1], body("x:a")).await,
        (403, "DPE_FORBIDDEN".into())
    );
    let nulls = json!({"file_uri": "x:a", "document": content::empty(), "pages": null});
    let headers = [ALICE, DPE1, ("if-match", "nonsense")];
    assert_eq!(send(&headers, json_bytes(&nulls)).await, (200, BARE.into()));
}

#[tokio::test]
async fn whole_page_and_element_climb_to_the_session() {
    let remote = Remote::with(limits(), super::options());
    let other = path("st-none", "pages", "nonsense");
    let element = path("st-none", "objects", "nonsense");
    let put = async |target: &str, headers: &[(&str, &str)], body: Vec<u8>| {
        let reply = remote.send("PUT", target, headers, body).await;
        let (status, code) = reply.verdict();
        (status, code.to_owned())
    };
    let is = |(status, code): (u16, &str)| (status, code.to_owned());
    for target in [&other, &element] {
        let coded = [("content-encoding", "br")];
        assert_eq!(
            put(target, &coded, vec![b'['; 4001]).await,
            (415, BARE.into())
        );
        assert_eq!(put(target, &[], vec![b'['; 4001]).await, is(TOO_LARGE));
        assert_eq!(put(target, &[], b"[".to_vec()).await, is(VALIDATION));
        assert_eq!(put(target, &[], b"[]".to_vec()).await, is(CONTRACT));
        assert_eq!(put(target, &[DPE1], b"[]".to_vec()).await, is(VALIDATION));
    }
    // A page of 3000 bytes at most: after the contract, before the object.
    let long = [&b"["[..], &[b' '; 3000], b"]"].concat();
    assert_eq!(put(&other, &[], long.clone()).await, is(CONTRACT));
    assert_eq!(put(&other, &[DPE1], long.clone()).await, is(TOO_LARGE));
    assert_eq!(put(&element, &[DPE1], long).await, is(VALIDATION));
    let unknown = br#"{"category":"Nonsense"}"#.to_vec();
    assert_eq!(
        put(&element, &[DPE1], unknown).await,
        (400, "DPE_CATEGORY_UNKNOWN".into())
    );
    let (page, e1) = (json_bytes(&content::p0()), json_bytes(&content::e1()));
    assert_eq!(put(&other, &[DPE1], page.clone()).await, is(MISMATCH));
    assert_eq!(put(&element, &[DPE1], e1.clone()).await, is(MISMATCH));
    let upper = P0.to_uppercase();
    assert_eq!(
        put(&path("st-none", "pages", &upper), &[DPE1], page.clone()).await,
        is(MISMATCH)
    );
    assert_eq!(
        put(&path("st-none", "pages", P0), &[DPE1], page.clone()).await,
        is(EXPIRED)
    );
    assert_eq!(
        put(&path("st-none", "objects", E1), &[DPE1], e1.clone()).await,
        is(EXPIRED)
    );
    let session = open(&remote, "x:a").await;
    let spelled = path(&session, "pages", &P0.replace(':', "%3a"));
    assert_eq!(put(&spelled, &[DPE1], page).await, (201, BARE.into()));
    assert_eq!(
        put(&path(&session, "objects", E1), &[DPE1], e1).await,
        (201, BARE.into())
    );
}

#[tokio::test]
async fn whole_blob_climbs_to_the_session() {
    let remote = Remote::with(limits(), super::options());
    let blob = path("st-none", "blobs", HELLO);
    let bad = path("st-none", "blobs", "dpe1:00");
    let put = async |target: &str, headers: &[(&str, &str)], body: Vec<u8>| {
        let reply = remote.send("PUT", target, headers, body).await;
        let (status, code) = reply.verdict();
        (status, code.to_owned())
    };
    let is = |(status, code): (u16, &str)| (status, code.to_owned());
    // 3500 bytes a blob, 4000 a body.
    for length in [3501, 4001] {
        assert_eq!(put(&bad, &[], vec![0; length]).await, is(TOO_LARGE));
    }
    assert_eq!(
        put(&bad, &[("content-encoding", "br")], vec![0]).await,
        (415, BARE.into())
    );
    assert_eq!(put(&bad, &[], vec![0; 3500]).await, is(CONTRACT));
    assert_eq!(put(&bad, &[DPE1], vec![0; 3500]).await, is(VALIDATION));
    assert_eq!(put(&blob, &[DPE1], vec![0; 3500]).await, is(MISMATCH));
    assert_eq!(put(&blob, &[DPE1], b"hello".to_vec()).await, is(EXPIRED));
}

#[tokio::test]
async fn chunks_climb_to_the_range() {
    let remote = Remote::with(limits(), super::options());
    let session = open(&remote, "x:a").await;
    let none = ("content-range", "nonsense");
    let put = async |target: &str, headers: &[(&str, &str)], body: Vec<u8>| {
        let reply = remote.send("PUT", target, headers, body).await;
        let (status, code) = reply.verdict();
        (status, code.to_owned())
    };
    let is = |(status, code): (u16, &str)| (status, code.to_owned());
    for (kind, good, bad) in [("pages", P0, HELLO), ("blobs", HELLO, P0)] {
        let lost = path("st-none", kind, bad);
        // Never 415, and raw bytes count: this is no gzip at all.
        let coded = [none, ("content-encoding", "gzip")];
        assert_eq!(put(&lost, &coded, vec![0; 4001]).await, is(TOO_LARGE));
        assert_eq!(put(&lost, &coded, vec![0; 4000]).await, is(CONTRACT));
        let coded = [DPE1, none, ("content-encoding", "br")];
        assert_eq!(put(&lost, &coded, vec![0]).await, is(VALIDATION));
        let lost = path("st-none", kind, good);
        assert_eq!(put(&lost, &coded, vec![0]).await, is(EXPIRED));
        let target = path(&session, kind, good);
        assert_eq!(put(&target, &coded, vec![0]).await, is(VALIDATION));
        // The range before the size.
        let contradictory = [DPE1, ("content-range", "bytes 0-0/9000")];
        assert_eq!(
            put(&target, &contradictory, vec![0; 1001]).await,
            is(VALIDATION)
        );
        assert_eq!(put(&target, &contradictory, vec![0]).await, is(TOO_LARGE));
    }
    // An element: size, contract, and that is all.
    let target = path("st-none", "objects", "nonsense");
    assert_eq!(put(&target, &[none], vec![b'['; 4001]).await, is(TOO_LARGE));
    assert_eq!(put(&target, &[none], b"[".to_vec()).await, is(CONTRACT));
    let range = ("content-range", "bytes 0-0/1");
    assert_eq!(
        put(&target, &[DPE1, range], b"[".to_vec()).await,
        is(VALIDATION)
    );
}

#[tokio::test]
async fn resume_query_climbs_to_the_session_and_never_has_a_body() {
    let remote = Remote::with(limits(), super::options());
    let session = open(&remote, "x:a").await;
    let head = async |target: &str, headers: &[(&str, &str)]| {
        let reply = remote.send("HEAD", target, headers, None).await;
        assert_eq!(reply.text, "");
        let (status, code) = reply.verdict();
        (status, code.to_owned())
    };
    let is = |(status, code): (u16, &str)| (status, code.to_owned());
    for (kind, good, bad) in [("pages", P0, HELLO), ("blobs", HELLO, P0)] {
        assert_eq!(head(&path("st-none", kind, bad), &[]).await, is(CONTRACT));
        assert_eq!(
            head(&path("st-none", kind, bad), &[DPE1]).await,
            is(VALIDATION)
        );
        assert_eq!(
            head(&path(&session, kind, bad), &[DPE1]).await,
            is(VALIDATION)
        );
        assert_eq!(
            head(&path("st-none", kind, good), &[DPE1]).await,
            is(EXPIRED)
        );
        assert_eq!(
            head(&path(&session, kind, good), &[DPE1]).await,
            (200, BARE.into())
        );
    }
}

#[tokio::test]
async fn right_to_write_is_asked_again_at_the_commit_only() {
    let remote = guarded();
    let body = json_bytes(&json!({"file_uri": "x:a", "document": content::empty()}));
    let reply = remote.send("POST", "negotiate", &[ALICE, DPE1], body).await;
    let session = session_of(&reply.json());
    let commit = json_bytes(&json!({"document": content::empty(), "staging_session": session}));
    let headers = [ALICE, DPE1, IF_ABSENT];
    let reply = remote
        .send("PUT", &target("x:z"), &headers, commit.clone())
        .await;
    assert_eq!(reply.verdict(), (403, "DPE_FORBIDDEN"));
    let reply = remote.send("PUT", &target("x:a"), &headers, commit).await;
    assert_eq!(reply.status, 201, "{}", reply.text);
}
