//! Staged delivery through a proxy at which something goes wrong.

use http::Method;
use serde_json::{Value, json};

use super::proxy::{Fault, Foreign, Seen};
use super::wire::{Run, URI, Wire, count, to};

const CHUNK: usize = 1000;
/// Limits so small that a picture of 2,500 bytes goes in chunks.
const TIGHT: [&str; 4] = ["--max-payload-bytes", "2000", "--blob-chunk-bytes", "1000"];

/// Bytes that compress badly and repeat nowhere.
fn picture(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_u32;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        (state >> 24) as u8
    };
    (0..length).map(|_| next()).collect()
}

/// Writes a document with one picture, and the picture.
fn write_illustrated(wire: &Wire, bytes: &[u8], caption: &str) {
    std::fs::write(wire.path("picture"), bytes).unwrap();
    let image =
        json!({"category": "Image", "mime_type": "image/png", "blob": dpe_hash::blob_ref(bytes)});
    let caption = json!({"category": "FigureCaption", "text": caption});
    let document = json!({"file_type": "png", "pages": [{"elements": [image, caption]}]});
    wire.write("illustrated", &document.to_string());
}

async fn commit(wire: &Wire, arguments: &[&str]) -> Run {
    let command = ["commit", URI, "illustrated", "--blob", "picture"];
    wire.run(&[command.as_slice(), arguments].concat()).await
}

/// The ranges of the chunks that came by, and where the remote was asked how far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sent {
    Chunk(usize, usize),
    Query,
}

fn sent(seen: &[Seen]) -> Vec<Sent> {
    let blobs = seen.iter().filter(|seen| seen.target.contains("/blobs/"));
    blobs
        .map(|seen| {
            if seen.method == Method::HEAD {
                return Sent::Query;
            }
            let range = seen.headers["content-range"].to_str().unwrap();
            let (range, total) = range
                .strip_prefix("bytes ")
                .unwrap()
                .split_once('/')
                .unwrap();
            let (first, last) = range.split_once('-').unwrap();
            let [first, last, total] = [first, last, total].map(|n| n.parse::<usize>().unwrap());
            assert_eq!(seen.body.len(), last - first + 1);
            assert!(last < total);
            Sent::Chunk(first, last)
        })
        .collect()
}

/// A chunk counts for `at`th of all chunks of the blob.
fn chunk(at: usize) -> impl Fn(&Seen) -> bool + Send + 'static {
    move |seen| {
        let start = format!("bytes {}-", at * CHUNK);
        let range = seen.headers.get("content-range");
        seen.target.contains("/blobs/")
            && range.is_some_and(|range| range.to_str().unwrap().starts_with(&start))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn cut_upload_resumes_at_the_offset_the_remote_names() {
    use Sent::{Chunk, Query};
    let bytes = picture(2500);
    let undisturbed = [Chunk(0, 999), Chunk(1000, 1999), Chunk(2000, 2499)];
    let arrived = [&undisturbed[..2], &[Query, Chunk(2000, 2499)]].concat();
    let did_not = [
        &undisturbed[..2],
        &[Query, Chunk(1000, 1999), Chunk(2000, 2499)],
    ]
    .concat();
    for (what, fault, expected) in [
        ("nothing", None, undisturbed.to_vec()),
        (
            "reply swallowed",
            Some(Fault::SwallowReply),
            arrived.clone(),
        ),
        (
            "502 afterwards",
            Some(Fault::AnswerAfter(Foreign::html(502))),
            arrived,
        ),
        ("reset before", Some(Fault::ResetBefore), did_not.clone()),
        (
            "504 instead",
            Some(Fault::Answer(Foreign::html(504))),
            did_not,
        ),
    ] {
        let wire = Wire::new(&TIGHT).await;
        write_illustrated(&wire, &bytes, "caption");
        if let Some(fault) = fault {
            wire.proxy.once(chunk(1), fault);
        }
        let run = commit(&wire, &[]).await;
        assert_eq!(run.code, Some(0), "{what}: {run:?}");
        assert_eq!(sent(&wire.proxy.seen()), expected, "{what}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn last_chunk_whose_reply_was_lost_is_sent_once_more_for_the_missing_list() {
    use Sent::{Chunk, Query};
    let wire = Wire::new(&TIGHT).await;
    write_illustrated(&wire, &picture(2500), "caption");
    wire.proxy.once(chunk(2), Fault::SwallowReply);
    let run = commit(&wire, &[]).await;
    assert_eq!(run.code, Some(0), "{run:?}");
    let last = Chunk(2000, 2499);
    let expected = [Chunk(0, 999), Chunk(1000, 1999), last, Query, last];
    assert_eq!(sent(&wire.proxy.seen()), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn query_that_is_lost_is_asked_again() {
    use Sent::{Chunk, Query};
    let wire = Wire::new(&TIGHT).await;
    write_illustrated(&wire, &picture(2500), "caption");
    let (mut put, mut head) = (Some(Fault::SwallowReply), Some(Fault::SwallowReply));
    wire.proxy.choose(move |seen| match seen.method {
        Method::PUT if chunk(0)(seen) => put.take(),
        Method::HEAD if seen.target.contains("/blobs/") => head.take(),
        _ => None,
    });
    let run = commit(&wire, &[]).await;
    assert_eq!(run.code, Some(0), "{run:?}");
    let expected = [
        Chunk(0, 999),
        Query,
        Query,
        Chunk(1000, 1999),
        Chunk(2000, 2499),
    ];
    assert_eq!(sent(&wire.proxy.seen()), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn negotiate_whose_reply_was_lost_is_reported_and_nothing_was_written() {
    let wire = Wire::new(&TIGHT).await;
    write_illustrated(&wire, &picture(2500), "caption");
    wire.proxy
        .once(to(Method::POST, "/negotiate"), Fault::SwallowReply);
    let run = commit(&wire, &[]).await;
    assert_eq!(run.code, Some(2), "{run:?}");
    let seen = wire.proxy.seen();
    assert_eq!(count(&seen, &Method::POST, "/negotiate"), 1);
    assert_eq!(count(&seen, &Method::PUT, "/documents?"), 0);
    wire.assert_absent(URI).await;
    assert_eq!(commit(&wire, &[]).await.code, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn blob_that_the_document_has_is_not_sent_again() {
    let wire = Wire::new(&TIGHT).await;
    write_illustrated(&wire, &picture(2500), "caption");
    assert_eq!(commit(&wire, &[]).await.code, Some(0));
    wire.proxy.seen();
    write_illustrated(&wire, &picture(2500), "another caption");
    let run = commit(&wire, &[]).await;
    assert_eq!(run.succeeded()["status"], "updated");
    assert_eq!(sent(&wire.proxy.seen()), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_condition_after_the_upload_leaves_the_session_usable_for_the_next_try() {
    let wire = Wire::new(&TIGHT).await;
    std::fs::create_dir(wire.path("docs")).unwrap();
    std::fs::write(wire.path("docs/a.png"), png(2500)).unwrap();
    let push = ["push", "docs", "--prefix", "fault://p/"];
    let meanwhile = wire.somebody_else_commits("fault://p/a.png", "theirs");
    // The document that is pushed is the one that somebody else creates meanwhile.
    let committed = |seen: &Seen| seen.is(&Method::PUT, "/documents?");
    wire.proxy.once(committed, Fault::Meanwhile(meanwhile));
    let run = wire.run(&push).await;
    let seen = wire.proxy.seen();
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!(count(&seen, &Method::PUT, "/documents?"), 2, "{seen:?}");
    assert_eq!(count(&seen, &Method::POST, "/negotiate"), 1, "{seen:?}");
    let chunks = sent(&seen);
    assert_eq!(chunks.len(), 3, "{chunks:?}");
}

/// A picture that is recognised as one.
fn png(length: usize) -> Vec<u8> {
    let mut bytes =
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\0\0\0\0\x3a\x7e\x9b\x55".to_vec();
    bytes.extend(picture(length - bytes.len()));
    bytes
}

#[tokio::test(flavor = "multi_thread")]
async fn session_that_expired_is_opened_anew_once() {
    let wire = Wire::new(&[&TIGHT[..], &["--hooks", "/hooks"]].concat()).await;
    for (expiries, code) in [(1, 0), (2, 2)] {
        write_illustrated(&wire, &picture(2500), &format!("{expiries} times"));
        let hook = format!("{}/hooks/expire-session", wire.served.url);
        let mut left = expiries;
        wire.proxy.choose(move |seen| {
            if left == 0 || seen.method != Method::PUT || !seen.target.contains("/blobs/") {
                return None;
            }
            left -= 1;
            let session = seen
                .target
                .split('/')
                .skip_while(|part| *part != "staging")
                .nth(1)?;
            Some(Fault::Meanwhile(expire(hook.clone(), session.to_owned())))
        });
        let uri = format!("fault://{expiries}");
        let run = wire
            .run(&["commit", &uri, "illustrated", "--blob", "picture"])
            .await;
        assert_eq!(run.code, Some(code), "{run:?}");
        let negotiated = count(&wire.proxy.seen(), &Method::POST, "/negotiate");
        assert_eq!(negotiated, 2);
    }
}

/// Ends a session behind the back of its client.
fn expire(hook: String, session: String) -> super::proxy::Meanwhile {
    Box::new(move || {
        Box::pin(async move {
            let body = json!({"session_id": session}).to_string();
            let reply: Value = super::proxy::post(&hook, body).await;
            assert_eq!(reply["expired"], true);
        })
    })
}
