//! negotiate: http-binding §8.2, §8.3.

use serde_json::json;

use super::super::content::{self, E1, E2, E3, P0, P1};
use super::super::remote::{IF_ABSENT, Remote};
use super::{hooked, image, limits, negotiate, offset, roomy, session_of, stage_json};

#[tokio::test]
async fn document_alone_names_its_missing_pages_in_order_without_repetition() {
    let remote = hooked(limits());
    let document = json!({"file_type": "md", "pages": [P1, P0, P1, P0]});
    let reply = negotiate(&remote, "x:d", &document, &[]).await;
    assert_eq!(reply["missing_pages"], json!([P1, P0]));
    assert_eq!(reply["missing_content_hashes"], json!([]));
    let members: Vec<_> = reply.as_object().unwrap().keys().collect();
    assert_eq!(
        members,
        ["missing_content_hashes", "missing_pages", "staging_session"]
    );
    let session = &reply["staging_session"];
    assert!(!session["id"].as_str().unwrap().is_empty());
    let expires = session["expires_at"].as_str().unwrap();
    assert!(
        expires.ends_with('Z') && !expires.contains('.'),
        "{expires}"
    );
    assert_eq!(expires.len(), "2026-10-01T00:00:00Z".len());
    // Nothing of it can be read.
    assert_eq!(remote.head("x:d").await, None);
}

#[tokio::test]
async fn attached_pages_are_staged_and_name_their_missing_elements() {
    let remote = hooked(limits());
    let (p0, p1) = (content::p0(), content::p1());
    let reply = negotiate(&remote, "x:d", &content::document(), &[&p1, &p0, &p1]).await;
    assert_eq!(reply["missing_pages"], json!([]));
    assert_eq!(reply["missing_content_hashes"], json!([E3, E1, E2]));
    // A page the document does not refer to is staged, too.
    let session = session_of(&negotiate(&remote, "x:d", &content::empty(), &[&p0]).await);
    let reply = stage_json(&remote, &session, "pages", P0, &p0).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
}

#[tokio::test]
async fn attached_page_counts_as_received_with_its_canonical_length() {
    let remote = hooked(limits());
    // Its canonical form has page_metadata, and no null: hash contract §4.
    let page = json!({"title": "Ünï", "elements": [E1], "page_metadata": {"b": null, "a": 1.0}});
    let hash = content::hash(&page, dpe_hash::ObjectKind::Page, "dpe1");
    let canonical = format!(r#"{{"elements":["{E1}"],"page_metadata":{{"a":1}},"title":"Ünï"}}"#);
    let session = session_of(&negotiate(&remote, "x:d", &content::empty(), &[&page]).await);
    assert_eq!(
        offset(&remote, &session, "pages", &hash).await,
        canonical.len() as u64
    );
}

#[tokio::test]
async fn of_two_attached_pages_with_one_hash_the_later_is_kept() {
    let remote = hooked(limits());
    let (element, hash) = content::text("a");
    let (page, page_hash) = content::page(&[&hash]);
    let later = json!({"elements": [hash], "page_metadata": {"none": null}});
    let (document, _) = content::doc(&[&page_hash]);
    let reply = negotiate(&remote, "x:d", &document, &[&page, &later]).await;
    let body = json!({"document": document, "objects": [element],
                      "staging_session": session_of(&reply)});
    remote.create("x:d", &body).await;
    let target = super::super::remote::target("x:d");
    let skeleton = remote.call("GET", &target, &[]).await.json();
    assert_eq!(skeleton["pages"], json!([later]));
}

#[tokio::test]
async fn current_state_is_not_missing_and_other_documents_are() {
    let remote = hooked(roomy());
    let (body, _) = content::inline(&[&["a", "b"], &["c"]]);
    remote.create("x:d", &body).await;
    let [first, second] = [0, 1].map(|n| body["document"]["pages"][n].as_str().unwrap());
    let (new, new_hash) = content::page(&[&content::text("b").1, &content::text("z").1]);
    let (document, _) = content::doc(&[second, &new_hash, P0, first]);
    let reply = negotiate(&remote, "x:d", &document, &[&new]).await;
    assert_eq!(reply["missing_pages"], json!([P0]));
    assert_eq!(
        reply["missing_content_hashes"],
        json!([content::text("z").1])
    );
    let reply = negotiate(&remote, "x:other", &document, &[&new]).await;
    assert_eq!(reply["missing_pages"], json!([second, P0, first]));
    let both = json!([content::text("b").1, content::text("z").1]);
    assert_eq!(reply["missing_content_hashes"], both);
    // What was current once does not count any more.
    let tag = format!("\"{}\"", remote.head("x:d").await.unwrap());
    let target = super::super::remote::target("x:d");
    let gone = remote.call("DELETE", &target, &[("if-match", &tag)]).await;
    assert_eq!(gone.status, 204);
    let reply = negotiate(&remote, "x:d", &document, &[&new]).await;
    assert_eq!(reply["missing_pages"], json!([second, P0, first]));
}

#[tokio::test]
async fn lists_of_a_negotiation_are_never_cut() {
    let remote = hooked(roomy());
    let hashes: Vec<_> = (0..2500).map(|n| content::text(&n.to_string()).1).collect();
    let hashes: Vec<_> = hashes.iter().map(String::as_str).collect();
    let (page, page_hash) = content::page(&hashes);
    let pages: Vec<_> = hashes.iter().copied().chain([page_hash.as_str()]).collect();
    let (document, _) = content::doc(&pages);
    let reply = negotiate(&remote, "x:d", &document, &[&page]).await;
    assert_eq!(reply["missing_pages"], json!(hashes));
    assert_eq!(reply["missing_content_hashes"], json!(hashes));
}

#[tokio::test]
async fn every_negotiation_has_a_session_of_its_own() {
    let remote = hooked(limits());
    let first = negotiate(&remote, "x:d", &content::document(), &[&content::p0()]).await;
    let second = negotiate(&remote, "X:d", &content::document(), &[]).await;
    assert_ne!(session_of(&first), session_of(&second));
    // What one has is missing for the other.
    assert_eq!(second["missing_pages"], json!([P0, P1]));
}

#[tokio::test]
async fn elements_of_a_new_page_with_a_current_one_are_told_apart_from_their_blobs() {
    let remote = Remote::with(roomy(), super::options());
    let blob = super::blob_ref(b"pixels");
    let (element, hash) = image(&blob);
    let (page, page_hash) = content::page(&[&hash]);
    let (document, _) = content::doc(&[&page_hash]);
    let reply = negotiate(&remote, "x:d", &document, &[&page]).await;
    let session = session_of(&reply);
    assert_eq!(reply["missing_content_hashes"], json!([hash]));
    let reply = stage_json(&remote, &session, "objects", &hash, &element).await;
    assert_eq!(reply.json(), json!({"missing_blobs": [blob]}));
    let reply = super::stage(&remote, &session, "blobs", &blob, b"pixels").await;
    assert_eq!((reply.status, reply.text.as_str()), (201, "{}"));
    let reply = stage_json(&remote, &session, "objects", &hash, &element).await;
    assert_eq!(
        (reply.status, reply.json()),
        (200, json!({"missing_blobs": []}))
    );
    let reply = remote
        .put("x:d", IF_ABSENT, &super::from_session(&document, &session))
        .await;
    assert_eq!(reply.status, 201, "{}", reply.text);
}
