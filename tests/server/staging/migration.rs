//! Stores of schema version 1, as they exist at users.

use std::fs;
use std::path::Path;

use dpe::model::{Contracts, FileUri};
use dpe::server::{InProcess, OpenMode, Options, Service, Store};
use rusqlite::Connection;
use serde_json::json;
use tempfile::TempDir;

use super::super::content;
use super::super::remote::{Remote, target};
use super::{HOOKS, at, blob_ref, image, open, roomy, stage};

/// The tables of version 1, word by word.
const VERSION_1: &str = "
CREATE TABLE setting (
    name  TEXT PRIMARY KEY,
    value BLOB NOT NULL
) STRICT;
CREATE TABLE document (
    id            INTEGER PRIMARY KEY,
    file_uri      TEXT NOT NULL UNIQUE,
    dpe1          BLOB NOT NULL,
    dpex          BLOB,
    element_count INTEGER NOT NULL,
    text          TEXT NOT NULL
) STRICT;
CREATE TABLE page (
    id            INTEGER PRIMARY KEY,
    document      INTEGER NOT NULL,
    dpe1          BLOB NOT NULL,
    dpex          BLOB,
    occurrences   INTEGER NOT NULL,
    element_count INTEGER NOT NULL,
    text          TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX page_by_hash ON page (document, dpe1);
CREATE TABLE element (
    id            INTEGER PRIMARY KEY,
    document      INTEGER NOT NULL,
    dpe1          BLOB NOT NULL,
    dpex          BLOB,
    uses          INTEGER NOT NULL,
    blob          BLOB,
    text          TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX element_by_hash ON element (document, dpe1);
CREATE INDEX element_by_dpex ON element (document, dpex) WHERE dpex IS NOT NULL;
CREATE INDEX element_by_blob ON element (document, blob) WHERE blob IS NOT NULL;
INSERT INTO setting VALUES ('cursor_key', randomblob(16));
PRAGMA application_id = 0x64706552;
PRAGMA user_version = 1;
";

/// Writes a store of version 1 with the document `x:old` of one page with one text.
fn write_version_1(dir: &Path) -> String {
    let (element, element_hash) = content::text("a");
    let (page, page_hash) = content::page(&[&element_hash]);
    let (document, hash) = content::doc(&[&page_hash]);
    let digest = |hash: &str| -> Vec<u8> {
        let digits = hash.trim_start_matches("dpe1:");
        (0..32)
            .map(|at| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).unwrap())
            .collect()
    };
    let database = Connection::open(dir.join("remote.db")).unwrap();
    database.pragma_update(None, "journal_mode", "WAL").unwrap();
    database.execute_batch(VERSION_1).unwrap();
    database
        .execute(
            "INSERT INTO document VALUES (1, 'x:old', ?1, NULL, 1, ?2)",
            (digest(&hash), document.to_string()),
        )
        .unwrap();
    database
        .execute(
            "INSERT INTO page VALUES (1, 1, ?1, NULL, 1, 1, ?2)",
            (digest(&page_hash), page.to_string()),
        )
        .unwrap();
    database
        .execute(
            "INSERT INTO element VALUES (1, 1, ?1, NULL, 1, NULL, ?2)",
            (digest(&element_hash), element.to_string()),
        )
        .unwrap();
    drop(database);
    fs::write(dir.join("lock"), "").unwrap();
    hash
}

fn version(dir: &Path) -> i64 {
    let database = Connection::open(dir.join("remote.db")).unwrap();
    database
        .query_row("PRAGMA user_version", [], |row| row.get(0))
        .unwrap()
}

#[tokio::test]
async fn store_of_version_1_is_brought_up_to_date_when_it_is_written() {
    let dir = TempDir::new().unwrap();
    let hash = write_version_1(dir.path());
    let remote = at(dir.path());
    assert_eq!(remote.head("x:old").await, Some(hash.clone()));
    let skeleton = remote.call("GET", &target("x:old"), &[]).await;
    assert_eq!(skeleton.status, 200, "{}", skeleton.text);
    let session = open(&remote, "x:old").await;
    let blob = blob_ref(b"pixels");
    assert_eq!(
        stage(&remote, &session, "blobs", &blob, b"pixels")
            .await
            .status,
        201
    );
    let (element, element_hash) = image(&blob);
    let (page, page_hash) = content::page(&[&content::text("a").1, &element_hash]);
    let (document, _) = content::doc(&[&page_hash]);
    let body = json!({"document": document, "pages": [page], "objects": [element],
                      "staging_session": session});
    let tag = format!("\"{hash}\"");
    let reply = remote.put("x:old", ("if-match", &tag), &body).await;
    let delta = json!({"added": 1, "removed": 0, "retained": 1});
    assert_eq!(
        (reply.status, &reply.json()["delta"]),
        (200, &delta),
        "{}",
        reply.text
    );
    drop(remote);
    assert_eq!(version(dir.path()), 2);
    drop(at(dir.path()));
}

#[tokio::test]
async fn store_of_version_1_is_read_as_it_is() {
    let dir = TempDir::new().unwrap();
    let hash = write_version_1(dir.path());
    let before = fs::read(dir.path().join("remote.db")).unwrap();
    let store = Store::open_declaring(dir.path(), OpenMode::ReadOnly, Contracts::SUPPORTED);
    let store = store.unwrap();
    let options = Options {
        hooks: Some(format!("/{HOOKS}")),
        ..Options::default()
    };
    let service = Service::new(store.clone(), roomy(), options);
    let remote = Remote::from_parts(store.clone(), InProcess::new(&service));
    assert_eq!(remote.head("x:old").await, Some(hash));
    assert_eq!(remote.call("GET", &target("x:old"), &[]).await.status, 200);
    let uri = FileUri::parse("x:old").unwrap();
    assert_eq!(store.elements(&uri).unwrap().unwrap().len(), 1);
    let blob = dpe::model::BlobRef::of(b"pixels");
    assert!(store.blob(&uri, blob).unwrap().is_none());
    // It cannot be written, and says so.
    let body = json!({"file_uri": "x:d", "document": content::empty()});
    let reply = remote.post("negotiate", &body).await;
    assert_eq!(reply.verdict(), (503, "DPE_UNAVAILABLE"));
    let reply = stage(&remote, "st-1", "blobs", &blob_ref(b""), b"").await;
    assert_eq!(reply.verdict(), (410, "DPE_SESSION_EXPIRED"));
    let asked = super::path("st-1", "blobs", &blob_ref(b""));
    let reply = remote.call("HEAD", &asked, &[]).await;
    assert_eq!(reply.verdict(), (410, "DPE_SESSION_EXPIRED"));
    drop((remote, service, store));
    assert_eq!(fs::read(dir.path().join("remote.db")).unwrap(), before);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
}
