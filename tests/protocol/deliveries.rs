//! The delivery machine: which requests a document takes (http-binding §21), against the embedded
//! remote, and what it does with replies no honest remote gives.

use std::io::Write;

use dpe::model::{BlobRef, Contract, Tree};
use dpe::protocol::delivery::{
    Delivered, Delivery, DeliveryFailed, Precondition, Session, Status, Terms,
};
use dpe::protocol::operation_error::{Oversize, ReadBack};
use dpe::protocol::wire::capabilities::Limits;
use dpe::protocol::wire::commit;
use dpe::protocol::{ErrorCode, Fate, OperationError, ReplyError, Request};
use dpe::server::{InProcess, OpenMode, Options, Service, Store};
use dpe::sync::ports::Transport;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::{Method, header};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::drive::{coded, drive, image, job, lines, lost, problem, reply, terms, text, tree, uri};

/// An embedded remote of given limits, called from code that is not async.
struct Remote {
    runtime: Runtime,
    remote: InProcess,
    limits: Limits,
    _directory: TempDir,
}

type End = Result<Delivered, DeliveryFailed>;

impl Remote {
    fn new(limits: Limits) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(&directory.path().join("store"), OpenMode::Create).unwrap();
        let options = Options {
            hooks: Some("/__hooks__".to_owned()),
            ..Options::default()
        };
        Self {
            runtime: Runtime::new().unwrap(),
            remote: InProcess::new(&Service::new(store, limits, options)),
            limits,
            _directory: directory,
        }
    }

    fn send(&self, request: &Request) -> Fate {
        let response = self.runtime.block_on(self.remote.send(request.clone()));
        Fate::Answered(response.unwrap())
    }

    fn deliver(
        &self,
        precondition: Precondition,
        tree: &Tree,
        blobs: &[&[u8]],
    ) -> (End, Vec<Request>) {
        let uri = uri();
        let delivery = Delivery::new(job(&uri, precondition, tree, blobs), terms(self.limits));
        drive(delivery, |request| self.send(request))
    }

    /// Makes `tree` what the remote holds.
    fn hold(&self, tree: &Tree, blobs: &[&[u8]]) -> Precondition {
        let (end, _) = self.deliver(Precondition::Force, tree, blobs);
        assert_eq!(end.unwrap().doc_hash, tree.doc_hash);
        Precondition::Base(tree.doc_hash)
    }
}

fn body(request: &Request) -> Value {
    serde_json::from_slice(request.body.as_ref().unwrap()).unwrap()
}

fn count(request: &Request, list: &str) -> usize {
    body(request)[list].as_array().map_or(0, Vec::len)
}

/// Pages of one element each.
fn pages(texts: impl IntoIterator<Item = String>) -> Vec<Vec<Value>> {
    texts.into_iter().map(|each| vec![text(each)]).collect()
}

/// Bytes of bodies on the wire, with gzip as http-binding §13.4 has it.
fn on_the_wire(sent: &[Request]) -> usize {
    let length = |request: &Request| {
        let body = request.body.clone().unwrap_or_default();
        let is_json = request
            .headers
            .iter()
            .any(|(name, value)| *name == header::CONTENT_TYPE && value == "application/json");
        if !is_json || body.len() < 1024 {
            return body.len();
        }
        let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
        gzip.write_all(&body).unwrap();
        gzip.finish().unwrap().len()
    };
    sent.iter().map(length).sum()
}

#[test]
fn new_document_that_fits_is_one_commit() {
    let remote = Remote::new(Limits::default());
    let tree = tree(&pages((0..50).map(|page| format!("{page:05000}"))));
    let (end, sent) = remote.deliver(Precondition::IfAbsent, &tree, &[]);
    assert_eq!(end.unwrap().status, Status::Created);
    assert_eq!(lines(&sent), ["PUT documents"]);
}

#[test]
fn update_of_up_to_64_kib_is_one_commit() {
    let remote = Remote::new(Limits::default());
    let base = remote.hold(&tree(&[vec![text("old")]]), &[]);
    let small = tree(&[vec![text("a".repeat(60 << 10))]]);
    let (end, sent) = remote.deliver(base, &small, &[]);
    assert_eq!(end.unwrap().status, Status::Updated);
    assert_eq!(lines(&sent), ["PUT documents"]);
    let large = tree(&[vec![text("a".repeat(64 << 10))]]);
    let base = Precondition::Base(small.doc_hash);
    let (end, sent) = remote.deliver(base, &large, &[]);
    assert_eq!(end.unwrap().status, Status::Updated);
    assert_eq!(lines(&sent)[0], "POST negotiate");
}

#[test]
fn update_without_a_new_page_takes_two_requests() {
    let remote = Remote::new(Limits::default());
    let mut all = pages((0..1000).map(|page| format!("{page:0100}")));
    let base = remote.hold(&tree(&all), &[]);
    all.swap(1, 2);
    let (end, sent) = remote.deliver(base, &tree(&all), &[]);
    assert_eq!(end.unwrap().delta.retained, 1000);
    assert_eq!(lines(&sent), ["POST negotiate", "PUT documents"]);
    assert_eq!(count(&sent[1], "objects") + count(&sent[1], "pages"), 0);
}

#[test]
fn page_inserted_into_5000_costs_the_document_object_the_page_and_its_elements() {
    let remote = Remote::new(Limits::default());
    let mut all = pages((0..5000).map(|page| format!("page {page}")));
    let base = remote.hold(&tree(&all), &[]);
    all.insert(
        2500,
        (0..20)
            .map(|each| text(format!("new {each:0200}")))
            .collect(),
    );
    let tree = tree(&all);
    let (end, sent) = remote.deliver(base, &tree, &[]);
    assert_eq!(end.unwrap().delta.added, 20);
    assert_eq!(
        lines(&sent),
        ["POST negotiate", "PUT staging/pages", "PUT documents"]
    );
    assert_eq!(count(&sent[2], "objects"), 20);
    let new_page = tree
        .pages
        .iter()
        .find(|page| page.text.len() > 1000)
        .unwrap();
    let elements = tree
        .elements
        .iter()
        .filter(|element| element.text.contains("new "));
    let elements: usize = elements.map(|element| element.text.len()).sum();
    let least = tree.document.len() + new_page.text.len() + elements;
    let sent = on_the_wire(&sent);
    println!("{sent} bytes for {least}");
    assert!(sent * 10 <= least * 11, "{sent} bytes for {least}");
}

#[test]
fn only_missing_elements_of_a_changed_page_are_sent() {
    let remote = Remote::new(Limits::default());
    let mut page: Vec<Value> = (0..300).map(|each| text(format!("{each:0400}"))).collect();
    let base = remote.hold(&tree(std::slice::from_ref(&page)), &[]);
    page[7] = text("changed");
    let (end, sent) = remote.deliver(base, &tree(&[page]), &[]);
    assert_eq!(end.unwrap().delta.added, 1);
    let last = sent.last().unwrap();
    assert_eq!((count(last, "objects"), count(last, "pages")), (1, 0));
    assert_eq!(sent.len(), 3);
}

#[test]
fn many_missing_pages_are_attached_to_a_second_negotiate() {
    let remote = Remote::new(Limits::default());
    let base = remote.hold(
        &tree(&pages((0..300).map(|page| format!("{page:0500}")))),
        &[],
    );
    let changed = tree(&pages((0..300).map(|page| format!("{:0500}", page * 2))));
    let (end, sent) = remote.deliver(base, &changed, &[]);
    // The texts of the even numbers below 300 are known; their pages are too.
    assert_eq!(end.unwrap().delta.added, 150);
    assert_eq!(
        lines(&sent),
        ["POST negotiate", "POST negotiate", "PUT documents"]
    );
    assert_eq!(count(&sent[0], "pages"), 0);
    assert_eq!(count(&sent[1], "pages"), 150);
    assert_eq!(count(&sent[2], "objects"), 150);
}

#[test]
fn pages_of_which_none_fits_beside_the_document_are_uploaded_without_another_negotiate() {
    let remote = Remote::new(Limits {
        max_payload_bytes: 3000,
        ..Limits::default()
    });
    let base = remote.hold(&tree(&[vec![text("old")]]), &[]);
    let page = |page| (0..25).map(|each| text(format!("{page} {each}"))).collect();
    let all: Vec<Vec<Value>> = (0..20).map(page).collect();
    let (end, sent) = remote.deliver(base, &tree(&all), &[]);
    assert_eq!(end.unwrap().delta.added, 500);
    let lines = lines(&sent);
    let count = |line: &str| lines.iter().filter(|each| *each == line).count();
    assert_eq!(
        (count("POST negotiate"), count("PUT staging/pages")),
        (1, 20)
    );
}

#[test]
fn blobs_of_a_new_document_are_sent_straight_and_once() {
    let remote = Remote::new(Limits::default());
    let (one, two) = (vec![0; 10], vec![0; 20]);
    let tree = tree(&[vec![image(&one), image(&two)], vec![image(&one), text("x")]]);
    let (end, sent) = remote.deliver(Precondition::IfAbsent, &tree, &[&one, &two]);
    assert_eq!(end.unwrap().status, Status::Created);
    let blob = "PUT staging/blobs";
    assert_eq!(
        lines(&sent),
        ["POST negotiate", blob, blob, "PUT documents"]
    );
}

#[test]
fn blobs_of_an_update_come_by_the_missing_list() {
    let remote = Remote::new(Limits::default());
    let (old, new) = (vec![0; 10], vec![0; 20]);
    let base = remote.hold(&tree(&[vec![image(&old)]]), &[&old]);
    let small = tree(&[vec![image(&old), image(&new)]]);
    let (end, sent) = remote.deliver(base, &small, &[&old, &new]);
    assert_eq!(end.unwrap().status, Status::Updated);
    let requests = [
        "PUT documents",
        "POST negotiate",
        "PUT staging/blobs",
        "PUT documents",
    ];
    assert_eq!(lines(&sent), requests);
}

#[test]
fn element_with_a_blob_is_asked_about_where_the_commit_is_dear() {
    let remote = Remote::new(Limits::default());
    let new = vec![0; 20];
    let mut all = pages((0..2000).map(|page| format!("page {page}")));
    let base = remote.hold(&tree(&all), &[]);
    all.push(vec![image(&new)]);
    let (end, sent) = remote.deliver(base, &tree(&all), &[&new]);
    assert_eq!(end.unwrap().status, Status::Updated);
    let requests = [
        "POST negotiate",
        "PUT staging/pages",
        "PUT staging/objects",
        "PUT staging/blobs",
        "PUT documents",
    ];
    assert_eq!(lines(&sent), requests);
}

#[test]
fn blob_that_many_elements_share_is_asked_about_once() {
    let remote = Remote::new(Limits::default());
    let icon = vec![0; 20];
    let mut all = pages((0..2000).map(|page| format!("page {page}")));
    all.push(vec![image(&icon)]);
    let base = remote.hold(&tree(&all), &[&icon]);
    let captioned = |each| {
        let mut image = image(&icon);
        image["text"] = json!(format!("caption {each}"));
        image
    };
    all.push((0..50).map(captioned).collect());
    let (end, sent) = remote.deliver(base, &tree(&all), &[&icon]);
    assert_eq!(end.unwrap().delta.added, 50);
    let requests = [
        "POST negotiate",
        "PUT staging/pages",
        "PUT staging/objects",
        "PUT documents",
    ];
    assert_eq!(lines(&sent), requests);
}

#[test]
fn what_does_not_fit_inline_is_staged_the_largest_first() {
    let remote = Remote::new(Limits {
        max_payload_bytes: 20_000,
        ..Limits::default()
    });
    let sizes = [100, 9000, 200, 8000, 300, 7000, 400];
    let page: Vec<Value> = sizes.iter().map(|size| text("a".repeat(*size))).collect();
    let (end, sent) = remote.deliver(Precondition::IfAbsent, &tree(&[page]), &[]);
    assert_eq!(end.unwrap().status, Status::Created);
    assert_eq!(
        lines(&sent),
        ["POST negotiate", "PUT staging/objects", "PUT documents"]
    );
    // The page came along with the negotiate.
    assert_eq!(count(&sent[0], "pages"), 1);
    assert!(sent[1].body.as_ref().unwrap().len() > 9000);
    assert_eq!(count(&sent[2], "objects"), 6);
}

#[test]
fn page_longer_than_a_payload_goes_in_chunks() {
    let remote = Remote::new(Limits {
        max_payload_bytes: 5000,
        blob_chunk_bytes: 3000,
        ..Limits::default()
    });
    let page: Vec<Value> = (0..150).map(|each| text(format!("{each}"))).collect();
    let tree = tree(&[page]);
    let (end, sent) = remote.deliver(Precondition::IfAbsent, &tree, &[]);
    assert_eq!(end.unwrap().status, Status::Created);
    let chunks = sent
        .iter()
        .filter(|request| request.target.contains("/pages/"));
    assert_eq!(chunks.count(), tree.pages[0].text.len().div_ceil(3000));
}

/// http-binding §13.2 bounds the element as it is sent, and metadata may be absent from that.
#[test]
fn element_of_just_the_limit_is_delivered() {
    let limits = Limits {
        max_payload_bytes: 3000,
        ..Limits::default()
    };
    let around = r#"{"category":"NarrativeText","text":""}"#.len();
    for (more, fits) in [(0, true), (1, false)] {
        let remote = Remote::new(limits);
        let long = text("a".repeat(3000 - around + more));
        assert_eq!(long.to_string().len(), 3000 + more);
        let tree = tree(&[vec![long]]);
        let (end, sent) = remote.deliver(Precondition::IfAbsent, &tree, &[]);
        assert_eq!(end.is_ok(), fits, "{more}");
        assert_eq!(sent.is_empty(), !fits, "{more}");
    }
}

#[test]
fn object_over_a_limit_is_named_before_anything_is_sent() {
    let limits = Limits {
        max_payload_bytes: 3000,
        page_max_bytes: 4000,
        blob_max_bytes: 50,
        ..Limits::default()
    };
    let (long, blob) = (text("a".repeat(3000)), vec![0; 51]);
    let many: Vec<Value> = (0..60).map(|each| text(format!("{each}"))).collect();
    let document = tree(&pages((0..60).map(|page| format!("{page}"))));
    let page = tree(&[vec![], many]);
    let element = tree(&[vec![], vec![text("b")], vec![long]]);
    let with_blob = tree(&[vec![image(&blob)]]);
    for (tree, blobs, object) in [
        (
            &document,
            vec![],
            Oversize::Document {
                doc_hash: document.doc_hash,
            },
        ),
        (
            &page,
            vec![],
            Oversize::Page {
                page_hash: page.page_list[1],
                position: 1,
            },
        ),
        (
            &element,
            vec![],
            Oversize::Element {
                content_hash: element.elements[1].hash,
                page: Some(2),
            },
        ),
        (
            &with_blob,
            vec![&*blob],
            Oversize::Blob {
                blob: BlobRef::of(&blob),
            },
        ),
    ] {
        let uri = uri();
        let delivery = Delivery::new(
            job(&uri, Precondition::IfAbsent, tree, &blobs),
            terms(limits),
        );
        let (end, sent) = drive(delivery, |_| unreachable!());
        let failed = end.unwrap_err();
        let OperationError::TooLarge {
            object: named,
            size,
            limit,
        } = failed.error
        else {
            panic!("{failed:?}")
        };
        assert_eq!(named, object);
        assert!(size > limit);
        assert!(!failed.outcome_unknown && sent.is_empty());
    }
}

#[test]
fn document_that_leaves_no_room_for_a_session_is_refused_before_anything_is_sent() {
    let (uri, tree) = (uri(), tree(&pages((0..60).map(|page| format!("{page}")))));
    for precondition in [Precondition::IfAbsent, Precondition::Base(tree.doc_hash)] {
        let alone = commit::Request {
            uri: &uri,
            precondition,
            document: &tree.document,
            pages: &[],
            objects: &[],
            staging_session: None,
        };
        let alone = alone.into_http(Contract::Dpe1).body.unwrap().len() as u64;
        // `,"staging_session":""` and an id of 64 characters take 85 bytes.
        for (room, is_refused) in [(84, true), (85, false)] {
            let limits = Limits {
                max_payload_bytes: alone + room,
                ..Limits::default()
            };
            let delivery = Delivery::new(job(&uri, precondition, &tree, &[]), terms(limits));
            let (end, sent) = drive(delivery, |_| coded(403, "DPE_FORBIDDEN"));
            let error = end.unwrap_err().error;
            let is_too_large = matches!(error, OperationError::TooLarge { .. });
            assert_eq!((is_too_large, sent.is_empty()), (is_refused, is_refused));
        }
    }
}

#[test]
fn first_of_several_blobs_over_the_limit_is_named_every_time() {
    let limits = Limits {
        blob_max_bytes: 50,
        ..Limits::default()
    };
    let blobs: Vec<Vec<u8>> = (0..8).map(|each| vec![each; 51]).collect();
    let blobs: Vec<&[u8]> = blobs.iter().map(|blob| &**blob).collect();
    let tree = tree(&[blobs.iter().map(|blob| image(blob)).collect()]);
    let first = tree.blobs[0];
    // Every map of blobs has an order of its own.
    for _ in 0..20 {
        let uri = uri();
        let job = job(&uri, Precondition::IfAbsent, &tree, &blobs);
        let (end, _) = drive(Delivery::new(job, terms(limits)), |_| unreachable!());
        let error = end.unwrap_err().error;
        let OperationError::TooLarge { object, .. } = error else {
            panic!("{error:?}")
        };
        assert_eq!(object, Oversize::Blob { blob: first });
    }
}

#[test]
fn body_of_exactly_the_limit_is_one_commit() {
    let tree = tree(&[vec![text("a"), text("b")], vec![text("c")]]);
    let remote = Remote::new(Limits::default());
    let (_, sent) = remote.deliver(Precondition::IfAbsent, &tree, &[]);
    let length = sent[0].body.as_ref().unwrap().len() as u64;
    let alone: &[&str] = &["PUT documents"];
    // The negotiate brings the pages; what is left fits.
    let in_session = &["POST negotiate", "PUT documents"];
    for (limit, requests) in [(length, alone), (length - 1, in_session)] {
        let remote = Remote::new(Limits {
            max_payload_bytes: limit,
            ..Limits::default()
        });
        let (end, sent) = remote.deliver(Precondition::IfAbsent, &tree, &[]);
        assert_eq!(end.unwrap().status, Status::Created);
        assert_eq!(lines(&sent), requests);
    }
}

#[test]
fn refusal_hands_back_the_session_and_nothing_is_uploaded_twice() {
    let remote = Remote::new(Limits::default());
    let blob = vec![0; 3000];
    let old = tree(&[vec![text("old")]]);
    let mut all = pages((0..1500).map(|page| format!("page {page}")));
    all[3].push(image(&blob));
    let new = tree(&all);
    let stale = Precondition::Base(new.doc_hash);
    remote.hold(&old, &[]);
    let (end, sent) = remote.deliver(stale, &new, &[&blob]);
    let failed = end.unwrap_err();
    assert_eq!(failed.error.code(), Some(ErrorCode::PreconditionFailed));
    let requests = [
        "POST negotiate",
        "POST negotiate",
        "PUT staging/objects",
        "PUT staging/blobs",
        "PUT documents",
    ];
    assert_eq!(lines(&sent), requests);
    let session: Session = failed.session.unwrap();
    let uri = uri();
    let job = job(&uri, Precondition::Base(old.doc_hash), &new, &[&blob]);
    let delivery = Delivery::with_session(job, terms(remote.limits), session);
    let (end, sent) = drive(delivery, |request| remote.send(request));
    assert_eq!(end.unwrap().status, Status::Updated);
    assert_eq!(lines(&sent), ["PUT documents"]);
}

#[test]
fn expired_session_is_negotiated_anew_once() {
    let remote = Remote::new(Limits::default());
    let all = pages((0..1500).map(|page| format!("page {page}")));
    let base = remote.hold(&tree(&all[1..]), &[]);
    let tree = tree(&all);
    for (expiries, succeeds) in [(1, true), (2, false)] {
        let mut left = expiries;
        let uri = uri();
        let delivery = Delivery::new(job(&uri, base, &tree, &[]), terms(remote.limits));
        let (end, sent) = drive(delivery, |request| {
            if request.target.starts_with("staging/") && left > 0 {
                left -= 1;
                return coded(410, "DPE_SESSION_EXPIRED");
            }
            // Only looking: the second document has to find the same state.
            if request.method == Method::PUT && request.target.starts_with("documents") && succeeds
            {
                let hash = tree.doc_hash.to_string();
                let delta = json!({"added": 1500, "removed": 0, "retained": 0});
                let body = json!({"status": "updated", "doc_hash": hash, "delta": delta});
                return reply(200, &[], &body.to_string());
            }
            remote.send(request)
        });
        assert_eq!(end.is_ok(), succeeds);
        if let Err(failed) = end {
            assert_eq!(failed.error.code(), Some(ErrorCode::SessionExpired));
            assert!(failed.session.is_none() && !failed.outcome_unknown);
        }
        let negotiates = sent.iter().filter(|request| request.target == "negotiate");
        assert_eq!(negotiates.count(), 2);
    }
}

/// Delivers a small document to a remote that says what it is told.
fn scripted(
    precondition: Precondition,
    blobs: &[&[u8]],
    answer: impl FnMut(&Request) -> Fate,
) -> (End, Vec<Request>) {
    let (uri, tree) = (uri(), small());
    let delivery = Delivery::new(
        job(&uri, precondition, &tree, blobs),
        Terms::new(Contract::Dpe1, Limits::default()),
    );
    drive(delivery, answer)
}

const BLOB: &[u8] = b"blob";

fn small() -> Tree {
    tree(&[vec![text("a"), image(BLOB)]])
}

fn head(hash: &str) -> Fate {
    reply(200, &[("dpe-doc-hash", hash)], "")
}

fn absent() -> Fate {
    reply(404, &[("dpe-error-code", "DPE_NOT_FOUND")], "")
}

fn missing(pages: &[&str], elements: &[&str], blobs: &[&str]) -> Fate {
    let missing = json!({"pages": pages, "content_hashes": elements, "blobs": blobs});
    problem(
        400,
        &json!({"code": "DPE_MISSING_CONTENT", "missing": missing, "missing_truncated": false}),
    )
}

#[test]
fn missing_blob_without_its_bytes_ends_it_here() {
    let blob = BlobRef::of(BLOB).to_string();
    let (end, sent) = scripted(Precondition::IfAbsent, &[], |_| missing(&[], &[], &[&blob]));
    let failed = end.unwrap_err();
    let named = BlobRef::of(BLOB);
    assert_eq!(failed.error, OperationError::MissingBlob { blob: named });
    assert!(!failed.outcome_unknown);
    assert_eq!(sent.len(), 1);
}

#[test]
fn listed_object_that_is_no_part_of_the_document_is_unexpected() {
    let foreign = format!("dpe1:{}", "0".repeat(64));
    let foreign_blob = format!("sha256:{}", "0".repeat(64));
    for answer in [
        missing(&[&foreign], &[], &[]),
        missing(&[], &[&foreign], &[]),
        missing(&[], &[], &[&foreign_blob]),
    ] {
        let (end, _) = scripted(Precondition::IfAbsent, &[], |_| answer.clone());
        let error = end.unwrap_err().error;
        assert!(
            matches!(error, OperationError::Reply(ReplyError::Unexpected { .. })),
            "{error:?}"
        );
    }
}

#[test]
fn remote_that_misses_what_it_was_given_is_left_after_two_more_rounds() {
    for answer in [
        missing(&[&small().page_list[0].to_string()], &[], &[]),
        missing(&[], &[], &[]),
    ] {
        let (end, sent) = scripted(Precondition::IfAbsent, &[], |_| answer.clone());
        assert_eq!(
            end.unwrap_err().error.code(),
            Some(ErrorCode::MissingContent)
        );
        assert_eq!(sent.len(), 3);
    }
}

#[test]
fn remote_that_lists_an_attached_page_as_missing_does_not_hold_it_up() {
    let limits = Limits {
        max_payload_bytes: 1500,
        ..Limits::default()
    };
    let tree = tree(&[vec![text("a".repeat(700)), text("b".repeat(700))]]);
    let uri = uri();
    let delivery = Delivery::new(job(&uri, Precondition::IfAbsent, &tree, &[]), terms(limits));
    let (end, sent) = drive(delivery, |request| {
        if request.target == "negotiate" {
            let session = json!({"id": "s", "expires_at": "2026-12-01T00:00:00Z"});
            let page = tree.page_list[0].to_string();
            let body = json!({
                "missing_pages": [page], "missing_content_hashes": [], "staging_session": session
            });
            return reply(200, &[], &body.to_string());
        }
        if request.target.starts_with("staging/") {
            return reply(201, &[], "{}");
        }
        coded(403, "DPE_FORBIDDEN")
    });
    assert_eq!(end.unwrap_err().error.code(), Some(ErrorCode::Forbidden));
    assert_eq!(lines(&sent).last().unwrap(), "PUT documents");
}

#[test]
fn lost_commit_is_sent_again_verbatim_and_twice_at_most() {
    let (end, sent) = scripted(Precondition::IfAbsent, &[], |_| lost());
    let failed = end.unwrap_err();
    assert!(matches!(failed.error, OperationError::Lost { .. }) && failed.outcome_unknown);
    assert_eq!(sent.len(), 3);
    assert!(sent.iter().all(|request| *request == sent[0]));
}

#[test]
fn forced_commit_is_looked_up_and_never_sent_again() {
    let submitted = small().doc_hash;
    let other = tree(&[]).doc_hash;
    for (looked_up, read) in [
        (head(&submitted.to_string()), None),
        (head(&other.to_string()), Some(ReadBack::Other(other))),
        (absent(), Some(ReadBack::Absent)),
        (coded(403, "DPE_FORBIDDEN"), Some(ReadBack::Unreadable)),
    ] {
        for end_of_commit in [lost(), reply(502, &[], "<html>")] {
            let (end, sent) = scripted(Precondition::Force, &[], |request| {
                if request.method == Method::HEAD {
                    looked_up.clone()
                } else {
                    end_of_commit.clone()
                }
            });
            assert_eq!(lines(&sent), ["PUT documents", "HEAD documents"]);
            match (end, read) {
                (Ok(delivered), None) => {
                    assert_eq!(delivered.status, Status::Unchanged);
                    assert_eq!(delivered.delta.retained, 2);
                }
                (Err(failed), Some(read)) => {
                    let error = OperationError::ForceNotConfirmed { submitted, read };
                    assert_eq!(failed.error, error);
                    assert!(failed.outcome_unknown);
                }
                (end, read) => panic!("{end:?} {read:?}"),
            }
        }
    }
}

#[test]
fn bare_412_is_settled_by_head() {
    let submitted = small().doc_hash;
    let other = tree(&[]).doc_hash;
    let base = Precondition::Base(other);
    let bare = || reply(412, &[], "");
    for (precondition, looked_up, code, requests, unknown) in [
        (base, head(&submitted.to_string()), None, 2, false),
        (base, absent(), Some(ErrorCode::NotFound), 2, false),
        (
            base,
            head(&other.to_string()),
            Some(ErrorCode::PreconditionFailed),
            2,
            false,
        ),
        (
            Precondition::IfAbsent,
            head(&submitted.to_string()),
            None,
            2,
            false,
        ),
        (
            Precondition::IfAbsent,
            head(&other.to_string()),
            Some(ErrorCode::AlreadyExists),
            2,
            false,
        ),
        (
            base,
            coded(403, "DPE_FORBIDDEN"),
            Some(ErrorCode::Forbidden),
            2,
            true,
        ),
    ] {
        let (end, sent) = scripted(precondition, &[], |request| {
            if request.method == Method::HEAD {
                looked_up.clone()
            } else {
                bare()
            }
        });
        assert_eq!(sent.len(), requests);
        match end {
            Ok(delivered) => {
                assert_eq!((delivered.status, code), (Status::Unchanged, None));
            }
            Err(failed) => {
                assert_eq!(failed.error.code(), code);
                assert_eq!(failed.outcome_unknown, unknown, "{looked_up:?}");
            }
        }
    }
}

#[test]
fn bare_412_that_no_head_explains_is_unexpected_after_one_resend() {
    let (end, sent) = scripted(Precondition::IfAbsent, &[], |request| {
        if request.method == Method::HEAD {
            absent()
        } else {
            reply(412, &[], "")
        }
    });
    let failed = end.unwrap_err();
    let unexpected = OperationError::Reply(ReplyError::Unexpected {
        status: 412,
        why: "an error without a DPE code".into(),
        retry_after: None,
        line: None,
    });
    assert_eq!(failed.error, unexpected);
    assert!(failed.outcome_unknown);
    let (put, look) = ("PUT documents", "HEAD documents");
    assert_eq!(lines(&sent), [put, look, put, look]);
    let (end, sent) = scripted(Precondition::Force, &[], |_| reply(412, &[], ""));
    assert!(end.unwrap_err().outcome_unknown);
    assert_eq!(lines(&sent), [put]);
}

#[test]
fn one_uncertain_attempt_keeps_the_outcome_unknown() {
    for later in [
        coded(412, "DPE_PRECONDITION_FAILED"),
        coded(403, "DPE_FORBIDDEN"),
        Fate::NotSent("refused".into()),
        Fate::Local("no".into()),
    ] {
        for first in [lost(), reply(504, &[], "")] {
            let mut requests = 0;
            let (end, _) = scripted(Precondition::IfAbsent, &[], |_| {
                requests += 1;
                if requests == 1 {
                    first.clone()
                } else {
                    later.clone()
                }
            });
            assert!(end.unwrap_err().outcome_unknown, "{later:?}");
        }
        let (end, _) = scripted(Precondition::IfAbsent, &[], |_| later.clone());
        assert!(!end.unwrap_err().outcome_unknown, "{later:?}");
    }
    for page in [
        reply(500, &[], ""),
        reply(429, &[], ""),
        reply(200, &[], "{}"),
    ] {
        let (end, sent) = scripted(Precondition::IfAbsent, &[], |_| page.clone());
        assert!(end.unwrap_err().outcome_unknown, "{page:?}");
        assert_eq!(sent.len(), 1);
    }
}

#[test]
fn what_fails_before_the_commit_has_a_known_outcome() {
    for answer in [lost(), reply(500, &[], ""), coded(403, "DPE_FORBIDDEN")] {
        let (end, sent) = scripted(Precondition::IfAbsent, &[BLOB], |_| answer.clone());
        assert!(!end.unwrap_err().outcome_unknown);
        assert_eq!(lines(&sent), ["POST negotiate"]);
    }
}

#[test]
fn only_waits_of_up_to_five_minutes_are_waited_for() {
    for (value, requests) in [
        (Some("300"), 3),
        (Some("301"), 1),
        (None, 3),
        (Some("soon"), 3),
    ] {
        let headers: Vec<(&str, &str)> = value
            .map(|value| ("retry-after", value))
            .into_iter()
            .collect();
        let mut headers = headers;
        headers.push(("dpe-error-code", "DPE_UNAVAILABLE"));
        let (end, sent) = scripted(Precondition::IfAbsent, &[], |_| reply(503, &headers, ""));
        let failed = end.unwrap_err();
        assert_eq!(failed.error.code(), Some(ErrorCode::Unavailable));
        assert!(!failed.outcome_unknown);
        assert_eq!(sent.len(), requests, "{value:?}");
    }
}
