//! Chunks and the resume query: http-binding §9.4, §9.5.

use serde_json::json;

use super::super::content::{self, HELLO, P0};
use super::super::remote::DPE1;
use super::{
    blob_ref, bytes, chunk, hooked, in_chunks, json_bytes, limits, offset, open, path, roomy, stage,
};

const VALIDATION: (u16, &str) = (400, "DPE_VALIDATION");
const MISMATCH: (u16, &str) = (400, "DPE_HASH_MISMATCH");

#[tokio::test]
async fn object_in_chunks_is_complete_with_the_last_one() {
    let remote = hooked(roomy());
    let session = open(&remote, "x:d").await;
    let page = json_bytes(&content::p0());
    for (kind, body, name) in [
        ("pages", page, P0.to_owned()),
        ("blobs", bytes(1000), blob_ref(&bytes(1000))),
        ("blobs", bytes(65_536), blob_ref(&bytes(65_536))),
        ("blobs", bytes(65_537), blob_ref(&bytes(65_537))),
        ("blobs", bytes(300_000), blob_ref(&bytes(300_000))),
    ] {
        assert_eq!(offset(&remote, &session, kind, &name).await, 0);
        let size = body.len() / 3 + 1;
        let reply = in_chunks(&remote, &session, kind, &name, &body, size).await;
        assert_eq!(reply.status, 201, "{}", reply.text);
        assert!(reply.header("dpe-session-expires").is_some());
        assert_eq!(reply.header("dpe-upload-offset"), None);
        assert_eq!(
            offset(&remote, &session, kind, &name).await,
            body.len() as u64
        );
        assert_eq!(
            stage(&remote, &session, kind, &name, &body).await.status,
            200
        );
    }
}

#[tokio::test]
async fn single_chunk_can_be_the_whole_object() {
    let remote = hooked(roomy());
    let session = open(&remote, "x:d").await;
    let reply = chunk(&remote, &session, "blobs", HELLO, "0-4/5", b"hello").await;
    assert_eq!((reply.status, reply.text.as_str()), (201, "{}"));
}

#[tokio::test]
async fn chunk_that_does_not_begin_at_the_offset_is_told_the_offset() {
    let remote = hooked(roomy());
    let session = open(&remote, "x:d").await;
    let blob = bytes(100);
    let name = blob_ref(&blob);
    let refused = async |range: &str, part: &[u8], expected: &str| {
        let reply = chunk(&remote, &session, "blobs", &name, range, part).await;
        assert_eq!(reply.verdict(), VALIDATION, "{range}");
        assert_eq!(reply.header("dpe-upload-offset"), Some(expected), "{range}");
    };
    refused("10-19/100", &blob[10..20], "0").await;
    let reply = chunk(&remote, &session, "blobs", &name, "0-39/100", &blob[..40]).await;
    assert_eq!(reply.status, 202);
    refused("0-39/100", &blob[..40], "40").await;
    refused("39-49/100", &blob[39..50], "40").await;
    refused("41-49/100", &blob[41..50], "40").await;
    assert_eq!(offset(&remote, &session, "blobs", &name).await, 40);
    let reply = chunk(&remote, &session, "blobs", &name, "40-99/100", &blob[40..]).await;
    assert_eq!(reply.status, 201, "{}", reply.text);
}

#[tokio::test]
async fn ranges_that_contradict_themselves_or_earlier_ones_have_no_offset() {
    let remote = hooked(roomy());
    let session = open(&remote, "x:d").await;
    let blob = bytes(100);
    let name = blob_ref(&blob);
    chunk(&remote, &session, "blobs", &name, "0-9/100", &blob[..10]).await;
    for (range, length) in [
        ("", 10),
        ("10-19", 10),
        ("10-19/*", 10),
        ("*/100", 10),
        ("10-9/100", 0),
        ("100-100/100", 1),
        ("100-99/100", 0),
        ("10-19/19", 10),
        ("10-19/100", 9),
        ("10-19/100", 11),
        ("10-19/100", 0),
        ("10-19/101", 10),
        ("10-19/99", 10),
        ("10-19/100, bytes 10-19/100", 10),
        ("10-19/9223372036854775808", 10),
    ] {
        let reply = chunk(&remote, &session, "blobs", &name, range, &blob[..length]).await;
        assert_eq!(reply.verdict(), VALIDATION, "{range} {length}");
        assert_eq!(reply.header("dpe-upload-offset"), None, "{range} {length}");
    }
    let target = path(&session, "blobs", &name);
    let coded = async |coding: &str| {
        let range = ("content-range", "bytes 10-19/100");
        let headers = [DPE1, range, ("content-encoding", coding)];
        let part = blob[10..20].to_vec();
        remote.send("PUT", &target, &headers, part).await
    };
    for coding in ["gzip", "x-gzip", "br", "identity, gzip", ""] {
        assert_eq!(coded(coding).await.verdict(), VALIDATION, "{coding}");
    }
    assert_eq!(coded("Identity").await.status, 202);
}

#[tokio::test]
async fn content_that_is_not_what_its_name_says_is_dropped_as_a_whole() {
    let remote = hooked(roomy());
    let session = open(&remote, "x:d").await;
    for length in [1000, 100_000] {
        let mut blob = bytes(length);
        let name = blob_ref(&blob);
        blob[3] ^= 1;
        let reply = in_chunks(&remote, &session, "blobs", &name, &blob, length / 2).await;
        assert_eq!(reply.verdict(), MISMATCH);
        assert_eq!(offset(&remote, &session, "blobs", &name).await, 0);
        // From nothing it goes well, with another length, too.
        blob[3] ^= 1;
        let reply = in_chunks(&remote, &session, "blobs", &name, &blob, length / 2 + 1).await;
        assert_eq!(reply.status, 201, "{}", reply.text);
    }
    let invalid = br#"{"elements":["dpe1:zz"]}"#;
    let foreign = br#"{"elements":["dpe9:zz"]}"#;
    let other = json_bytes(&content::p1());
    for (body, verdict) in [
        (&b"{\"elements\":[]"[..], VALIDATION),
        (b"\xff\xff\xff\xff\xff\xff", VALIDATION),
        (invalid, VALIDATION),
        (foreign, (400, "DPE_CONTRACT_UNSUPPORTED")),
        (&other, MISMATCH),
    ] {
        let reply = in_chunks(&remote, &session, "pages", P0, body, 5).await;
        assert_eq!(reply.verdict(), verdict);
        assert_eq!(reply.header("dpe-upload-offset"), None);
        assert_eq!(offset(&remote, &session, "pages", P0).await, 0);
    }
    let page = json_bytes(&content::p0());
    let reply = in_chunks(&remote, &session, "pages", P0, &page, 100).await;
    assert_eq!(reply.status, 201, "{}", reply.text);
}

#[tokio::test]
async fn sizes_beyond_a_limit_are_refused_and_nothing_of_them_is_stored() {
    // 4000 a request, 3000 a page, 3500 a blob, 1000 a chunk.
    let remote = hooked(limits());
    let session = open(&remote, "x:d").await;
    let blob = bytes(3500);
    let name = blob_ref(&blob);
    let too_large = (413, "DPE_PAYLOAD_TOO_LARGE");
    for (kind, name, range, length) in [
        ("blobs", name.as_str(), "0-1000/3500", 1001),
        ("blobs", &name, "0-999/3501", 1000),
        ("pages", P0, "0-999/3001", 1000),
        ("pages", P0, "0-1000/3000", 1001),
        ("blobs", &name, "0-4000/9000", 4001),
        // The size is judged before the place.
        ("blobs", &name, "7-1007/3500", 1001),
    ] {
        let body = bytes(length);
        let reply = chunk(&remote, &session, kind, name, range, &body).await;
        assert_eq!(reply.verdict(), too_large, "{range}");
        assert_eq!(offset(&remote, &session, kind, name).await, 0);
    }
    let reply = in_chunks(&remote, &session, "blobs", &name, &blob, 1000).await;
    assert_eq!(reply.status, 201, "{}", reply.text);
}

#[tokio::test]
async fn list_below_a_page_in_chunks_is_cut_to_what_a_body_may_hold() {
    let hashes: Vec<_> = (0..30).map(|n| content::text(&n.to_string()).1).collect();
    let hashes: Vec<_> = hashes.iter().map(String::as_str).collect();
    let (page, name) = content::page(&hashes);
    let body = json_bytes(&page);
    let whole = json!({"missing_content_hashes": hashes, "missing_truncated": false});
    let whole = whole.to_string().len() as u64;
    for (max, entries) in [
        (whole, 30),
        (whole - 1, 29),
        (whole - 73, 29),
        (whole - 74, 28),
        (800, 10),
        (130, 1),
    ] {
        let mut limits = roomy();
        limits.max_payload_bytes = max;
        let remote = hooked(limits);
        let session = open(&remote, "x:d").await;
        let reply = in_chunks(&remote, &session, "pages", &name, &body, 100).await;
        let cut = json!({"missing_content_hashes": hashes[..entries],
                         "missing_truncated": entries < 30});
        assert_eq!((reply.status, reply.json()), (201, cut.clone()), "{max}");
        let reply = chunk(&remote, &session, "pages", &name, "", b"").await;
        assert_eq!((reply.status, reply.json()), (200, cut), "{max}");
    }
}

#[tokio::test]
async fn concurrent_chunks_of_one_object_count_once() {
    let remote = hooked(roomy());
    let session = open(&remote, "x:d").await;
    let blob = bytes(200_000);
    let name = blob_ref(&blob);
    let first = || {
        chunk(
            &remote,
            &session,
            "blobs",
            &name,
            "0-99999/200000",
            &blob[..100_000],
        )
    };
    let replies = tokio::join!(first(), first(), first());
    let mut statuses = [replies.0.status, replies.1.status, replies.2.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [202, 400, 400]);
    let last = || {
        chunk(
            &remote,
            &session,
            "blobs",
            &name,
            "100000-199999/200000",
            &blob[100_000..],
        )
    };
    let replies = tokio::join!(last(), last(), last());
    let mut statuses = [replies.0.status, replies.1.status, replies.2.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 200, 201]);
}

#[tokio::test]
async fn upload_goes_on_to_its_end_when_its_sender_goes_away() {
    let remote = hooked(roomy());
    let session = open(&remote, "x:d").await;
    let blob = bytes(400_000);
    let name = blob_ref(&blob);
    let mut at = 0;
    for _ in 0..200 {
        let end = (at + 50_000).min(blob.len());
        let range = format!("{at}-{}/{}", end - 1, blob.len());
        // The request is dropped while it is carried out.
        let sent = chunk(&remote, &session, "blobs", &name, &range, &blob[at..end]);
        let _ = tokio::time::timeout(std::time::Duration::from_micros(300), sent).await;
        at = usize::try_from(offset(&remote, &session, "blobs", &name).await).unwrap();
        if at == blob.len() {
            break;
        }
    }
    // Slow machines may never get through so quickly; what was counted is right all the same.
    if at < blob.len() {
        let range = format!("{at}-{}/{}", blob.len() - 1, blob.len());
        let reply = chunk(&remote, &session, "blobs", &name, &range, &blob[at..]).await;
        assert!(reply.status < 300 || reply.header("dpe-upload-offset").is_some());
    }
    let reply = stage(&remote, &session, "blobs", &name, &blob).await;
    assert!(matches!(reply.status, 200 | 201), "{}", reply.text);
}
