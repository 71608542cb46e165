//! Sessions under several contracts: http-binding §8.1, §8.3.

use dpe::model::{Contract, Contracts};
use dpe_hash::ObjectKind;
use serde_json::{Value, json};

use super::super::content;
use super::super::remote::{DPE1, IF_ABSENT, Remote, target};
use super::{blob_ref, json_bytes, options, path, roomy, session_of};

const DPEX: (&str, &str) = ("dpe-hash-contract", "dpex");

fn remote() -> Remote {
    let both = Contracts::SUPPORTED.with(Contract::Dpex);
    Remote::declaring(both, roomy(), options())
}

/// A document of one page with an image and a text, under one contract.
struct Content {
    contract: (&'static str, &'static str),
    elements: Vec<(Value, String)>,
    page: (Value, String),
    document: Value,
    hash: String,
}

fn content_under(contract: (&'static str, &'static str), blob: &str) -> Content {
    let elements = [
        json!({"category": "Image", "blob": blob}),
        json!({"category": "NarrativeText", "text": "a"}),
    ];
    let hash = |value: &Value, kind| content::hash(value, kind, contract.1);
    let elements: Vec<_> = elements
        .into_iter()
        .map(|element| {
            let hash = hash(&element, ObjectKind::Element);
            (element, hash)
        })
        .collect();
    let page = json!({"elements": [elements[0].1, elements[1].1]});
    let page_hash = hash(&page, ObjectKind::Page);
    let document = json!({"file_type": "md", "pages": [page_hash]});
    Content {
        contract,
        hash: hash(&document, ObjectKind::Document),
        elements,
        page: (page, page_hash),
        document,
    }
}

impl Content {
    async fn negotiate(&self, remote: &Remote) -> Value {
        let body = json_bytes(&json!({"file_uri": "x:d", "document": self.document}));
        let reply = remote
            .send("POST", "negotiate", &[self.contract], body)
            .await;
        assert_eq!(reply.status, 200, "{}", reply.text);
        reply.json()
    }

    async fn upload(&self, remote: &Remote, session: &str) -> Value {
        for (element, hash) in &self.elements {
            let target = path(session, "objects", hash);
            let body = json_bytes(element);
            let reply = remote.send("PUT", &target, &[self.contract], body).await;
            assert_eq!(reply.status, 201, "{}", reply.text);
        }
        let target = path(session, "pages", &self.page.1);
        let body = json_bytes(&self.page.0);
        let reply = remote.send("PUT", &target, &[self.contract], body).await;
        assert_eq!(reply.status, 201, "{}", reply.text);
        reply.json()
    }

    async fn commit(&self, remote: &Remote, session: &str) -> super::Reply {
        let body = json_bytes(&super::from_session(&self.document, session));
        let headers = [self.contract, IF_ABSENT];
        remote.send("PUT", &target("x:d"), &headers, body).await
    }
}

#[tokio::test]
async fn staged_objects_count_under_the_contract_they_were_uploaded_under_only() {
    let blob = blob_ref(b"pixels");
    for (first, second) in [(DPE1, DPEX), (DPEX, DPE1)] {
        let remote = remote();
        let (old, new) = (content_under(first, &blob), content_under(second, &blob));
        let session = session_of(&old.negotiate(&remote).await);
        // A blob belongs to no contract.
        let upload = path(&session, "blobs", &blob);
        let reply = remote
            .send("PUT", &upload, &[first], b"pixels".to_vec())
            .await;
        assert_eq!(reply.status, 201, "{}", reply.text);
        let reply = remote.send("HEAD", &upload, &[second], None).await;
        assert_eq!(reply.header("dpe-upload-offset"), Some("6"));
        old.upload(&remote, &session).await;
        let reply = new.commit(&remote, &session).await;
        assert_eq!(reply.verdict(), (400, "DPE_MISSING_CONTENT"));
        assert_eq!(reply.json()["missing"]["pages"], json!([new.page.1]));
        // Both can be staged side by side, and either be committed.
        new.upload(&remote, &session).await;
        let reply = new.commit(&remote, &session).await;
        assert_eq!(reply.status, 201, "{}", reply.text);
        for content in [&old, &new] {
            let head = remote
                .send("HEAD", &target("x:d"), &[content.contract], None)
                .await;
            assert_eq!(head.header("dpe-doc-hash"), Some(content.hash.as_str()));
            let skeleton = remote
                .send("GET", &target("x:d"), &[content.contract], None)
                .await;
            assert_eq!(skeleton.json()["pages"], json!([content.page.0]));
        }
    }
}

#[tokio::test]
async fn current_state_is_recognised_under_every_contract() {
    let remote = remote();
    let blob = blob_ref(b"pixels");
    let (old, new) = (content_under(DPE1, &blob), content_under(DPEX, &blob));
    let session = session_of(&old.negotiate(&remote).await);
    let upload = path(&session, "blobs", &blob);
    remote
        .send("PUT", &upload, &[DPE1], b"pixels".to_vec())
        .await;
    old.upload(&remote, &session).await;
    assert_eq!(old.commit(&remote, &session).await.status, 201);
    for content in [&old, &new] {
        let reply = content.negotiate(&remote).await;
        assert_eq!(reply["missing_pages"], json!([]));
        let session = session_of(&reply);
        let page = json!({"title": "t", "elements": content.page.0["elements"]});
        let hash = content::hash(&page, ObjectKind::Page, content.contract.1);
        let target = path(&session, "pages", &hash);
        let reply = remote
            .send("PUT", &target, &[content.contract], json_bytes(&page))
            .await;
        assert_eq!(
            reply.json()["missing_content_hashes"],
            json!([]),
            "{}",
            reply.text
        );
    }
}

#[tokio::test]
async fn names_in_paths_are_of_the_declared_contract() {
    let remote = remote();
    let old = content_under(DPE1, &blob_ref(b""));
    let new = content_under(DPEX, &blob_ref(b""));
    let session = session_of(&old.negotiate(&remote).await);
    for (contract, other) in [(DPE1, &new), (DPEX, &old)] {
        let asked = path(&session, "pages", &other.page.1);
        let reply = remote.send("HEAD", &asked, &[contract], None).await;
        assert_eq!(reply.verdict(), (400, "DPE_VALIDATION"));
        let headers = [contract, ("content-range", "bytes 0-0/9")];
        let reply = remote.send("PUT", &asked, &headers, b"{".to_vec()).await;
        assert_eq!(reply.verdict(), (400, "DPE_VALIDATION"));
    }
    // Whole, it is the wrong hash of a valid element, or a page that mixes contracts.
    let element = &old.elements[1];
    let upload = path(&session, "objects", &element.1);
    let reply = remote
        .send("PUT", &upload, &[DPEX], json_bytes(&element.0))
        .await;
    assert_eq!(reply.verdict(), (400, "DPE_HASH_MISMATCH"));
    let upload = path(&session, "pages", &old.page.1);
    let reply = remote
        .send("PUT", &upload, &[DPEX], json_bytes(&old.page.0))
        .await;
    assert_eq!(reply.verdict(), (400, "DPE_VALIDATION"));
}
