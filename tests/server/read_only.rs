//! Stores opened to be read: nothing on disk is different afterwards.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::SystemTime;

use dpe::model::{Contract, Contracts, FileUri};
use dpe::server::{InProcess, OpenMode, Options, Service, Store, StoreError};
use serde_json::json;
use tempfile::TempDir;

use super::content;
use super::remote::{self, Remote, small_limits, target};

type Trace = BTreeMap<String, (Vec<u8>, SystemTime)>;

/// Names, bytes and times of everything in a directory, and its own time.
fn trace(dir: &Path) -> (SystemTime, Trace) {
    let files = fs::read_dir(dir).unwrap().map(|entry| {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let modified = entry.metadata().unwrap().modified().unwrap();
        (name, (fs::read(entry.path()).unwrap(), modified))
    });
    let files = files.collect();
    (fs::metadata(dir).unwrap().modified().unwrap(), files)
}

fn service(store: &Store) -> Remote {
    let service = Service::new(store.clone(), small_limits(), Options::default());
    Remote::from_parts(store.clone(), InProcess::new(&service))
}

/// Fills a store with documents `x:0` to `x:3` and returns it, open.
async fn filled(dir: &Path) -> Remote {
    let remote = service(&remote::open(dir, Contracts::SUPPORTED));
    for number in 0..4 {
        let (body, _) = content::inline(&[&["a", &number.to_string()]]);
        remote.create(&format!("x:{number}"), &body).await;
    }
    remote
}

/// Reads everything there is in a filled store, and tries to write.
async fn read_all(dir: &Path) {
    let store = Store::open(dir, OpenMode::ReadOnly).unwrap();
    let remote = service(&store);
    for number in 0..4 {
        let uri = format!("x:{number}");
        let skeleton = remote.call("GET", &target(&uri), &[]).await;
        assert_eq!(skeleton.status, 200, "{}", skeleton.text);
        let elements = store.elements(&FileUri::parse(&uri).unwrap()).unwrap();
        assert_eq!(elements.unwrap().len(), 2);
    }
    let listed = remote.call("GET", "documents", &[]).await.json();
    assert_eq!(listed["documents"].as_array().unwrap().len(), 4);
    let empty = json!({"document": content::empty()});
    let reply = remote.put("x:new", remote::IF_ABSENT, &empty).await;
    assert_eq!(reply.verdict(), (503, "DPE_UNAVAILABLE"));
    assert_eq!(reply.header("retry-after"), Some("86400"));
    assert_eq!(remote.head("x:new").await, None);
}

#[tokio::test]
async fn reading_leaves_no_trace() {
    let place = TempDir::new().unwrap();
    for name in ["store", "a b?#%41&c=é"] {
        let dir = place.path().join(name);
        drop(filled(&dir).await);
        let before = trace(&dir);
        assert_eq!(before.1.keys().collect::<Vec<_>>(), ["lock", "remote.db"]);
        read_all(&dir).await;
        assert_eq!(trace(&dir), before);
    }
}

#[cfg(unix)]
#[tokio::test]
async fn log_that_a_killed_writer_left_is_read_as_it_lies_there() {
    let dir = TempDir::new().unwrap();
    let remote = filled(dir.path()).await;
    // What a kill would leave now: everything is in the log only.
    for files in [
        &["remote.db", "remote.db-wal", "remote.db-shm", "lock"][..],
        &["remote.db", "remote.db-wal", "lock"],
    ] {
        let left = TempDir::new().unwrap();
        for file in files {
            fs::copy(dir.path().join(file), left.path().join(file)).unwrap();
        }
        let before = trace(left.path());
        read_all(left.path()).await;
        assert_eq!(trace(left.path()), before);
        // The next writer finds it all, too.
        drop(Store::open(left.path(), OpenMode::MustExist).unwrap());
        read_all(left.path()).await;
    }
    drop(remote);
}

#[tokio::test]
async fn readers_share_a_store_and_keep_writers_off() {
    let dir = TempDir::new().unwrap();
    let remote = filled(dir.path()).await;
    let refused = Store::open(dir.path(), OpenMode::ReadOnly);
    let pid = Some(std::process::id());
    assert!(matches!(refused, Err(StoreError::InUse { pid: found, .. }) if found == pid));
    drop(remote);
    let first = Store::open(dir.path(), OpenMode::ReadOnly).unwrap();
    let second = Store::open(dir.path(), OpenMode::ReadOnly).unwrap();
    let refused = Store::open(dir.path(), OpenMode::MustExist);
    // The writer of before is not blamed.
    assert!(matches!(refused, Err(StoreError::InUse { pid: None, .. })));
    drop(first);
    assert!(Store::open(dir.path(), OpenMode::Create).is_err());
    drop(second);
    Store::open(dir.path(), OpenMode::MustExist).unwrap();
}

#[test]
fn missing_store_is_not_created_to_be_read() {
    let place = TempDir::new().unwrap();
    let dir = place.path().join("store");
    let missing = Store::open(&dir, OpenMode::ReadOnly);
    assert!(matches!(missing, Err(StoreError::Missing { .. })));
    assert!(!dir.exists());
    // A creation that was cut short: there is no database yet.
    fs::create_dir(&dir).unwrap();
    fs::write(dir.join("lock"), "").unwrap();
    let before = trace(&dir);
    let missing = Store::open(&dir, OpenMode::ReadOnly);
    assert!(matches!(missing, Err(StoreError::Missing { .. })));
    assert_eq!(trace(&dir), before);
}

#[tokio::test]
async fn hashes_that_would_have_to_be_added_are_not_taken_for_absent() {
    let dir = TempDir::new().unwrap();
    drop(filled(dir.path()).await);
    let before = trace(dir.path());
    let both = Contracts::SUPPORTED.with(Contract::Dpex);
    let refused = Store::open_declaring(dir.path(), OpenMode::ReadOnly, both);
    assert!(matches!(refused, Err(StoreError::Database { .. })));
    assert_eq!(trace(dir.path()), before);
}
