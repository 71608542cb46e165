//! Commits that refer to a session: http-binding §10.2, §10.3.

use std::io::Read;

use dpe::model::{BlobRef, FileUri};
use serde_json::{Value, json};

use super::super::content::{self, E1, E2, E3, HELLO, P0, P1};
use super::super::remote::{DPE1, IF_ABSENT, Remote, target};
use super::{
    ALICE, BOB, blob_ref, bytes, from_session, hooked, image, in_chunks, json_bytes, negotiate,
    open, path, roomy, session_of, stage, stage_json,
};

const EXPIRED: (u16, &str) = (410, "DPE_SESSION_EXPIRED");

/// A stored blob, read back.
fn stored(remote: &Remote, uri: &str, blob: &str) -> Option<Vec<u8>> {
    let (uri, blob) = (FileUri::parse(uri).unwrap(), BlobRef::parse(blob).unwrap());
    let mut found = remote.store.blob(&uri, blob).unwrap()?;
    let mut read = Vec::new();
    found.read_to_end(&mut read).unwrap();
    assert_eq!(found.length(), read.len() as u64);
    Some(read)
}

/// Stages the whole document of hash contract §16 and returns the session.
async fn staged_document(remote: &Remote, uri: &str) -> String {
    let reply = negotiate(remote, uri, &content::document(), &[]).await;
    let session = session_of(&reply);
    stage_json(remote, &session, "pages", P0, &content::p0()).await;
    stage_json(remote, &session, "pages", P1, &content::p1()).await;
    stage_json(remote, &session, "objects", E1, &content::e1()).await;
    stage_json(remote, &session, "objects", E2, &content::e2()).await;
    stage_json(remote, &session, "objects", E3, &content::e3()).await;
    let reply = stage(remote, &session, "blobs", HELLO, b"hello").await;
    assert_eq!(reply.status, 201, "{}", reply.text);
    session
}

#[tokio::test]
async fn staged_document_is_committed_and_its_session_consumed() {
    let remote = hooked(roomy());
    let session = staged_document(&remote, "x:d").await;
    assert_eq!(remote.head("x:d").await, None);
    let body = from_session(&content::document(), &session);
    let reply = remote.put("x:d", IF_ABSENT, &body).await;
    assert_eq!(reply.status, 201, "{}", reply.text);
    let expected = json!({"status": "created", "doc_hash": content::D,
                          "delta": {"added": 3, "removed": 0, "retained": 0}});
    assert_eq!(reply.json(), expected);
    let skeleton = remote.call("GET", &target("x:d"), &[]).await.json();
    assert_eq!(skeleton["pages"], json!([content::p0(), content::p1()]));
    assert_eq!(
        stored(&remote, "x:d", HELLO).as_deref(),
        Some(&b"hello"[..])
    );
    assert_eq!(stored(&remote, "x:d", &blob_ref(b"other")), None);
    // Whatever is done with the session now, it is over.
    for reply in [
        stage_json(&remote, &session, "pages", P0, &content::p0()).await,
        stage(&remote, &session, "blobs", HELLO, b"hello").await,
        super::chunk(&remote, &session, "blobs", HELLO, "0-4/5", b"hello").await,
        remote
            .call("HEAD", &path(&session, "blobs", HELLO), &[])
            .await,
        remote.put("x:e", IF_ABSENT, &body).await,
    ] {
        assert_eq!(reply.verdict(), EXPIRED);
    }
}

#[tokio::test]
async fn inline_goes_before_staged_and_staged_before_current() {
    let remote = hooked(roomy());
    let (element, hash) = content::text("a");
    let spelled = |member: &str| json!({"elements": [hash], "page_metadata": {member: null}});
    let (page, page_hash) = content::page(&[&hash]);
    let pages = async |condition: (&str, &str), body: Value| {
        let reply = remote.put("x:d", condition, &body).await;
        assert!(reply.status < 300, "{}", reply.text);
        let skeleton = remote.call("GET", &target("x:d"), &[]).await;
        let etag = skeleton.header("etag").unwrap().to_owned();
        (etag, skeleton.json()["pages"][0].clone())
    };
    let session = open(&remote, "x:d").await;
    stage_json(&remote, &session, "pages", &page_hash, &page).await;
    let (first, _) = content::doc(&[&page_hash]);
    let mut body = from_session(&first, &session);
    body["objects"] = json!([element]);
    let (etag, found) = pages(IF_ABSENT, body).await;
    assert_eq!(found, page);

    // The session's spelling replaces the current one, although the page is not new.
    let session = open(&remote, "x:d").await;
    stage_json(&remote, &session, "pages", &page_hash, &spelled("staged")).await;
    let (second, _) = content::doc(&[&page_hash, &page_hash]);
    let (etag, found) = pages(("if-match", &etag), from_session(&second, &session)).await;
    assert_eq!(found, spelled("staged"));

    let session = open(&remote, "x:d").await;
    stage_json(&remote, &session, "pages", &page_hash, &page).await;
    let mut body = from_session(&first, &session);
    body["pages"] = json!([spelled("inline")]);
    let (_, found) = pages(("if-match", &etag), body).await;
    assert_eq!(found, spelled("inline"));
}

#[tokio::test]
async fn missing_content_of_a_session_is_told_layer_by_layer_and_the_session_stays() {
    let remote = hooked(roomy());
    let session = open(&remote, "x:d").await;
    let body = from_session(&content::document(), &session);
    let missing = async || {
        let reply = remote.put("x:d", IF_ABSENT, &body).await;
        assert_eq!(reply.verdict(), (400, "DPE_MISSING_CONTENT"));
        reply.json()["missing"].clone()
    };
    let lists = |pages: &[&str], elements: &[&str], blobs: &[&str]| json!({"pages": pages, "content_hashes": elements, "blobs": blobs});
    assert_eq!(missing().await, lists(&[P0, P1], &[], &[]));
    stage_json(&remote, &session, "pages", P1, &content::p1()).await;
    assert_eq!(missing().await, lists(&[P0], &[E3], &[]));
    stage_json(&remote, &session, "objects", E3, &content::e3()).await;
    assert_eq!(missing().await, lists(&[P0], &[], &[HELLO]));
    stage(&remote, &session, "blobs", HELLO, b"hello").await;
    stage_json(&remote, &session, "pages", P0, &content::p0()).await;
    assert_eq!(missing().await, lists(&[], &[E1, E2], &[]));
    let mut whole = body.clone();
    whole["objects"] = json!([content::e1(), content::e2()]);
    let reply = remote.put("x:d", IF_ABSENT, &whole).await;
    assert_eq!(reply.status, 201, "{}", reply.text);
}

#[tokio::test]
async fn staged_page_of_the_current_state_guarantees_nothing_below_it() {
    let remote = hooked(roomy());
    let (new, new_hash) = content::page(&[E1]);
    let (document, _) = content::doc(&[&new_hash]);
    let session = open(&remote, "x:d").await;
    stage_json(&remote, &session, "pages", &new_hash, &new).await;
    let reply = remote
        .put("x:d", IF_ABSENT, &from_session(&document, &session))
        .await;
    assert_eq!(reply.json()["missing"]["content_hashes"], json!([E1]));
}

#[tokio::test]
async fn half_sent_object_is_missing() {
    let remote = hooked(roomy());
    let session = open(&remote, "x:d").await;
    let (element, hash) = image(HELLO);
    let (page, page_hash) = content::page(&[&hash]);
    let (document, _) = content::doc(&[&page_hash]);
    super::chunk(&remote, &session, "blobs", HELLO, "0-3/5", b"hell").await;
    let mut body = from_session(&document, &session);
    body["pages"] = json!([page]);
    body["objects"] = json!([element]);
    let reply = remote.put("x:d", IF_ABSENT, &body).await;
    assert_eq!(reply.json()["missing"]["blobs"], json!([HELLO]));
    super::chunk(&remote, &session, "blobs", HELLO, "4-4/5", b"o").await;
    assert_eq!(remote.put("x:d", IF_ABSENT, &body).await.status, 201);
}

#[tokio::test]
async fn conditions_come_before_the_session_and_that_before_the_content() {
    let remote = hooked(roomy());
    remote
        .create("x:d", &json!({"document": content::empty()}))
        .await;
    let body = from_session(&content::document(), "st-unknown");
    let reply = remote.put("x:d", IF_ABSENT, &body).await;
    assert_eq!(reply.verdict(), (412, "DPE_ALREADY_EXISTS"));
    let current = format!("\"{}\"", content::EMPTY);
    let reply = remote.put("x:d", ("if-match", &current), &body).await;
    assert_eq!(reply.verdict(), EXPIRED);
    let reply = remote
        .put(
            "x:d",
            ("if-match", &current),
            &from_session(&content::document(), ""),
        )
        .await;
    assert_eq!(reply.verdict(), EXPIRED);
}

#[tokio::test]
async fn only_a_write_consumes_the_session() {
    let remote = hooked(roomy());
    let session = staged_document(&remote, "x:d").await;
    let body = from_session(&content::document(), &session);
    // Refused by its condition, then unchanged, then by a form.
    let tag = format!("\"{}\"", content::EMPTY);
    let reply = remote.put("x:d", ("if-match", &tag), &body).await;
    assert_eq!(reply.verdict(), (412, "DPE_NOT_FOUND"));
    remote
        .create("x:d", &json!({"document": content::empty()}))
        .await;
    let unchanged = from_session(&content::empty(), &session);
    let reply = remote.put("x:d", IF_ABSENT, &unchanged).await;
    assert_eq!(
        (reply.status, &reply.json()["status"]),
        (200, &json!("unchanged"))
    );
    let reply = remote.put("x:d", ("if-match", "*"), &body).await;
    assert_eq!(reply.verdict(), (400, "DPE_VALIDATION"));
    // After a lost race the same session serves the new condition.
    let reply = remote.put("x:d", ("if-match", &tag), &body).await;
    assert_eq!(
        (reply.status, &reply.json()["status"]),
        (200, &json!("updated"))
    );
}

#[tokio::test]
async fn session_belongs_to_its_document_however_that_is_spelled() {
    let remote = hooked(roomy());
    let session = staged_document(&remote, "x://h/%7ed").await;
    let body = from_session(&content::document(), &session);
    for other in ["x://h/d", "x://h/~D", "x://h/~d/"] {
        let reply = remote.put(other, IF_ABSENT, &body).await;
        assert_eq!(reply.verdict(), EXPIRED, "{other}");
    }
    // Uploads ask for the caller only, and the session was not consumed.
    let reply = stage(&remote, &session, "blobs", HELLO, b"hello").await;
    assert_eq!(reply.status, 200);
    assert_eq!(remote.put("X://H/~d", IF_ABSENT, &body).await.status, 201);
}

#[tokio::test]
async fn session_belongs_to_its_caller() {
    let remote = hooked(roomy());
    let body = json!({"file_uri": "x:d", "document": content::document()});
    let negotiate = [DPE1, ALICE];
    let reply = remote
        .send("POST", "negotiate", &negotiate, json_bytes(&body))
        .await;
    let session = session_of(&reply.json());
    let upload = async |caller: &[(&str, &str)]| {
        let headers = [&[DPE1], caller].concat();
        let target = path(&session, "blobs", HELLO);
        remote
            .send("PUT", &target, &headers, b"hello".to_vec())
            .await
    };
    for stranger in [
        &[BOB][..],
        &[],
        &[("authorization", "")],
        &[("authorization", "Alice")],
    ] {
        assert_eq!(upload(stranger).await.verdict(), EXPIRED, "{stranger:?}");
        let headers = [&[DPE1, IF_ABSENT], stranger].concat();
        let body = json_bytes(&from_session(&content::document(), &session));
        let reply = remote.send("PUT", &target("x:d"), &headers, body).await;
        assert_eq!(reply.verdict(), EXPIRED);
        let headers = [&[DPE1], stranger].concat();
        let asked = path(&session, "blobs", HELLO);
        let reply = remote.send("HEAD", &asked, &headers, None).await;
        assert_eq!(reply.verdict(), EXPIRED);
    }
    assert_eq!(upload(&[ALICE]).await.status, 201);
}

#[tokio::test]
async fn blobs_of_the_current_state_need_not_come_again_and_those_of_others_do() {
    let remote = hooked(roomy());
    let blob = bytes(70_000);
    let name = blob_ref(&blob);
    let session = open(&remote, "x:d").await;
    let reply = in_chunks(&remote, &session, "blobs", &name, &blob, 30_000).await;
    assert_eq!(reply.status, 201, "{}", reply.text);
    let (element, hash) = image(&name);
    let (page, page_hash) = content::page(&[&hash]);
    let (document, doc_hash) = content::doc(&[&page_hash]);
    let inline = json!({"document": document, "pages": [page], "objects": [element]});
    let mut body = inline.clone();
    body["staging_session"] = json!(session);
    remote.create("x:d", &body).await;
    assert_eq!(stored(&remote, "x:d", &name), Some(blob));

    // Another element with the same blob.
    let alt = json!({"category": "Image", "blob": name, "text": "alt"});
    let alt_hash = content::hash(&alt, dpe_hash::ObjectKind::Element, "dpe1");
    let (page, page_hash) = content::page(&[&alt_hash]);
    let (document, _) = content::doc(&[&page_hash]);
    let update = json!({"document": document, "pages": [page], "objects": [alt]});
    let reply = remote.put("x:other", IF_ABSENT, &update).await;
    assert_eq!(reply.json()["missing"]["blobs"], json!([name]));
    let session = open(&remote, "x:other").await;
    let reply = stage_json(&remote, &session, "objects", &alt_hash, &alt).await;
    assert_eq!(reply.json(), json!({"missing_blobs": [name]}));
    let session = open(&remote, "x:d").await;
    let reply = stage_json(&remote, &session, "objects", &alt_hash, &alt).await;
    assert_eq!(reply.json(), json!({"missing_blobs": []}));
    let tag = format!("\"{doc_hash}\"");
    let reply = remote.put("x:d", ("if-match", &tag), &update).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    assert!(stored(&remote, "x:d", &name).is_some());
}
