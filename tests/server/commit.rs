//! commit: http-binding §10.1–§10.4.

use serde_json::{Value, json};

use super::content::{self, D, E1, E2, E3, EMPTY, HELLO, P0, P1};
use super::remote::{DPE1, IF_ABSENT, Remote, target};

const FORCE: (&str, &str) = ("x-none", "");

fn delta(added: u64, removed: u64, retained: u64) -> Value {
    json!({"added": added, "removed": removed, "retained": retained})
}

fn if_match(hash: &str) -> String {
    format!("\"{hash}\"")
}

#[tokio::test]
async fn created_document_has_the_hashes_of_the_worked_vectors() {
    let remote = Remote::new();
    // Without the image, whose blob cannot travel inline.
    let document = json!({"file_type": "md", "title": "Q3", "pages": [P0]});
    let body = json!({"document": document, "pages": [content::p0()],
                      "objects": [content::e1(), content::e2()]});
    let reply = remote.put("x://h/a", IF_ABSENT, &body).await;
    assert_eq!(reply.status, 201, "{}", reply.text);
    let reply_body = reply.json();
    let hash = content::hash(&document, dpe_hash::ObjectKind::Document, "dpe1");
    assert_eq!(
        reply_body,
        json!({"status": "created", "doc_hash": hash, "delta": delta(2, 0, 0)})
    );
    assert_eq!(reply.header("dpe-doc-hash"), Some(hash.as_str()));
    assert_eq!(reply.header("etag"), Some(format!("\"{hash}\"").as_str()));
    assert_eq!(reply.header("content-type"), Some("application/json"));
    assert_eq!(reply.header("vary"), Some("DPE-Hash-Contract"));

    let skeleton = remote.call("GET", &target("x://h/a"), &[]).await.json();
    let expected = json!({"file_uri": "x://h/a", "doc_hash": hash, "document": document,
                          "pages": [content::p0()]});
    assert_eq!(skeleton, expected);
}

#[tokio::test]
async fn missing_content_is_listed_level_by_level() {
    let remote = Remote::new();
    let document = content::document();
    let missing = async |body: Value| {
        let reply = remote.put("x:d", IF_ABSENT, &body).await;
        assert_eq!(reply.verdict(), (400, "DPE_MISSING_CONTENT"));
        let body = reply.json();
        assert_eq!(body["missing_truncated"], false);
        body["missing"].clone()
    };
    let lists = |pages: &[&str], elements: &[&str], blobs: &[&str]| json!({"pages": pages, "content_hashes": elements, "blobs": blobs});
    let found = missing(json!({"document": document})).await;
    assert_eq!(found, lists(&[P0, P1], &[], &[]));
    let found = missing(json!({"document": document, "pages": [content::p0()]})).await;
    assert_eq!(found, lists(&[P1], &[E1, E2], &[]));
    let pages = json!([content::p1(), content::p0()]);
    let found = missing(json!({"document": document, "pages": pages, "objects": [content::e2()]}));
    assert_eq!(found.await, lists(&[], &[E1, E3], &[]));
    let objects = json!([content::e1(), content::e2(), content::e3()]);
    let found = missing(json!({"document": document, "pages": pages, "objects": objects}));
    assert_eq!(found.await, lists(&[], &[], &[HELLO]));
    assert_eq!(remote.head("x:d").await, None);
}

#[tokio::test]
async fn what_other_documents_hold_is_missing() {
    let remote = Remote::new();
    let (body, _) = content::inline(&[&["one", "two"]]);
    remote.create("x:a", &body).await;
    let document = &body["document"];
    let reply = remote
        .put("x:b", IF_ABSENT, &json!({"document": document}))
        .await;
    assert_eq!(reply.verdict(), (400, "DPE_MISSING_CONTENT"));
    assert_eq!(reply.json()["missing"]["pages"], document["pages"]);
    let pages = &body["pages"];
    let reply = remote
        .put(
            "x:b",
            IF_ABSENT,
            &json!({"document": document, "pages": pages}),
        )
        .await;
    let elements = &pages[0]["elements"];
    assert_eq!(&reply.json()["missing"]["content_hashes"], elements);
}

#[tokio::test]
async fn current_state_need_not_be_sent_again() {
    let remote = Remote::new();
    let (body, first) = content::inline(&[&["a", "b"], &["c"], &["c"]]);
    remote.create("x:d", &body).await;
    let page = |index: usize| {
        body["document"]["pages"][index]
            .as_str()
            .unwrap()
            .to_owned()
    };
    // The page moves to the front, "b" moves to a new page of its own, and one "c" is gone.
    let (b, b_hash) = content::text("b");
    let (new, new_hash) = content::text("new");
    let (new_page, new_page_hash) = content::page(&[&b_hash, &new_hash, &b_hash]);
    let (document, second) = content::doc(&[&page(1), &new_page_hash, &page(0)]);
    let update = json!({"document": document, "pages": [new_page], "objects": [new]});
    let reply = remote
        .put("x:d", ("if-match", &if_match(&first)), &update)
        .await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    // Before: a b c c. Now: c b new b a b.
    let expected = json!({"status": "updated", "doc_hash": second, "delta": delta(3, 1, 3)});
    assert_eq!(reply.json(), expected);

    // What is gone is gone: it is missing when it is referred to again.
    let (document, _) = content::doc(&[&new_page_hash]);
    let reply = remote
        .put(
            "x:d",
            ("if-match", &if_match(&second)),
            &json!({"document": document}),
        )
        .await;
    assert_eq!(reply.json()["delta"], delta(0, 3, 3), "{}", reply.text);
    let (document, third) = content::doc(&[&page(0)]);
    let (a_page, _) = content::page(&[&content::text("a").1, &b_hash]);
    let reply = remote
        .put(
            "x:d",
            FORCE,
            &json!({"document": document, "pages": [a_page], "objects": [b], "force": true}),
        )
        .await;
    assert_eq!(reply.verdict(), (400, "DPE_MISSING_CONTENT"));
    assert_eq!(
        reply.json()["missing"]["content_hashes"],
        json!([content::text("a").1])
    );
    assert_ne!(remote.head("x:d").await, Some(third));
}

#[tokio::test]
async fn unchanged_comes_before_conditions_and_session_but_not_before_their_form() {
    let remote = Remote::new();
    let (body, hash) = content::inline(&[&["a", "a"], &["a"]]);
    remote.create("x:d", &body).await;
    let document = &body["document"];
    let unchanged = json!({"status": "unchanged", "doc_hash": hash, "delta": delta(0, 0, 3)});
    let plain = json!({"document": document});
    let with_session = json!({"document": document, "staging_session": "st-1"});
    for (condition, body) in [
        (IF_ABSENT, &plain),
        (("if-match", "\"anything\""), &plain),
        (("if-match", "W/\"weak\""), &plain),
        (IF_ABSENT, &with_session),
        (FORCE, &json!({"document": document, "force": true})),
    ] {
        let reply = remote.put("x:d", condition, body).await;
        assert_eq!((reply.status, reply.json()), (200, unchanged.clone()));
        assert_eq!(reply.header("dpe-doc-hash"), Some(hash.as_str()));
        assert!(reply.header("etag").is_some());
    }
    let reply = remote.put("x:d", FORCE, &plain).await;
    assert_eq!(reply.verdict(), (428, "DPE_PRECONDITION_REQUIRED"));
    let reply = remote.put("x:d", ("if-match", "*"), &plain).await;
    assert_eq!(reply.verdict(), (400, "DPE_VALIDATION"));
}

#[tokio::test]
async fn conditions_decide_in_their_order() {
    let remote = Remote::new();
    let base = format!("\"{EMPTY}\"");
    let one = json!({"document": content::empty()});
    let two = json!({"document": {"file_type": "md", "pages": []}});
    let reply = remote.put("x:d", ("if-match", &base), &one).await;
    assert_eq!(reply.verdict(), (412, "DPE_NOT_FOUND"));
    remote.create("x:d", &one).await;
    assert_eq!(remote.head("x:d").await.as_deref(), Some(EMPTY));
    let reply = remote.put("x:d", IF_ABSENT, &two).await;
    assert_eq!(reply.verdict(), (412, "DPE_ALREADY_EXISTS"));
    let weak = format!("W/{base}");
    for other in ["\"\"", "\"dpe1:00\"", weak.as_str(), &base.to_uppercase()] {
        let reply = remote.put("x:d", ("if-match", other), &two).await;
        assert_eq!(reply.verdict(), (412, "DPE_PRECONDITION_FAILED"), "{other}");
        assert_eq!(reply.header("vary"), Some("DPE-Hash-Contract"));
    }
    // The condition is judged before the session, the session before the content.
    let (document, _) = content::doc(&[P0]);
    let body = json!({"document": document, "staging_session": "st-1"});
    let reply = remote.put("x:d", IF_ABSENT, &body).await;
    assert_eq!(reply.verdict(), (412, "DPE_ALREADY_EXISTS"));
    let reply = remote.put("x:d", ("if-match", &base), &body).await;
    assert_eq!(reply.verdict(), (410, "DPE_SESSION_EXPIRED"));
    let reply = remote
        .put("x:d", ("if-match", &base), &json!({"document": document}))
        .await;
    assert_eq!(reply.verdict(), (400, "DPE_MISSING_CONTENT"));
    let spaced = format!(" \t{base} ");
    let reply = remote.put("x:d", ("if-match", &spaced), &two).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
}

#[tokio::test]
async fn force_overwrites_whatever_is_there() {
    let remote = Remote::new();
    let body = json!({"document": content::empty(), "force": true});
    let reply = remote.put("x:d", FORCE, &body).await;
    assert_eq!(
        (reply.status, &reply.json()["status"]),
        (201, &json!("created"))
    );
    let body = json!({"document": {"file_type": "md", "pages": []}, "force": true});
    let reply = remote.put("x:d", FORCE, &body).await;
    assert_eq!(
        (reply.status, &reply.json()["status"]),
        (200, &json!("updated"))
    );
}

#[tokio::test]
async fn representation_written_last_is_returned() {
    let remote = Remote::new();
    let (element, element_hash) = content::text("a");
    let page = format!(r#"{{"elements": ["{element_hash}"], "title": null}}"#);
    let (_, page_hash) = content::page(&[&element_hash]);
    let commit = async |page: &str, document: &str, objects: &str, condition: (&str, &str)| {
        let body = format!(r#"{{"document":{document},"pages":[{page}],"objects":{objects}}}"#);
        let headers = [DPE1, condition];
        let reply = remote
            .send("PUT", &target("x:d"), &headers, body.into_bytes())
            .await;
        assert!(reply.status < 300, "{}", reply.text);
        remote.call("GET", &target("x:d"), &[]).await
    };
    let first = format!(
        r#"{{ "file_type" : "md", "pages": ["{page_hash}"], "doc_metadata": {{"n": 1.0}}}}"#
    );
    let objects = format!("[{element}]");
    let skeleton = commit(&page, &first, &objects, IF_ABSENT).await;
    assert!(
        skeleton.text.contains(&page) && skeleton.text.contains(&first),
        "{}",
        skeleton.text
    );

    // The same page in another spelling, of two the later one; the document is another one.
    let spelled = format!(r#"{{"page_metadata":{{"k":null}},"elements":["{element_hash}"]}}"#);
    let both = format!("{page},{spelled}");
    let second = format!(r#"{{"pages":["{page_hash}"],"file_type":"txt","title":null}}"#);
    let etag = skeleton.header("etag").unwrap().to_owned();
    let skeleton = commit(&both, &second, &objects, ("if-match", &etag)).await;
    assert!(
        skeleton.text.contains(&spelled) && skeleton.text.contains(&second),
        "{}",
        skeleton.text
    );
    assert!(!skeleton.text.contains(&page));

    // The same document in another spelling is no write at all.
    let etag = skeleton.header("etag").unwrap().to_owned();
    let third = format!(r#"{{"file_type":"txt","pages":["{page_hash}"]}}"#);
    let skeleton = commit(&page, &third, &objects, ("if-match", &etag)).await;
    assert!(
        skeleton.text.contains(&spelled) && skeleton.text.contains(&second),
        "{}",
        skeleton.text
    );
}

#[tokio::test]
async fn long_missing_lists_are_cut_to_a_thousand() {
    let remote = Remote::roomy();
    let hashes: Vec<_> = (0..1001)
        .map(|index| content::text(&index.to_string()).1)
        .collect();
    let hashes: Vec<_> = hashes.iter().map(String::as_str).collect();
    let (page, page_hash) = content::page(&hashes);
    let (document, _) = content::doc(&[&page_hash, P0]);
    let body = json!({"document": document, "pages": [page]});
    let reply = remote.put("x:d", IF_ABSENT, &body).await;
    assert_eq!(reply.verdict(), (400, "DPE_MISSING_CONTENT"));
    let body = reply.json();
    assert_eq!(body["missing_truncated"], true);
    assert_eq!(body["missing"]["pages"], json!([P0]));
    assert_eq!(body["missing"]["content_hashes"], json!(hashes[..999]));
}

#[tokio::test]
async fn repeated_pages_and_elements_count_with_their_repetitions() {
    let remote = Remote::new();
    let (element, hash) = content::text("x");
    let (page, page_hash) = content::page(&[&hash, &hash]);
    let (document, first) = content::doc(&[&page_hash, &page_hash, &page_hash]);
    let body = json!({"document": document, "pages": [page, page], "objects": [element]});
    let reply = remote.put("x:d", IF_ABSENT, &body).await;
    assert_eq!(reply.json()["delta"], delta(6, 0, 0), "{}", reply.text);
    let skeleton = remote.call("GET", &target("x:d"), &[]).await.json();
    assert_eq!(skeleton["pages"], json!([page, page, page]));
    let (document, _) = content::doc(&[&page_hash]);
    let reply = remote
        .put(
            "x:d",
            ("if-match", &if_match(&first)),
            &json!({"document": document}),
        )
        .await;
    assert_eq!(reply.json()["delta"], delta(0, 4, 2), "{}", reply.text);
}

#[test]
fn worked_vectors_agree_with_the_independent_implementation() {
    use dpe_hash::ObjectKind::{Document, Page};
    assert_eq!(content::hash(&content::p0(), Page, "dpe1"), P0);
    assert_eq!(content::hash(&content::p1(), Page, "dpe1"), P1);
    assert_eq!(content::hash(&content::document(), Document, "dpe1"), D);
}
