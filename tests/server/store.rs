//! The store as a directory: who may open it, what survives, what is left alone.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use dpe::model::{Contract, Contracts, FileUri, Hash};
use dpe::server::{OpenMode, Store, StoreError};
use rusqlite::Connection;
use serde_json::json;
use tempfile::TempDir;

use super::content;
use super::remote::{Remote, target};

fn database(dir: &Path) -> std::path::PathBuf {
    dir.join("remote.db")
}

#[test]
fn second_opener_is_refused_and_told_the_holder() {
    let dir = TempDir::new().unwrap();
    let first = Store::open(dir.path(), OpenMode::Create).unwrap();
    let Err(StoreError::InUse { pid, .. }) = Store::open(dir.path(), OpenMode::Create) else {
        panic!("the store was opened twice");
    };
    assert_eq!(pid, Some(std::process::id()));
    drop(first);
    Store::open(dir.path(), OpenMode::MustExist).unwrap();
}

#[test]
fn opener_learns_where_the_holder_serves_the_store_as_long_as_it_does() {
    let served_at = |dir: &Path| match Store::open(dir, OpenMode::Create) {
        Err(StoreError::InUse { served_at, .. }) => served_at,
        other => panic!("{other:?}"),
    };
    let dir = TempDir::new().unwrap();
    let first = Store::open(dir.path(), OpenMode::Create).unwrap();
    assert_eq!(served_at(dir.path()), None);
    first.announce("http://127.0.0.1:7373/r/1").unwrap();
    let url = Some("http://127.0.0.1:7373/r/1".to_owned());
    assert_eq!(served_at(dir.path()), url);
    let reader = Store::open(dir.path(), OpenMode::ReadOnly);
    assert!(matches!(reader, Err(StoreError::InUse { served_at, .. }) if served_at == url));
    let left = fs::read(dir.path().join("lock")).unwrap();
    drop(first);
    assert_eq!(fs::read(dir.path().join("lock")).unwrap(), b"");
    // What a server that was killed leaves counts for nobody, whoever has the store now.
    fs::write(dir.path().join("lock"), &left).unwrap();
    let reader = Store::open(dir.path(), OpenMode::ReadOnly).unwrap();
    let Err(StoreError::InUse {
        pid,
        served_at: url,
        ..
    }) = Store::open(dir.path(), OpenMode::Create)
    else {
        panic!("written beside a reader");
    };
    assert_eq!((pid, url), (None, None));
    drop(reader);
    let _second = Store::open(dir.path(), OpenMode::Create).unwrap();
    assert_eq!(served_at(dir.path()), None);
}

#[test]
fn half_written_announcement_is_not_read() {
    let dir = TempDir::new().unwrap();
    let _first = Store::open(dir.path(), OpenMode::Create).unwrap();
    for (content, expected) in [
        ("1\nhttp://127.0.0.1:73", (Some(1), None)),
        ("12", (None, None)),
        ("", (None, None)),
        ("1\nhttp://h\n", (Some(1), Some("http://h".to_owned()))),
    ] {
        fs::write(dir.path().join("lock"), content).unwrap();
        let Err(StoreError::InUse { pid, served_at, .. }) =
            Store::open(dir.path(), OpenMode::Create)
        else {
            panic!("the store was opened twice");
        };
        assert_eq!((pid, served_at), expected, "{content:?}");
    }
}

#[test]
fn missing_store_is_created_only_where_that_is_wanted() {
    let dir = TempDir::new().unwrap();
    let at = dir.path().join("deep/er");
    let missing = Store::open(&at, OpenMode::MustExist);
    assert!(matches!(missing, Err(StoreError::Missing { .. })));
    assert!(!dir.path().join("deep").exists());
    drop(Store::open(&at, OpenMode::Create).unwrap());
    Store::open(&at, OpenMode::MustExist).unwrap();
}

#[test]
fn directory_with_something_else_in_it_is_left_alone() {
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("notes.md"), "mine").unwrap();
    let refused = Store::open(dir.path(), OpenMode::Create);
    assert!(matches!(refused, Err(StoreError::Foreign { .. })));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);

    let dir = TempDir::new().unwrap();
    let foreign = Connection::open(database(dir.path())).unwrap();
    foreign.execute_batch("CREATE TABLE mine (a)").unwrap();
    drop(foreign);
    let before = fs::read(database(dir.path())).unwrap();
    let refused = Store::open(dir.path(), OpenMode::Create);
    assert!(matches!(refused, Err(StoreError::Foreign { .. })));
    assert_eq!(fs::read(database(dir.path())).unwrap(), before);

    fs::write(
        database(dir.path()),
        "no database at all, but longer than a header is: ".repeat(4),
    )
    .unwrap();
    let refused = Store::open(dir.path(), OpenMode::Create);
    assert!(matches!(refused, Err(StoreError::Foreign { .. })));
}

#[test]
fn newer_schema_is_refused_and_the_file_byte_identical() {
    let dir = TempDir::new().unwrap();
    drop(Store::open(dir.path(), OpenMode::Create).unwrap());
    let newer = Connection::open(database(dir.path())).unwrap();
    newer.pragma_update(None, "user_version", 3).unwrap();
    drop(newer);
    let before = fs::read(database(dir.path())).unwrap();
    for mode in [OpenMode::Create, OpenMode::MustExist] {
        let Err(StoreError::Newer {
            found, supported, ..
        }) = Store::open(dir.path(), mode)
        else {
            panic!("a newer store was opened");
        };
        assert_eq!((found, supported), (3, 2));
    }
    assert_eq!(fs::read(database(dir.path())).unwrap(), before);
}

#[test]
fn newer_schema_that_is_only_in_the_log_is_refused_too() {
    let dir = TempDir::new().unwrap();
    drop(Store::open(dir.path(), OpenMode::Create).unwrap());
    // A newer program migrated and was killed before its log went into the database.
    let copy = TempDir::new().unwrap();
    let newer = Connection::open(database(dir.path())).unwrap();
    newer.pragma_update(None, "user_version", 3).unwrap();
    for file in ["remote.db", "remote.db-wal"] {
        fs::copy(dir.path().join(file), copy.path().join(file)).unwrap();
    }
    let before = fs::read(database(copy.path())).unwrap();
    let refused = Store::open(copy.path(), OpenMode::Create);
    assert!(matches!(refused, Err(StoreError::Newer { .. })));
    assert_eq!(fs::read(database(copy.path())).unwrap(), before);
}

#[tokio::test]
async fn elements_are_told_to_who_has_the_store() {
    let remote = Remote::new();
    let uri = FileUri::parse("x:d").unwrap();
    assert_eq!(remote.store.elements(&uri).unwrap(), None);
    let (body, _) = content::inline(&[&["a", "b"], &["a"]]);
    remote.create("x:d", &body).await;
    let expected: HashMap<_, _> = ["a", "b"]
        .map(|text| {
            let (element, hash) = content::text(text);
            let hash = Hash::parse(&hash, Contracts::only(Contract::Dpe1)).unwrap();
            (hash, element.to_string().into_boxed_str())
        })
        .into();
    assert_eq!(remote.store.elements(&uri).unwrap(), Some(expected));
}

#[tokio::test]
async fn nothing_is_left_of_what_nothing_refers_to() {
    let remote = Remote::new();
    let count = |table: &str| {
        let connection = Connection::open(database(remote.dir())).unwrap();
        let sql = format!("SELECT count(*) FROM {table}");
        connection
            .query_row(&sql, [], |row| row.get::<_, i64>(0))
            .unwrap()
    };
    let counts = || [count("document"), count("page"), count("element")];
    let (first, hash) = content::inline(&[&["a", "b"], &["b", "c"], &["b", "c"]]);
    remote.create("x:d", &first).await;
    assert_eq!(counts(), [1, 2, 3]);
    let (second, second_hash) = content::inline(&[&["b"], &["d"]]);
    let tag = format!("\"{hash}\"");
    let reply = remote.put("x:d", ("if-match", &tag), &second).await;
    assert_eq!(
        reply.json()["delta"],
        json!({"added": 1, "removed": 5, "retained": 1})
    );
    assert_eq!(counts(), [1, 2, 2]);
    let move_ = json!({"from_uri": "x:d", "to_uri": "x:e", "base_hash": second_hash});
    assert_eq!(remote.post("move", &move_).await.status, 200);
    assert_eq!(counts(), [1, 2, 2]);
    let tag = format!("\"{second_hash}\"");
    let reply = remote
        .call("DELETE", &target("x:e"), &[("if-match", &tag)])
        .await;
    assert_eq!(reply.status, 204);
    assert_eq!(counts(), [0, 0, 0]);
}

#[cfg(unix)]
#[test]
fn new_store_is_for_its_owner_only_and_an_existing_directory_stays_as_it_is() {
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let place = TempDir::new().unwrap();
    let new = place.path().join("above/store");
    drop(Store::open(&new, OpenMode::Create).unwrap());
    assert_eq!((mode(&new), mode(&database(&new))), (0o700, 0o600));
    let existing = place.path().join("existing");
    fs::create_dir(&existing).unwrap();
    fs::set_permissions(&existing, fs::Permissions::from_mode(0o750)).unwrap();
    drop(Store::open(&existing, OpenMode::Create).unwrap());
    assert_eq!(mode(&existing), 0o750);
}
