//! Stores whose content is not what was stored: a clear answer, never a panic, never a guess.

use std::fs;
use std::sync::{Arc, Mutex};

use dpe::model::{Contract, Contracts, FileUri};
use dpe::protocol::wire::capabilities::Limits;
use dpe::server::{InProcess, OpenMode, Options, Service, Store, StoreError};
use rusqlite::Connection;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::content;
use super::remote::{self, Remote, target};

const BOTH: Contracts = Contracts::SUPPORTED.with(Contract::Dpex);

/// A remote with one document, `x:d`, and what it reports.
struct Damaged {
    remote: Remote,
    dir: TempDir,
    incidents: Arc<Mutex<Vec<String>>>,
    hash: String,
}

impl Damaged {
    async fn by(sql: &str) -> Self {
        let dir = TempDir::new().unwrap();
        let store = remote::open(dir.path(), BOTH);
        let incidents = Arc::<Mutex<Vec<String>>>::default();
        let log = Arc::clone(&incidents);
        let options = Options {
            on_incident: Arc::new(move |line| log.lock().unwrap().push(line.to_owned())),
            ..Options::default()
        };
        let service = Service::new(store.clone(), Limits::default(), options);
        let remote = Remote::from_parts(store, InProcess::new(&service));
        let (body, hash) = content::inline(&[&["a", "b"], &["b", "c"]]);
        remote.create("x:d", &body).await;
        damage(&dir, sql);
        Self {
            remote,
            dir,
            incidents,
            hash,
        }
    }

    async fn call(&self, method: &str, target: &str, contract: &str, body: Option<&Value>) -> u16 {
        let tag = format!("\"{}\"", self.hash);
        let condition = match method {
            "PUT" | "DELETE" => ("if-match", tag.as_str()),
            _ => ("x-nothing", ""),
        };
        let headers = [("dpe-hash-contract", contract), condition];
        let body = body.map(|body| body.to_string().into_bytes());
        let before = self.incidents.lock().unwrap().len();
        let reply = self.remote.send(method, target, &headers, body).await;
        if reply.status == 503 {
            assert_eq!(reply.verdict().1, "DPE_UNAVAILABLE");
            assert_eq!(
                reply.header("retry-after"),
                Some("86400"),
                "{target} {:?}",
                self.incidents
            );
            assert_eq!(self.incidents.lock().unwrap().len(), before + 1, "{target}");
        }
        reply.status
    }
}

fn damage(dir: &TempDir, sql: &str) {
    let connection = Connection::open(dir.path().join("remote.db")).unwrap();
    assert!(connection.execute(sql, []).unwrap() > 0, "{sql}");
}

/// Every kind of damage a row can have, with what answers 503 because of it: skeleton in `dpe1`
/// and `dpex`, list, and a commit that replaces one page.
const ROWS: [(&str, [bool; 4]); 16] = [
    ("UPDATE document SET text = '{'", [true, true, false, false]),
    (
        "UPDATE document SET text = '{}'",
        [true, true, false, false],
    ),
    (
        "UPDATE document SET text = '{\"pages\":1}'",
        [true, true, false, false],
    ),
    (
        "UPDATE document SET text = '{\"pages\":[\"x\"]}'",
        [true, true, false, false],
    ),
    (
        "UPDATE document SET text = CAST(x'22ff22' AS TEXT)",
        [true, true, false, false],
    ),
    ("UPDATE document SET dpe1 = x'00'", [true, true, true, true]),
    (
        "UPDATE document SET file_uri = 'x:d %'",
        [false, false, true, false],
    ),
    (
        "UPDATE document SET element_count = -1",
        [true, true, false, true],
    ),
    (
        "UPDATE document SET element_count = 9223372036854775807",
        [true, true, false, true],
    ),
    ("UPDATE page SET text = '{'", [false, true, false, true]),
    (
        "UPDATE page SET text = '{\"elements\":[null]}'",
        [false, true, false, true],
    ),
    (
        "UPDATE page SET element_count = 9007199254740991",
        [false, false, false, true],
    ),
    (
        "UPDATE page SET element_count = 0",
        [false, false, false, true],
    ),
    ("UPDATE page SET dpex = NULL", [false, true, false, true]),
    ("DELETE FROM page", [true, true, false, false]),
    ("DELETE FROM element", [false, true, false, true]),
];

#[tokio::test]
async fn damaged_content_makes_the_remote_unavailable_until_somebody_acts() {
    for (sql, expected) in ROWS {
        let damaged = Damaged::by(sql).await;
        let uri = target("x:d");
        // Pages that stay, so that counts and elements of the store matter, and one that goes.
        let (body, _) = content::inline(&[&["a", "b"], &["a", "b"], &["d"]]);
        let statuses = [
            damaged.call("GET", &uri, "dpe1", None).await,
            damaged.call("GET", &uri, "dpex", None).await,
            damaged.call("GET", "documents", "dpe1", None).await,
            damaged.call("PUT", &uri, "dpe1", Some(&body)).await,
        ];
        assert_eq!(
            statuses.map(|status| status == 503),
            expected,
            "{sql}: {statuses:?}"
        );
        // What the damage does not concern goes on.
        let (body, _) = content::inline(&[&["a"]]);
        damaged.remote.create("x:other", &body).await;
    }
}

#[tokio::test]
async fn move_and_delete_of_damaged_documents_answer_too() {
    let damaged = Damaged::by("UPDATE document SET dpex = NULL").await;
    let move_ = json!({"from_uri": "x:d", "to_uri": "x:e", "base_hash": damaged.hash});
    assert_eq!(
        damaged.call("POST", "move", "dpex", Some(&move_)).await,
        503
    );
    assert_eq!(
        damaged.call("POST", "move", "dpe1", Some(&move_)).await,
        200
    );
    damage(&damaged.dir, "UPDATE document SET element_count = -1");
    assert_eq!(
        damaged.call("DELETE", &target("x:e"), "dpe1", None).await,
        503
    );
}

#[tokio::test]
async fn elements_of_a_damaged_store_are_an_error() {
    let damaged = Damaged::by("UPDATE element SET dpe1 = x'00' WHERE id = 1").await;
    let elements = damaged
        .remote
        .store
        .elements(&FileUri::parse("x:d").unwrap());
    assert!(matches!(elements, Err(StoreError::Damaged { .. })));
}

/// Opens a store that was closed, damaged by `sql` and not changed by the attempt.
fn opened(sql: &str, contracts: Contracts) -> Result<Store, StoreError> {
    let dir = TempDir::new().unwrap();
    drop(remote::open(dir.path(), Contracts::SUPPORTED));
    damage(
        &dir,
        "INSERT INTO document (file_uri, dpe1, element_count, text)
                  VALUES ('x:d', zeroblob(32), 0, '{\"pages\":[]}')",
    );
    damage(&dir, sql);
    let path = dir.path().join("remote.db");
    let before = fs::read(&path).unwrap();
    let opened = Store::open_declaring(dir.path(), OpenMode::MustExist, contracts);
    if opened.is_err() {
        assert_eq!(fs::read(&path).unwrap(), before);
    }
    opened
}

#[test]
fn store_that_cannot_be_opened_for_damage_says_so_and_is_left_untouched() {
    for (sql, contracts) in [
        ("DELETE FROM setting", Contracts::SUPPORTED),
        ("UPDATE setting SET value = x'00'", Contracts::SUPPORTED),
        // Hashes of a newly declared contract are computed from content.
        ("UPDATE document SET text = '{'", BOTH),
        ("UPDATE document SET text = '{\"pages\":[\"x\"]}'", BOTH),
    ] {
        let refused = opened(sql, contracts);
        assert!(matches!(refused, Err(StoreError::Damaged { .. })), "{sql}");
    }
    assert!(
        opened(
            "UPDATE document SET element_count = 0",
            Contracts::SUPPORTED
        )
        .is_ok()
    );
}

#[test]
fn database_with_broken_pages_is_damaged() {
    let dir = TempDir::new().unwrap();
    drop(remote::open(dir.path(), Contracts::SUPPORTED));
    let path = dir.path().join("remote.db");
    let mut bytes = fs::read(&path).unwrap();
    // The header stays; the schema table and all after it are gone.
    bytes[100..].fill(0xaa);
    fs::write(&path, &bytes).unwrap();
    let refused = Store::open(dir.path(), OpenMode::MustExist);
    assert!(
        matches!(refused, Err(StoreError::Damaged { .. })),
        "{refused:?}"
    );
    assert_eq!(fs::read(&path).unwrap(), bytes);
}

#[test]
fn database_that_lost_its_content_is_damaged_and_left_untouched() {
    let without_tables = {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("remote.db");
        Connection::open(&path)
            .unwrap()
            .execute_batch("CREATE TABLE t (a); DROP TABLE t")
            .unwrap();
        fs::read(&path).unwrap()
    };
    assert!(!without_tables.is_empty());
    for left in [Vec::new(), without_tables] {
        let dir = TempDir::new().unwrap();
        drop(remote::open(dir.path(), Contracts::SUPPORTED));
        let path = dir.path().join("remote.db");
        fs::write(&path, &left).unwrap();
        for mode in [OpenMode::ReadOnly, OpenMode::MustExist, OpenMode::Create] {
            let refused = Store::open(dir.path(), mode);
            assert!(
                matches!(refused, Err(StoreError::Damaged { .. })),
                "{refused:?}"
            );
            assert_eq!(fs::read(&path).unwrap(), left);
        }
    }
}

#[test]
fn creation_that_was_cut_short_is_begun_again() {
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("lock"), "1\n").unwrap();
    fs::create_dir(dir.path().join(".new-x")).unwrap();
    fs::write(dir.path().join(".new-x/half"), "SQL").unwrap();
    drop(Store::open(dir.path(), OpenMode::Create).unwrap());
    assert!(!dir.path().join(".new-x").exists());
    Store::open(dir.path(), OpenMode::MustExist).unwrap();
}
