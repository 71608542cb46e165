//! Sessions and half uploads in a store that is closed and opened again.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::super::content::{self, P0};
use super::super::remote::IF_ABSENT;
use super::{
    at, blob_ref, bytes, chunk, from_session, image, in_chunks, json_bytes, offset, open, stage,
    stage_json,
};

fn only_partial(dir: &Path) -> PathBuf {
    let mut files = fs::read_dir(dir.join("partial")).unwrap();
    let file = files.next().unwrap().unwrap().path();
    assert!(files.next().is_none());
    file
}

#[tokio::test]
async fn half_uploads_go_on_where_they_were() {
    let dir = TempDir::new().unwrap();
    let blob = bytes(200_000);
    let name = blob_ref(&blob);
    let page = json_bytes(&content::p0());
    let remote = at(dir.path());
    let session = open(&remote, "x:d").await;
    let reply = chunk(
        &remote,
        &session,
        "blobs",
        &name,
        "0-99999/200000",
        &blob[..100_000],
    )
    .await;
    assert_eq!(reply.status, 202, "{}", reply.text);
    let range = format!("0-9/{}", page.len());
    chunk(&remote, &session, "pages", P0, &range, &page[..10]).await;
    drop(remote);

    let remote = at(dir.path());
    assert_eq!(offset(&remote, &session, "blobs", &name).await, 100_000);
    assert_eq!(offset(&remote, &session, "pages", P0).await, 10);
    let range = "100000-199999/200000";
    let reply = chunk(&remote, &session, "blobs", &name, range, &blob[100_000..]).await;
    assert_eq!(reply.status, 201, "{}", reply.text);
    let range = format!("10-{}/{}", page.len() - 1, page.len());
    let reply = chunk(&remote, &session, "pages", P0, &range, &page[10..]).await;
    assert_eq!(reply.status, 201, "{}", reply.text);
}

#[tokio::test]
async fn bytes_that_are_gone_are_asked_for_again() {
    let dir = TempDir::new().unwrap();
    let blob = bytes(1000);
    let name = blob_ref(&blob);
    let remote = at(dir.path());
    let session = open(&remote, "x:d").await;
    chunk(
        &remote,
        &session,
        "blobs",
        &name,
        "0-499/1000",
        &blob[..500],
    )
    .await;
    drop(remote);
    // As after a power cut.
    let file = only_partial(dir.path());
    fs::write(&file, &blob[..300]).unwrap();
    let remote = at(dir.path());
    assert_eq!(offset(&remote, &session, "blobs", &name).await, 0);
    let reply = in_chunks(&remote, &session, "blobs", &name, &blob, 500).await;
    assert_eq!(reply.status, 201, "{}", reply.text);

    // Under a running server, too.
    let other = bytes(900);
    let name = blob_ref(&other);
    chunk(
        &remote,
        &session,
        "blobs",
        &name,
        "0-499/900",
        &other[..500],
    )
    .await;
    fs::remove_file(only_partial(dir.path())).unwrap();
    let reply = chunk(
        &remote,
        &session,
        "blobs",
        &name,
        "500-899/900",
        &other[500..],
    )
    .await;
    assert_eq!(reply.verdict(), (400, "DPE_VALIDATION"));
    assert_eq!(reply.header("dpe-upload-offset"), Some("0"));
    let reply = in_chunks(&remote, &session, "blobs", &name, &other, 500).await;
    assert_eq!(reply.status, 201, "{}", reply.text);
}

#[tokio::test]
async fn bytes_that_were_written_but_not_counted_do_no_harm() {
    let dir = TempDir::new().unwrap();
    let blob = bytes(1000);
    let name = blob_ref(&blob);
    let remote = at(dir.path());
    let session = open(&remote, "x:d").await;
    chunk(
        &remote,
        &session,
        "blobs",
        &name,
        "0-499/1000",
        &blob[..500],
    )
    .await;
    drop(remote);
    let file = only_partial(dir.path());
    let longer = [&blob[..500], &[7; 900]].concat();
    fs::write(&file, longer).unwrap();
    let remote = at(dir.path());
    assert_eq!(offset(&remote, &session, "blobs", &name).await, 500);
    let reply = chunk(
        &remote,
        &session,
        "blobs",
        &name,
        "500-999/1000",
        &blob[500..],
    )
    .await;
    assert_eq!(reply.status, 201, "{}", reply.text);
}

#[tokio::test]
async fn changed_bytes_never_become_an_object() {
    let dir = TempDir::new().unwrap();
    let blob = bytes(1000);
    let name = blob_ref(&blob);
    let remote = at(dir.path());
    let session = open(&remote, "x:d").await;
    chunk(
        &remote,
        &session,
        "blobs",
        &name,
        "0-499/1000",
        &blob[..500],
    )
    .await;
    drop(remote);
    fs::write(only_partial(dir.path()), [0; 500]).unwrap();
    let remote = at(dir.path());
    let reply = chunk(
        &remote,
        &session,
        "blobs",
        &name,
        "500-999/1000",
        &blob[500..],
    )
    .await;
    assert_eq!(reply.verdict(), (400, "DPE_HASH_MISMATCH"));
    assert_eq!(offset(&remote, &session, "blobs", &name).await, 0);
}

#[tokio::test]
async fn complete_objects_of_a_session_can_be_committed_later() {
    let dir = TempDir::new().unwrap();
    let blob = bytes(100_000);
    let name = blob_ref(&blob);
    let (element, hash) = image(&name);
    let (page, page_hash) = content::page(&[&hash]);
    let (document, doc_hash) = content::doc(&[&page_hash]);
    let remote = at(dir.path());
    let session = open(&remote, "x:d").await;
    stage(&remote, &session, "blobs", &name, &blob).await;
    stage_json(&remote, &session, "objects", &hash, &element).await;
    stage_json(&remote, &session, "pages", &page_hash, &page).await;
    drop(remote);
    let remote = at(dir.path());
    let reply = remote
        .put("x:d", IF_ABSENT, &from_session(&document, &session))
        .await;
    assert_eq!(reply.status, 201, "{}", reply.text);
    assert_eq!(remote.head("x:d").await, Some(doc_hash));
}

#[tokio::test]
async fn blob_that_was_put_in_its_place_but_not_counted_goes_on_where_it_was() {
    let dir = TempDir::new().unwrap();
    let blob = bytes(100_000);
    let name = blob_ref(&blob);
    let remote = at(dir.path());
    let session = open(&remote, "x:d").await;
    chunk(
        &remote,
        &session,
        "blobs",
        &name,
        "0-69999/100000",
        &blob[..70_000],
    )
    .await;
    drop(remote);
    // What a kill leaves between the two.
    let digits = name.trim_start_matches("sha256:");
    let shelf = dir.path().join("blobs").join(&digits[..2]);
    fs::create_dir_all(&shelf).unwrap();
    fs::remove_file(only_partial(dir.path())).unwrap();
    fs::write(shelf.join(digits), &blob).unwrap();
    fs::write(dir.path().join("lock"), "4711\n").unwrap();
    let remote = at(dir.path());
    assert_eq!(offset(&remote, &session, "blobs", &name).await, 70_000);
    let range = "70000-99999/100000";
    let reply = chunk(&remote, &session, "blobs", &name, range, &blob[70_000..]).await;
    assert_eq!(reply.status, 201, "{}", reply.text);
}
