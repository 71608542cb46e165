//! Whole uploads and their replies: http-binding §9.1–§9.3.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;

use super::super::content::{self, E1, E2, E3, HELLO, P0, P1};
use super::super::remote::DPE1;
use super::{
    blob_ref, bytes, chunk, hooked, json_bytes, limits, negotiate, offset, open, path, roomy,
    session_of, stage, stage_json,
};

#[tokio::test]
async fn first_upload_is_new_and_a_repeated_one_is_not() {
    let remote = hooked(roomy());
    let session = open(&remote, "x:d").await;
    let page = json_bytes(&content::p0());
    let element = json_bytes(&content::e3());
    let below_page = json!({"missing_content_hashes": [E1, E2], "missing_truncated": false});
    for (kind, name, body, below) in [
        ("pages", P0, &page[..], below_page),
        ("objects", E3, &element, json!({"missing_blobs": [HELLO]})),
        ("blobs", HELLO, b"hello", json!({})),
        ("blobs", &blob_ref(b""), b"", json!({})),
        (
            "blobs",
            &blob_ref(&bytes(100_000)),
            &bytes(100_000),
            json!({}),
        ),
    ] {
        for status in [201, 200, 200] {
            let reply = stage(&remote, &session, kind, name, body).await;
            assert_eq!(
                (reply.status, reply.json()),
                (status, below.clone()),
                "{kind}"
            );
            assert!(reply.header("dpe-session-expires").is_some());
            assert_eq!(reply.header("content-type"), Some("application/json"));
            assert_eq!(reply.header("vary"), None);
        }
        // Another session has received nothing of it (core §8).
        let other = open(&remote, "x:d").await;
        assert_eq!(stage(&remote, &other, kind, name, body).await.status, 201);
    }
}

#[tokio::test]
async fn missing_elements_are_listed_in_order_without_repetition_and_without_the_scope() {
    let remote = hooked(roomy());
    let (body, _) = content::inline(&[&["current"]]);
    remote.create("x:d", &body).await;
    let session = open(&remote, "x:d").await;
    let (staged, staged_hash) = content::text("staged");
    stage_json(&remote, &session, "objects", &staged_hash, &staged).await;
    let current = content::text("current").1;
    let (page, hash) = content::page(&[E2, &current, E1, &staged_hash, E2]);
    let reply = stage_json(&remote, &session, "pages", &hash, &page).await;
    assert_eq!(reply.json()["missing_content_hashes"], json!([E2, E1]));
}

#[tokio::test]
async fn altered_body_of_a_complete_object_is_a_mismatch_and_not_a_repetition() {
    let remote = hooked(roomy());
    let session = open(&remote, "x:d").await;
    stage_json(&remote, &session, "pages", P0, &content::p0()).await;
    stage_json(&remote, &session, "objects", E1, &content::e1()).await;
    stage(&remote, &session, "blobs", HELLO, b"hello").await;
    let mismatch = (400, "DPE_HASH_MISMATCH");
    let reply = stage_json(&remote, &session, "pages", P0, &content::p1()).await;
    assert_eq!(reply.verdict(), mismatch);
    let reply = stage_json(&remote, &session, "objects", E1, &content::e2()).await;
    assert_eq!(reply.verdict(), mismatch);
    let reply = stage(&remote, &session, "blobs", HELLO, b"hellp").await;
    assert_eq!(reply.verdict(), mismatch);
    // In a chunk nothing of that is looked at (§9.4, step 4).
    let reply = chunk(&remote, &session, "pages", P0, "nonsense", b"[").await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    let reply = chunk(&remote, &session, "blobs", HELLO, "5-9/3", b"").await;
    assert_eq!((reply.status, reply.text.as_str()), (200, "{}"));
}

#[tokio::test]
async fn whole_upload_discards_what_came_in_chunks() {
    let remote = hooked(roomy());
    let session = open(&remote, "x:d").await;
    let page = json_bytes(&content::p1());
    let blob = bytes(90_000);
    let blob_name = blob_ref(&blob);
    for (kind, name, body) in [("pages", P1, &page), ("blobs", blob_name.as_str(), &blob)] {
        let range = format!("0-9/{}", body.len());
        let reply = chunk(&remote, &session, kind, name, &range, &body[..10]).await;
        assert_eq!(reply.status, 202, "{}", reply.text);
        assert_eq!(stage(&remote, &session, kind, name, body).await.status, 201);
        assert_eq!(
            offset(&remote, &session, kind, name).await,
            body.len() as u64
        );
    }
}

#[tokio::test]
async fn coded_bodies_are_decoded_whatever_the_object() {
    let remote = hooked(limits());
    let session = open(&remote, "x:d").await;
    let gzip = |bytes: &[u8]| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    };
    let page = json_bytes(&content::p0());
    for (kind, name, body) in [
        ("pages", P0, &page[..]),
        ("objects", E1, &json_bytes(&content::e1())),
        ("blobs", HELLO, b"hello"),
    ] {
        let target = path(&session, kind, name);
        let headers = [DPE1, ("content-encoding", "gzip")];
        let reply = remote.send("PUT", &target, &headers, gzip(body)).await;
        assert_eq!(reply.status, 201, "{}", reply.text);
    }
    // Bytes received are decoded ones.
    assert_eq!(
        offset(&remote, &session, "pages", P0).await,
        page.len() as u64
    );
}

#[tokio::test]
async fn long_list_below_a_whole_page_is_complete() {
    let hashes: Vec<_> = (0..30).map(|n| content::text(&n.to_string()).1).collect();
    let hashes: Vec<_> = hashes.iter().map(String::as_str).collect();
    let (page, name) = content::page(&hashes);
    let body = json_bytes(&page);
    let mut limits = roomy();
    // The body of the list is longer than any request may be, by what is around it.
    limits.max_payload_bytes = body.len() as u64;
    let remote = hooked(limits);
    let reply = negotiate(&remote, "x:d", &content::empty(), &[]).await;
    let session = session_of(&reply);
    for status in [201, 200] {
        let reply = stage(&remote, &session, "pages", &name, &body).await;
        assert_eq!(reply.status, status, "{}", reply.text);
        assert!(reply.text.len() > body.len());
        assert_eq!(reply.json()["missing_content_hashes"], json!(hashes));
        assert_eq!(reply.json()["missing_truncated"], false);
    }
    // Not even a chunk of it makes the list shorter: the page did not come in chunks.
    let reply = chunk(&remote, &session, "pages", &name, "x", b"").await;
    assert_eq!(reply.json()["missing_content_hashes"], json!(hashes));
}
