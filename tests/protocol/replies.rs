//! Success replies: every check of http-binding §14.2 and §13.1, violated one at a time.

use bytes::Bytes;
use dpe::model::{Contract, Contracts, FileUri, Hash};
use dpe::protocol::wire::{self, capabilities::Limits};
use dpe::protocol::{ReplyError, Response};
use http::{HeaderMap, HeaderValue};
use serde_json::{Value, json};

const CONTRACT: Contract = Contract::Dpe1;
/// Document `{"file_type":"empty","pages":[]}` and page `{"elements":[]}` (hash contract §16).
const EMPTY: &str = "dpe1:5044788699fbc5362d08cae535a0c6ba274b6d6c9a8d7e8179366163b22f05ee";
const PAGE: &str = "dpe1:d804d2827e3513251fddc13be8471285251f1d307ebbf7087bc8428b841b00e4";
/// The same document under the drill contract does not exist for a `dpe1` request.
const FOREIGN: &str = "dpex:760a87a6c52f951ef197e4c828e96f37527fddf67818f45d69b6fc74ae7ad641";

fn hash(text: &str) -> Hash {
    Hash::parse(text, Contracts::only(CONTRACT)).unwrap()
}

fn response(status: u16, body: impl Into<Bytes>) -> Response {
    Response {
        status,
        headers: HeaderMap::new(),
        body: body.into(),
    }
}

fn reply(status: u16, body: &Value) -> Response {
    response(status, body.to_string())
}

fn with_doc_hash(mut response: Response, value: &'static str) -> Response {
    let value = HeaderValue::from_static(value);
    response.headers.insert("dpe-doc-hash", value);
    response
}

/// Replaces one member, or removes it if the new value is `None`.
fn with(base: &Value, pointer: &str, value: Option<Value>) -> Value {
    let mut changed = base.clone();
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    let parent = changed
        .pointer_mut(parent)
        .unwrap()
        .as_object_mut()
        .unwrap();
    match value {
        Some(value) => parent.insert(name.to_owned(), value),
        None => parent.remove(name),
    };
    changed
}

fn unexpected<T: std::fmt::Debug>(result: Result<T, ReplyError>, what: &dyn std::fmt::Debug) {
    assert!(
        matches!(result, Err(ReplyError::Unexpected { .. })),
        "{what:?}: {result:?}"
    );
}

#[test]
fn capabilities_are_strict_but_ignore_unknown_members() {
    let good = json!({
        "protocol": "dpe/1", "hash_contracts": ["dpe1", "dpe9"],
        "limits": {"max_payload_bytes": 1, "page_max_bytes": 2, "staging_ttl_seconds": 3600,
                   "blob_max_bytes": 4, "blob_chunk_bytes": 5, "batch_head_max": 6,
                   "list_page_max": 7, "new": "x"},
        "content_encodings": [], "features": ["move", "new"], "new": null});
    let decoded = wire::capabilities::decode(&reply(200, &good)).unwrap();
    assert_eq!(decoded.hash_contracts, ["dpe1", "dpe9"]);
    let limits = Limits {
        max_payload_bytes: 1,
        page_max_bytes: 2,
        staging_ttl_seconds: 3600,
        blob_max_bytes: 4,
        blob_chunk_bytes: 5,
        batch_head_max: 6,
        list_page_max: 7,
    };
    assert_eq!(decoded.limits, limits);
    let text = good.to_string();
    let huge = text.replace(
        "\"list_page_max\":7",
        "\"list_page_max\":99999999999999999999999",
    );
    let decoded = wire::capabilities::decode(&response(200, huge)).unwrap();
    assert_eq!(decoded.limits.list_page_max, u64::MAX);

    for member in [
        "protocol",
        "hash_contracts",
        "limits",
        "content_encodings",
        "features",
    ] {
        for value in [None, Some(json!(null)), Some(json!(1))] {
            let bad = with(&good, &format!("/{member}"), value);
            unexpected(wire::capabilities::decode(&reply(200, &bad)), &bad);
        }
    }
    for bad in ["8.0", "\"8\"", "true", "null", "0", "-1", "8e0"] {
        let bad = text.replace("\"list_page_max\":7", &format!("\"list_page_max\":{bad}"));
        unexpected(
            wire::capabilities::decode(&response(200, bad.clone())),
            &bad,
        );
    }
    let bad = with(&good, "/limits/staging_ttl_seconds", Some(json!(3599)));
    unexpected(wire::capabilities::decode(&reply(200, &bad)), &bad);
    let bad = with(&good, "/limits/batch_head_max", None);
    unexpected(wire::capabilities::decode(&reply(200, &bad)), &bad);
    let bad = with(&good, "/features", Some(json!([1])));
    unexpected(wire::capabilities::decode(&reply(200, &bad)), &bad);
    let other = with(&good, "/protocol", Some(json!("dpe/2")));
    let result = wire::capabilities::decode(&reply(200, &other));
    assert_eq!(
        result,
        Err(ReplyError::Incompatible {
            protocol: "dpe/2".into()
        })
    );
}

#[test]
fn statuses_an_operation_does_not_have_are_unexpected() {
    let good = json!({"heads": []});
    assert_eq!(
        wire::heads::decode(&reply(200, &good), CONTRACT, 0),
        Ok(vec![])
    );
    for status in [201, 202, 204, 206, 301, 304, 307] {
        unexpected(
            wire::heads::decode(&reply(status, &good), CONTRACT, 0),
            &status,
        );
    }
    assert_eq!(wire::delete::decode(&response(204, ""), CONTRACT), Ok(()));
    unexpected(wire::delete::decode(&response(200, ""), CONTRACT), &200);
    for broken in [
        "",
        "[",
        "{\"heads\":[],\"heads\":[]}",
        "{\"heads\":[]} x",
        "\u{feff}{}",
    ] {
        unexpected(
            wire::heads::decode(&response(200, broken), CONTRACT, 0),
            &broken,
        );
    }
}

#[test]
fn heads_have_one_entry_per_uri_in_the_declared_contract() {
    let good = json!({"heads": [null, {"doc_hash": EMPTY, "new": 1}]});
    let heads = wire::heads::decode(&reply(200, &good), CONTRACT, 2);
    assert_eq!(heads, Ok(vec![None, Some(hash(EMPTY))]));
    for count in [1, 3] {
        unexpected(
            wire::heads::decode(&reply(200, &good), CONTRACT, count),
            &count,
        );
    }
    for bad in [
        json!({}),
        json!({"heads": {}}),
        json!({"heads": null}),
        json!({"heads": [1]}),
        json!({"heads": [EMPTY]}),
        json!({"heads": [{}]}),
        json!({"heads": [{"doc_hash": null}]}),
        json!({"heads": [{"doc_hash": FOREIGN}]}),
        json!({"heads": [{"doc_hash": "dpe1:00"}]}),
    ] {
        unexpected(wire::heads::decode(&reply(200, &bad), CONTRACT, 1), &bad);
    }
}

#[test]
fn head_is_told_by_its_header() {
    let found = with_doc_hash(response(200, ""), EMPTY);
    assert_eq!(wire::head::decode(&found, CONTRACT), Ok(Some(hash(EMPTY))));
    unexpected(
        wire::head::decode(&response(200, ""), CONTRACT),
        &"no header",
    );
    let foreign = with_doc_hash(response(200, ""), FOREIGN);
    unexpected(wire::head::decode(&foreign, CONTRACT), &FOREIGN);
    // A bare 404 does not say that the document is absent.
    unexpected(wire::head::decode(&response(404, ""), CONTRACT), &404);
    let mut absent = response(404, "");
    absent
        .headers
        .insert("dpe-error-code", HeaderValue::from_static("DPE_NOT_FOUND"));
    assert_eq!(wire::head::decode(&absent, CONTRACT), Ok(None));
}

#[test]
fn skeleton_must_reproduce_its_hashes() {
    let uri = FileUri::parse("X:%7e").unwrap();
    let document = json!({"file_type": "md", "pages": [PAGE, PAGE]});
    let kind = dpe_hash::ObjectKind::Document;
    let doc_hash = dpe_hash::object_hash(&document, kind, "dpe1").unwrap();
    let pages = json!([{"elements": []}, {"elements": [], "title": null}]);
    let good =
        json!({"file_uri": "x:~", "doc_hash": doc_hash, "document": document, "pages": pages});
    let decode = |body: &Value| wire::skeleton::decode(&reply(200, body), CONTRACT, &uri);
    let skeleton = decode(&good).unwrap().unwrap();
    assert_eq!(skeleton.doc_hash, hash(&doc_hash));
    assert_eq!(skeleton.pages.len(), 2);
    assert_eq!(skeleton.pages[1].page_hash, hash(PAGE));
    for (pointer, value) in [
        ("/file_uri", Some(json!("X:%7e"))),
        ("/file_uri", Some(json!("x:other"))),
        ("/file_uri", None),
        ("/doc_hash", Some(json!(EMPTY))),
        ("/doc_hash", Some(json!(FOREIGN))),
        ("/doc_hash", None),
        (
            "/document",
            Some(json!({"file_type": "txt", "pages": [PAGE, PAGE]})),
        ),
        (
            "/document",
            Some(json!({"file_type": "md", "pages": [PAGE, PAGE], "undefined": 1})),
        ),
        ("/document", None),
        ("/pages", Some(json!([{"elements": []}]))),
        (
            "/pages",
            Some(json!([{"elements": []}, {"elements": []}, {"elements": []}])),
        ),
        (
            "/pages",
            Some(json!([{"elements": []}, {"elements": [], "title": ""}])),
        ),
        (
            "/pages",
            Some(json!([{"elements": []}, {"elements": [], "undefined": null}])),
        ),
        ("/pages", Some(json!(null))),
        ("/pages", None),
    ] {
        let bad = with(&good, pointer, value);
        unexpected(decode(&bad), &bad);
    }
    let wrong = with_doc_hash(reply(200, &good), EMPTY);
    unexpected(wire::skeleton::decode(&wrong, CONTRACT, &uri), &"header");
}

#[test]
fn list_has_a_cursor_even_if_it_is_null() {
    let good = json!({"documents": [{"file_uri": "x:a", "doc_hash": EMPTY}], "next_cursor": null});
    let decode = |body: &Value| wire::list::decode(&reply(200, body), CONTRACT, "x:");
    assert_eq!(decode(&good).unwrap().next_cursor, None);
    let more = with(&good, "/next_cursor", Some(json!("")));
    assert_eq!(decode(&more).unwrap().next_cursor.as_deref(), Some(""));
    for (pointer, value) in [
        ("/next_cursor", None),
        ("/next_cursor", Some(json!(1))),
        ("/documents", None),
        ("/documents", Some(json!({}))),
        ("/documents", Some(json!([{"file_uri": "x:a"}]))),
        ("/documents", Some(json!([{"doc_hash": EMPTY}]))),
        (
            "/documents",
            Some(json!([{"file_uri": 1, "doc_hash": EMPTY}])),
        ),
        (
            "/documents",
            Some(json!([{"file_uri": "x:a", "doc_hash": FOREIGN}])),
        ),
        // Not asked for, not normalised, and no URI at all.
        (
            "/documents",
            Some(json!([{"file_uri": "y:a", "doc_hash": EMPTY}])),
        ),
        (
            "/documents",
            Some(json!([{"file_uri": "x:%7e", "doc_hash": EMPTY}])),
        ),
        (
            "/documents",
            Some(json!([{"file_uri": "x:\u{1b}[2J", "doc_hash": EMPTY}])),
        ),
    ] {
        let bad = with(&good, pointer, value);
        unexpected(decode(&bad), &bad);
    }
}

#[test]
fn commit_replies_must_agree_with_what_was_submitted() {
    let body = |status: &str, added: u64, removed: u64, retained: u64| {
        json!({"status": status, "doc_hash": EMPTY,
               "delta": {"added": added, "removed": removed, "retained": retained}})
    };
    let decode =
        |status, body: &Value| wire::commit::decode(&reply(status, body), CONTRACT, hash(EMPTY), 3);
    for (status, good) in [
        (201, body("created", 3, 0, 0)),
        (200, body("updated", 1, 9, 2)),
        (200, body("updated", 0, 0, 3)),
        (200, body("unchanged", 0, 0, 3)),
    ] {
        let decoded = decode(status, &good).unwrap();
        assert_eq!(decoded.status.as_str(), good["status"]);
        assert_eq!(decoded.delta.removed, good["delta"]["removed"]);
    }
    let updated = body("updated", 1, 9, 2);
    for (status, bad) in [
        (200, body("created", 3, 0, 0)),
        (201, body("updated", 1, 9, 2)),
        (201, body("unchanged", 0, 0, 3)),
        (201, body("created", 3, 1, 0)),
        (201, body("created", 2, 0, 1)),
        (200, body("unchanged", 1, 0, 2)),
        (200, body("unchanged", 0, 1, 3)),
        (200, body("updated", 1, 9, 3)),
        (200, body("updated", u64::MAX, 9, 4)),
        (200, body("other", 1, 9, 2)),
        (200, with(&updated, "/doc_hash", Some(json!(PAGE)))),
        (200, with(&updated, "/doc_hash", Some(json!(FOREIGN)))),
        (200, with(&updated, "/doc_hash", None)),
        (200, with(&updated, "/delta", None)),
        (200, with(&updated, "/delta/added", None)),
        (200, with(&updated, "/delta/removed", Some(json!(-1)))),
        (200, with(&updated, "/delta/removed", Some(json!(9.0)))),
        (200, with(&updated, "/delta/removed", Some(json!("9")))),
        (200, with(&updated, "/status", Some(json!(null)))),
        (202, updated.clone()),
    ] {
        unexpected(decode(status, &bad), &bad);
    }
    let wrong = with_doc_hash(reply(200, &updated), PAGE);
    unexpected(
        wire::commit::decode(&wrong, CONTRACT, hash(EMPTY), 3),
        &"header",
    );
    let right = with_doc_hash(reply(200, &updated), EMPTY);
    assert!(wire::commit::decode(&right, CONTRACT, hash(EMPTY), 3).is_ok());
}

#[test]
fn moved_document_has_the_hash_of_the_base() {
    let good = json!({"doc_hash": EMPTY});
    let decode = |response: &Response, base: Hash| wire::move_::decode(response, CONTRACT, base);
    assert_eq!(decode(&reply(200, &good), hash(EMPTY)), Ok(hash(EMPTY)));
    unexpected(decode(&reply(200, &good), hash(PAGE)), &"another base");
    unexpected(
        decode(&with_doc_hash(reply(200, &good), PAGE), hash(EMPTY)),
        &"header",
    );
    unexpected(decode(&reply(200, &json!({})), hash(EMPTY)), &"nothing");
    let foreign = json!({"doc_hash": FOREIGN});
    let base = Hash::parse(FOREIGN, Contracts::only(Contract::Dpex)).unwrap();
    unexpected(decode(&reply(200, &foreign), base), &"another contract");
    // A base of another contract cannot be compared.
    assert_eq!(decode(&reply(200, &good), base), Ok(hash(EMPTY)));
}
