//! A remote that declares two contracts: hash contract §14, http-binding §5.2.

use dpe::model::{Contract, Contracts};
use dpe::server::{InProcess, OpenMode, Options, Service, Store};
use dpe_hash::ObjectKind;
use serde_json::{Value, json};

use super::content;
use super::remote::{DPE1, IF_ABSENT, Remote, Reply, small_limits, target};

const DPEX: (&str, &str) = ("dpe-hash-contract", "dpex");

fn both() -> Contracts {
    Contracts::SUPPORTED.with(Contract::Dpex)
}

fn remote() -> Remote {
    Remote::declaring(both(), small_limits(), Options::default())
}

/// One document under one contract: an inline commit body and its doc_hash.
fn document(contract: &str, pages: &[&[&str]]) -> (Value, String) {
    let mut objects = Vec::new();
    let mut page_objects = Vec::new();
    let mut page_hashes = Vec::new();
    for texts in pages {
        let elements: Vec<_> = texts.iter().map(|text| content::text(text).0).collect();
        let hashes: Vec<_> = elements
            .iter()
            .map(|element| content::hash(element, ObjectKind::Element, contract))
            .collect();
        let page = json!({"title": "t", "elements": hashes});
        page_hashes.push(content::hash(&page, ObjectKind::Page, contract));
        page_objects.push(page);
        objects.extend(elements);
    }
    let document = json!({"file_type": "md", "doc_metadata": {"n": 1.0}, "pages": page_hashes});
    let hash = content::hash(&document, ObjectKind::Document, contract);
    let body = json!({"document": document, "pages": page_objects, "objects": objects});
    (body, hash)
}

async fn put(
    remote: &Remote,
    contract: (&str, &str),
    condition: (&str, &str),
    body: &Value,
) -> Reply {
    let body = body.to_string().into_bytes();
    let headers = [contract, condition];
    remote.send("PUT", &target("x:d"), &headers, body).await
}

#[tokio::test]
async fn every_read_answers_in_the_declared_contract() {
    let pages: [&[&str]; 3] = [&["a", "b", "a"], &["c"], &["c"]];
    let (old, old_hash) = document("dpe1", &pages);
    let (new, new_hash) = document("dpex", &pages);
    // However it was written, it reads the same under both.
    for (contract, body) in [(DPE1, &old), (DPEX, &new)] {
        let remote = remote();
        let reply = put(&remote, contract, IF_ABSENT, body).await;
        assert_eq!(reply.status, 201, "{}", reply.text);
        for (contract, body, hash) in [(DPE1, &old, &old_hash), (DPEX, &new, &new_hash)] {
            let head = remote.send("HEAD", &target("x:d"), &[contract], None).await;
            assert_eq!(head.header("dpe-doc-hash"), Some(hash.as_str()));
            let list = remote
                .send("GET", "documents", &[contract], None)
                .await
                .json();
            assert_eq!(
                list["documents"],
                json!([{"file_uri": "x:d", "doc_hash": hash}])
            );
            let uris = json!({"uris": ["x:d"]}).to_string().into_bytes();
            let heads = remote.send("POST", "heads", &[contract], uris).await.json();
            assert_eq!(heads, json!({"heads": [{"doc_hash": hash}]}));
            let skeleton = remote
                .send("GET", &target("x:d"), &[contract], None)
                .await
                .json();
            let expected = json!({"file_uri": "x:d", "doc_hash": hash,
                                  "document": body["document"], "pages": body["pages"]});
            assert_eq!(skeleton, expected);
            let unchanged = put(&remote, contract, IF_ABSENT, body).await;
            assert_eq!(
                (unchanged.status, &unchanged.json()["doc_hash"]),
                (200, &json!(hash))
            );
            let tag = format!("\"{hash}\"");
            let cached = [contract, ("if-none-match", tag.as_str())];
            let reply = remote.send("GET", &target("x:d"), &cached, None).await;
            assert_eq!(reply.status, 304);
        }
        // A cache of one contract is not a cache of the other.
        let tag = format!("\"{old_hash}\"");
        let headers = [DPEX, ("if-none-match", tag.as_str())];
        let reply = remote.send("GET", &target("x:d"), &headers, None).await;
        assert_eq!(reply.status, 200);
    }
}

#[tokio::test]
async fn base_of_either_contract_satisfies_a_write() {
    for (base, under) in [("dpe1", DPEX), ("dpex", DPE1), ("dpex", DPEX)] {
        let remote = remote();
        let pages: [&[&str]; 2] = [&["a", "b"], &["c"]];
        let (body, _) = document("dpe1", &pages);
        assert_eq!(put(&remote, DPE1, IF_ABSENT, &body).await.status, 201);
        let (_, hash) = document(base, &pages);
        let tag = format!("\"{hash}\"");
        // Content that is there already is known under the contract of the write, too.
        let changed: [&[&str]; 2] = [&["c"], &["b", "n"]];
        let (mut body, changed_hash) = document(under.1, &changed);
        body["objects"] = json!([content::text("n").0]);
        body["pages"] = json!([body["pages"][1]]);
        let reply = put(&remote, under, ("if-match", &tag), &body).await;
        let delta = json!({"added": 1, "removed": 1, "retained": 2});
        let expected = json!({"status": "updated", "doc_hash": changed_hash, "delta": delta});
        assert_eq!(reply.json(), expected);
        for contract in ["dpe1", "dpex"] {
            let (body, hash) = document(contract, &changed);
            let headers = [("dpe-hash-contract", contract)];
            let skeleton = remote
                .send("GET", &target("x:d"), &headers, None)
                .await
                .json();
            assert_eq!(skeleton["doc_hash"], hash);
            assert_eq!(skeleton["pages"], body["pages"]);
        }
        let move_ =
            json!({"from_uri": "x:d", "to_uri": "x:e", "base_hash": document(base, &changed).1});
        let move_ = move_.to_string().into_bytes();
        let reply = remote.send("POST", "move", &[under], move_).await;
        assert_eq!(reply.json(), json!({"doc_hash": changed_hash}));
        let tag = format!("\"{}\"", document(base, &changed).1);
        let headers = [under, ("if-match", tag.as_str())];
        let reply = remote.send("DELETE", &target("x:e"), &headers, None).await;
        assert_eq!(reply.status, 204);
    }
}

#[tokio::test]
async fn contracts_are_not_mixed_and_missing_lists_speak_the_declared_one() {
    let remote = remote();
    let (body, _) = document("dpex", &[&["a"]]);
    let bare = json!({"document": body["document"]});
    let reply = put(&remote, DPEX, IF_ABSENT, &bare).await;
    assert_eq!(reply.verdict(), (400, "DPE_MISSING_CONTENT"));
    assert_eq!(reply.json()["missing"]["pages"], body["document"]["pages"]);
    // A child of the other declared contract is mixing; of an undeclared one, unsupported.
    assert_eq!(
        put(&remote, DPE1, IF_ABSENT, &bare).await.verdict(),
        (400, "DPE_VALIDATION")
    );
    let single = Remote::new();
    let reply = put(&single, DPE1, IF_ABSENT, &bare).await;
    assert_eq!(reply.verdict(), (400, "DPE_CONTRACT_UNSUPPORTED"));
    let reply = put(&single, DPEX, IF_ABSENT, &bare).await;
    assert_eq!(reply.verdict(), (400, "DPE_CONTRACT_UNSUPPORTED"));
}

#[tokio::test]
async fn stored_documents_are_computed_under_a_contract_declared_later() {
    let dir = tempfile::tempdir().unwrap();
    let pages: [&[&str]; 3] = [&["a", "b"], &["c"], &["a", "b"]];
    let connect = |contracts| {
        let store = Store::open_declaring(dir.path(), OpenMode::Create, contracts).unwrap();
        let service = Service::new(store.clone(), small_limits(), Options::default());
        Remote::from_parts(store, InProcess::new(&service))
    };
    let remote = connect(Contracts::SUPPORTED);
    let (body, old_hash) = document("dpe1", &pages);
    assert_eq!(put(&remote, DPE1, IF_ABSENT, &body).await.status, 201);
    drop(remote);

    let remote = connect(both());
    let capabilities = remote.send("GET", "capabilities", &[], None).await.json();
    assert_eq!(capabilities["hash_contracts"], json!(["dpe1", "dpex"]));
    let (body, hash) = document("dpex", &pages);
    let skeleton = remote
        .send("GET", &target("x:d"), &[DPEX], None)
        .await
        .json();
    assert_eq!(
        (&skeleton["doc_hash"], &skeleton["pages"]),
        (&json!(hash), &body["pages"])
    );
    drop(remote);

    // Changed by a server that knows only one, then known under both again.
    let remote = connect(Contracts::SUPPORTED);
    let changed: [&[&str]; 2] = [&["a", "b"], &["d"]];
    let (body, _) = document("dpe1", &changed);
    let tag = format!("\"{old_hash}\"");
    assert_eq!(
        put(&remote, DPE1, ("if-match", &tag), &body).await.status,
        200
    );
    drop(remote);
    let remote = connect(both());
    let (body, hash) = document("dpex", &changed);
    let skeleton = remote
        .send("GET", &target("x:d"), &[DPEX], None)
        .await
        .json();
    assert_eq!(
        (&skeleton["doc_hash"], &skeleton["pages"]),
        (&json!(hash), &body["pages"])
    );
}
