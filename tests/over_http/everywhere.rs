//! Every fault at every request of a push that takes every way there is.

use std::time::Duration;

use futures_util::StreamExt;
use http::Method;

use super::proxy::{Fault, Foreign, Seen};
use super::wire::Wire;

/// So small that pages, pictures and commits do not fit.
const TIGHT: [&str; 4] = ["--max-payload-bytes", "4000", "--blob-chunk-bytes", "1500"];
const PUSH: [&str; 4] = ["push", "docs", "--prefix", "fault://docs/"];

/// A folder whose push needs inline commits, negotiations, whole and chunked pages, elements, whole
/// and chunked pictures, moves and deletes.
async fn prepare(wire: &Wire) {
    let docs = wire.path("docs");
    std::fs::create_dir(&docs).unwrap();
    let write = |name: &str, bytes: &[u8]| std::fs::write(docs.join(name), bytes).unwrap();
    write("moved.md", b"# Moved\n\nAs it is.\n");
    write("gone.md", b"# Gone\n");
    write("long.md", long(0).as_bytes());
    let pushed = wire.run(&PUSH).await;
    assert_eq!(pushed.code, Some(0), "{pushed:?}");
    wire.proxy.seen();
    std::fs::rename(docs.join("moved.md"), docs.join("there.md")).unwrap();
    std::fs::remove_file(docs.join("gone.md")).unwrap();
    write("long.md", long(1).as_bytes());
    write("new.md", long(2).as_bytes());
    write("small.md", b"# Small\n");
    write("small.png", &png(3000));
    write("large.png", &png(6000));
}

/// One page with more elements than a request can name, the middle one of which is long.
fn long(edition: u32) -> String {
    let paragraphs: String = (0..60)
        .map(|n| format!("Paragraph {n} of a long text.\n\n"))
        .collect();
    let paragraph = format!("edition {edition} ").repeat(200);
    format!("# Long {edition}\n\n{paragraphs}{paragraph}\n\n{paragraphs}")
}

fn png(length: usize) -> Vec<u8> {
    let mut bytes =
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\0\0\0\0\x3a\x7e\x9b\x55".to_vec();
    bytes.extend((0..length as u64 - bytes.len() as u64).map(|n| (n * n % 251 + n / 251) as u8));
    bytes
}

/// Which operation a request is, in the words of the binding.
fn operation(seen: &Seen) -> &'static str {
    let is_chunk = seen.headers.contains_key("content-range");
    let has = |part| seen.target.contains(part);
    match seen.method {
        Method::GET if has("/capabilities") => "capabilities",
        Method::POST if has("/heads") => "batch_head",
        Method::POST if has("/negotiate") => "negotiate",
        Method::POST if has("/move") => "move",
        Method::GET => "list",
        Method::DELETE => "delete",
        Method::HEAD if has("/staging/") => "resume query",
        Method::PUT if has("/pages/") && is_chunk => "chunk of a page",
        Method::PUT if has("/pages/") => "page",
        Method::PUT if has("/objects/") => "element",
        Method::PUT if has("/blobs/") && is_chunk => "chunk of a blob",
        Method::PUT if has("/blobs/") => "blob",
        Method::PUT => "commit",
        _ => panic!("an unknown operation: {seen:?}"),
    }
}

/// A name, and what makes the fault.
type Named = (&'static str, fn() -> Fault);

fn faults() -> [Named; 10] {
    [
        ("reset before", || Fault::ResetBefore),
        ("request cut", || Fault::CutRequest),
        ("reply swallowed", || Fault::SwallowReply),
        ("reply cut", || Fault::CutReply),
        ("502 instead", || Fault::Answer(Foreign::html(502))),
        ("504 afterwards", || Fault::AnswerAfter(Foreign::html(504))),
        ("busy", || {
            Fault::Answer(Foreign::busy(429, "DPE_RATE_LIMITED", "0".into()))
        }),
        ("away", || {
            let past = "Fri, 09 Oct 2020 08:00:30 GMT";
            Fault::Answer(Foreign::busy(503, "DPE_UNAVAILABLE", past.into()))
        }),
        ("413 of somebody else", || Fault::Answer(Foreign::html(413))),
        ("slow", || Fault::Delay(Duration::from_millis(50))),
    ]
}

/// Whether the round goes on after this fault at this operation, by the binding: an error page of
/// somebody else is never guessed at (§14.1), and a negotiate is not sent twice (§15.2).
fn is_survived(operation: &str, fault: &str) -> bool {
    let is_lost = !matches!(fault, "busy" | "away" | "slow");
    fault != "413 of somebody else" && !(operation == "negotiate" && is_lost)
}

#[tokio::test(flavor = "multi_thread")]
async fn fault_at_any_operation_of_a_push_is_survived_or_told_and_the_next_push_completes() {
    let undisturbed = Wire::new(&TIGHT).await;
    prepare(&undisturbed).await;
    let pushed = undisturbed.run(&PUSH).await;
    assert_eq!(pushed.code, Some(0), "{pushed:?}");
    let mut operations: Vec<_> = undisturbed.proxy.seen().iter().map(operation).collect();
    operations.sort_unstable();
    operations.dedup();
    let expected = [
        "batch_head",
        "blob",
        "capabilities",
        "chunk of a blob",
        "chunk of a page",
        "commit",
        "delete",
        "element",
        "move",
        "negotiate",
    ];
    assert_eq!(operations, expected);
    let goal = undisturbed.direct(&["ls"]).await.stdout;
    let cases = expected
        .into_iter()
        .flat_map(|target| faults().map(|fault| (target, fault)))
        // Their answers have no body that could break off.
        .filter(|(target, (what, _))| {
            *what != "reply cut" || !matches!(*target, "delete" | "chunk of a blob")
        });
    futures_util::stream::iter(cases)
        .for_each_concurrent(4, |(target, fault)| assert_survived(target, fault, &goal))
        .await;
}

async fn assert_survived(target: &'static str, (what, fault): Named, goal: &str) {
    let wire = Wire::new(&TIGHT).await;
    prepare(&wire).await;
    wire.proxy
        .once(move |seen| operation(seen) == target, fault());
    let run = wire.run(&PUSH).await;
    let survived = is_survived(target, what);
    assert_eq!(
        run.code,
        Some(if survived { 0 } else { 2 }),
        "{target}, {what}: {run:?}"
    );
    if !survived {
        let again = wire.run(&PUSH).await;
        assert_eq!(again.code, Some(0), "{target}, {what}: {again:?}");
    }
    assert_eq!(wire.direct(&["ls"]).await.stdout, goal, "{target}, {what}");
}
