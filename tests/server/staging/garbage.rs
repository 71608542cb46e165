//! What nobody can reach any more goes, and nothing else does.

use std::fs;
use std::path::Path;

use rusqlite::Connection;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::super::content;
use super::super::remote::{IF_ABSENT, Remote, target};
use super::{advance, at, blob_ref, bytes, chunk, from_session, image, open, stage, stage_json};

/// Names of all files below a directory of the store, sorted.
fn files(dir: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            names.extend(files(&path));
        } else {
            names.push(path.file_name().unwrap().to_str().unwrap().to_owned());
        }
    }
    names.sort();
    names
}

fn digits(name: &str) -> String {
    name.trim_start_matches("sha256:").to_owned()
}

/// Rows of a table of a closed store.
fn rows(dir: &Path, table: &str) -> i64 {
    let database = Connection::open(dir.join("remote.db")).unwrap();
    let sql = format!("SELECT count(*) FROM {table}");
    database.query_row(&sql, [], |row| row.get(0)).unwrap()
}

/// A document of one image.
fn document(blob: &str) -> (Value, Value, String) {
    let (element, hash) = image(blob);
    let (page, page_hash) = content::page(&[&hash]);
    let (document, doc_hash) = content::doc(&[&page_hash]);
    let body = json!({"document": document, "pages": [page], "objects": [element]});
    (document, body, doc_hash)
}

async fn commit_image(remote: &Remote, uri: &str, blob: &[u8]) -> String {
    let name = blob_ref(blob);
    let session = open(remote, uri).await;
    let reply = stage(remote, &session, "blobs", &name, blob).await;
    assert_eq!(reply.status, 201, "{}", reply.text);
    let (_, mut body, hash) = document(&name);
    body["staging_session"] = json!(session);
    remote.create(uri, &body).await;
    hash
}

async fn delete(remote: &Remote, uri: &str, hash: &str) {
    let tag = format!("\"{hash}\"");
    let reply = remote
        .call("DELETE", &target(uri), &[("if-match", &tag)])
        .await;
    assert_eq!(reply.status, 204);
}

/// Waits for a sweep in the background.
async fn until(mut holds: impl FnMut() -> bool) {
    for _ in 0..3000 {
        if holds() {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("it never came to that");
}

#[tokio::test]
async fn blob_stays_until_the_last_reference_is_gone() {
    let dir = TempDir::new().unwrap();
    let blobs = dir.path().join("blobs");
    let blob = bytes(70_000);
    let name = digits(&blob_ref(&blob));
    let remote = at(dir.path());
    let first = commit_image(&remote, "x:a", &blob).await;
    let second = commit_image(&remote, "x:b", &blob).await;
    let session = open(&remote, "x:c").await;
    stage(&remote, &session, "blobs", &blob_ref(&blob), &blob).await;
    assert_eq!(files(&blobs), [name.as_str()]);
    delete(&remote, "x:a", &first).await;
    drop(remote);
    let remote = at(dir.path());
    assert_eq!(files(&blobs), [name.as_str()]);
    // A document replaces the image.
    let tag = format!("\"{second}\"");
    let empty = json!({"document": content::empty()});
    assert_eq!(
        remote.put("x:b", ("if-match", &tag), &empty).await.status,
        200
    );
    drop(remote);
    let remote = at(dir.path());
    // The session still has it.
    assert_eq!(files(&blobs), [name.as_str()]);
    let (_, mut body, _) = document(&blob_ref(&blob));
    body["staging_session"] = json!(session);
    remote.create("x:c", &body).await;
    drop(remote);
    let remote = at(dir.path());
    assert_eq!(files(&blobs), [name.as_str()]);
    let hash = remote.head("x:c").await.unwrap();
    delete(&remote, "x:c", &hash).await;
    drop(remote);
    drop(at(dir.path()));
    assert!(files(&blobs).is_empty());
    assert_eq!(
        (rows(dir.path(), "blob"), rows(dir.path(), "loose_blob")),
        (0, 0)
    );
}

#[tokio::test]
async fn expired_sessions_go_with_everything_they_held() {
    let dir = TempDir::new().unwrap();
    let (blob, half, small) = (bytes(80_000), bytes(90_000), bytes(10));
    let remote = at(dir.path());
    let session = open(&remote, "x:a").await;
    stage(&remote, &session, "blobs", &blob_ref(&blob), &blob).await;
    stage(&remote, &session, "blobs", &blob_ref(&small), &small).await;
    chunk(
        &remote,
        &session,
        "blobs",
        &blob_ref(&half),
        "0-9/90000",
        &half[..10],
    )
    .await;
    stage_json(&remote, &session, "pages", content::P0, &content::p0()).await;
    stage_json(&remote, &session, "objects", content::E1, &content::e1()).await;
    assert_eq!(files(&dir.path().join("blobs")).len(), 1);
    assert_eq!(files(&dir.path().join("partial")).len(), 1);
    let kept = commit_image(&remote, "x:kept", &bytes(70_001)).await;
    // The next negotiation after its end sweeps in the background.
    advance(&remote, 4000).await;
    open(&remote, "x:b").await;
    let kept_name = digits(&blob_ref(&bytes(70_001)));
    let (blobs, partial) = (dir.path().join("blobs"), dir.path().join("partial"));
    until(|| files(&blobs) == [kept_name.as_str()] && files(&partial).is_empty()).await;
    assert_eq!(remote.head("x:kept").await, Some(kept));
    drop(remote);
    for (table, count) in [
        ("session", 1),
        ("staged_page", 0),
        ("staged_element", 0),
        ("staged_blob", 0),
        ("partial", 0),
        ("blob", 1),
    ] {
        assert_eq!(rows(dir.path(), table), count, "{table}");
    }
}

#[tokio::test]
async fn consumed_session_leaves_nothing_but_the_document() {
    let dir = TempDir::new().unwrap();
    let remote = at(dir.path());
    let session = open(&remote, "x:a").await;
    let (unused, half) = (bytes(80_000), bytes(90_000));
    stage(&remote, &session, "blobs", &blob_ref(&unused), &unused).await;
    chunk(
        &remote,
        &session,
        "blobs",
        &blob_ref(&half),
        "0-9/90000",
        &half[..10],
    )
    .await;
    let reply = remote
        .put("x:a", IF_ABSENT, &from_session(&content::empty(), &session))
        .await;
    assert_eq!(reply.status, 201, "{}", reply.text);
    drop(remote);
    drop(at(dir.path()));
    assert!(files(&dir.path().join("blobs")).is_empty());
    assert!(files(&dir.path().join("partial")).is_empty());
    assert_eq!(
        (rows(dir.path(), "session"), rows(dir.path(), "blob")),
        (0, 0)
    );
}

#[tokio::test]
async fn files_of_a_killed_process_that_no_row_counts_are_swept() {
    let dir = TempDir::new().unwrap();
    let remote = at(dir.path());
    let kept = commit_image(&remote, "x:kept", &bytes(70_001)).await;
    drop(remote);
    // Renamed into its place, but never counted; and two that were on their way there.
    let orphan = digits(&blob_ref(b"orphan"));
    let shelf = dir.path().join("blobs").join(&orphan[..2]);
    fs::create_dir_all(&shelf).unwrap();
    fs::write(shelf.join(&orphan), b"orphan").unwrap();
    let partial = dir.path().join("partial");
    fs::create_dir_all(&partial).unwrap();
    fs::write(
        partial.join(format!("st-gone.blobs.sha256.{orphan}")),
        b"or",
    )
    .unwrap();
    fs::write(
        partial.join(format!("st-gone.blobs.sha256.{orphan}.whole")),
        b"or",
    )
    .unwrap();
    // That is how a kill leaves the lock.
    fs::write(dir.path().join("lock"), "4711\n").unwrap();
    let remote = at(dir.path());
    let kept_name = digits(&blob_ref(&bytes(70_001)));
    assert_eq!(files(&dir.path().join("blobs")), [kept_name.as_str()]);
    assert!(files(&partial).is_empty());
    assert_eq!(remote.head("x:kept").await, Some(kept));
}

#[tokio::test]
async fn removal_of_a_blob_that_was_cut_short_is_finished() {
    let dir = TempDir::new().unwrap();
    let remote = at(dir.path());
    let blob = bytes(70_001);
    let hash = commit_image(&remote, "x:a", &blob).await;
    delete(&remote, "x:a", &hash).await;
    drop(remote);
    // The row is gone, the file is not.
    let database = Connection::open(dir.path().join("remote.db")).unwrap();
    database.execute("DELETE FROM blob", []).unwrap();
    drop(database);
    drop(at(dir.path()));
    assert!(files(&dir.path().join("blobs")).is_empty());
    assert_eq!(rows(dir.path(), "loose_blob"), 0);
}

#[tokio::test]
async fn sweep_beside_uploads_of_the_same_blob_takes_none_away() {
    let dir = TempDir::new().unwrap();
    let remote = at(dir.path());
    let blob = bytes(66_000);
    for round in 0..20 {
        let uri = format!("x:{round}");
        let hash = commit_image(&remote, &uri, &blob).await;
        let (deleted, session, swept) = tokio::join!(
            delete(&remote, &uri, &hash),
            open(&remote, "x:next"),
            async {
                advance(&remote, 700).await;
                open(&remote, "x:sweeps").await
            }
        );
        let _ = (deleted, swept);
        let reply = stage(&remote, &session, "blobs", &blob_ref(&blob), &blob).await;
        assert_eq!(reply.status, 201, "{}", reply.text);
        let (_, mut body, hash) = document(&blob_ref(&blob));
        body["staging_session"] = json!(session);
        remote.create("x:next", &body).await;
        let uri = dpe::model::FileUri::parse("x:next").unwrap();
        let reference = dpe::model::BlobRef::parse(&blob_ref(&blob)).unwrap();
        let mut found = remote.store.blob(&uri, reference).unwrap().unwrap();
        let mut read = Vec::new();
        std::io::Read::read_to_end(&mut found, &mut read).unwrap();
        assert!(read == blob);
        delete(&remote, "x:next", &hash).await;
    }
}
