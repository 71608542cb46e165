//! Enumerations, and what they have to have in common.

use std::fmt::Display;

use dpe_connector::read_blob::ReadBlobParams;
use dpe_connector::{ErrorCode, ScanParams};

use crate::model::FileUri;
use crate::sync::failure::{Failure, FailureSource};

use super::bench::{Bench, Found, Why};
use super::ends;
use super::enumeration::{Enumeration, about, enumerate};
use super::session::{Opened, ROOMY, Session};
use super::{Rule, Subject, rule};

/// What no plugin gives out: as a handle, a continuation, or a cursor.
const NOBODYS: &str = "dpe-connector-check";

/// A `max_message_bytes` that is small, but not too small for anybody.
const NARROW: u64 = 256 << 10;

/// What needs a process that was initialised.
const AFTER_INITIALIZE: [Rule; 15] = [
    rule::UNKNOWN_METHOD,
    rule::ROUND,
    rule::ITEMS,
    rule::PREFIX,
    rule::BLOBS,
    rule::UNKNOWN_HANDLE,
    rule::UNKNOWN_NEXT,
    rule::CANCEL,
    rule::SHUTDOWN,
    rule::OVERSIZED,
    rule::MESSAGE_LIMIT,
    rule::DETERMINISM,
    rule::CURSOR,
    rule::CURSOR_FALLBACK,
    rule::END_OF_INPUT,
];

/// Tries out everything from `initialize` on.
pub(super) async fn check(bench: &mut Bench<'_>) {
    let subject = bench.subject;
    let mut opened = match Session::open(subject, ROOMY).await {
        Ok(opened) => opened,
        Err(why) => {
            bench.take(rule::INITIALIZE, Err(why));
            return bench.skip(&AFTER_INITIALIZE, "initialize failed");
        }
    };
    let identity = format!("{} {}", opened.identity.name, opened.identity.version);
    bench.take(rule::INITIALIZE, Ok(identity));
    let session = &mut opened.session;
    bench.take(rule::UNKNOWN_METHOD, session.unheard_of().await);
    let first = full_round(bench, &mut opened).await;
    let session = &mut opened.session;
    bench.take(rule::UNKNOWN_HANDLE, unknown_handle(session).await);
    let of_a_source = |found: Found<String>| match first {
        Some(_) => found.map_err(Why::with_a_source),
        None => found,
    };
    let refused = unknown_next(session).await;
    bench.take(rule::UNKNOWN_NEXT, of_a_source(refused));
    let cancelled = ends::cancel(session).await;
    bench.take(rule::CANCEL, of_a_source(cancelled));
    bench.take(rule::SHUTDOWN, ends::shutdown(session).await);
    bench.take(rule::OVERSIZED, oversized(subject).await);
    match first {
        Some(first) => further_rounds(bench, &first, opened.identity.supports_cursor).await,
        None => {
            let rules = [
                rule::MESSAGE_LIMIT,
                rule::DETERMINISM,
                rule::CURSOR,
                rule::CURSOR_FALLBACK,
            ];
            bench.skip(&rules, "there is no whole round to compare with");
        }
    }
    bench.take(rule::END_OF_INPUT, ends::end_of_input(subject).await);
}

async fn full_round(bench: &mut Bench<'_>, opened: &mut Opened<'_>) -> Option<Enumeration> {
    let round = match enumerate(opened, None).await {
        Ok(round) => round,
        Err(why) => {
            bench.take(rule::ROUND, Err(why));
            bench.skip(
                &[rule::ITEMS, rule::PREFIX, rule::BLOBS],
                "the round did not end",
            );
            return None;
        }
    };
    let items = count(round.items, "item", "items");
    let batches = count(round.batches, "batch", "batches");
    let detail = format!("{items} in {batches}");
    bench.take(rule::ROUND, Ok(detail));
    let is_own = |failure: &&Failure| failure.source == FailureSource::Plugin;
    let errors = round.failures.iter().filter(is_own).count();
    let errors = count(errors, "error", "errors");
    let documents = count(round.documents.len(), "document", "documents");
    let detail = format!("{documents}, {errors}");
    bench.take(
        rule::ITEMS,
        unless_failed(&round, FailureSource::Validation, detail),
    );
    let detail = bench.subject.uri_prefix.clone();
    bench.take(
        rule::PREFIX,
        unless_failed(&round, FailureSource::Prefix, detail),
    );
    let blobs = blobs(&round, opened).await;
    bench.take(rule::BLOBS, blobs);
    Some(round)
}

/// Returns a number and what it counts.
fn count<N: Display + PartialEq + From<u8>>(number: N, one: &str, more: &str) -> String {
    let noun = if number == N::from(1) { one } else { more };
    format!("{number} {noun}")
}

fn unless_failed(round: &Enumeration, source: FailureSource, detail: String) -> Found<String> {
    match round.failure(source) {
        None => Ok(detail),
        Some(failure) => Err(Why::Broken(format!(
            "{}: {}: {}",
            about(&failure.subject),
            failure.code,
            failure.message
        ))),
    }
}

async fn blobs(round: &Enumeration, opened: &mut Opened<'_>) -> Found<String> {
    let handles = round.blobs.count();
    if handles == 0 {
        return Err(Why::unknown("no item has a handle"));
    }
    let detail = count(handles, "handle", "handles");
    let detail = unless_failed(round, FailureSource::Blob, detail)?;
    round.blobs.read_again(&mut opened.session).await?;
    Ok(detail)
}

async fn unknown_handle(session: &mut Session<'_>) -> Found<String> {
    let params = ReadBlobParams {
        handle: NOBODYS.to_owned(),
        offset: 0,
        max_bytes: 1,
    };
    session
        .refusal_of("read_blob", params, ErrorCode::UnknownHandle)
        .await
}

async fn unknown_next(session: &mut Session<'_>) -> Found<String> {
    let params = ScanParams {
        next: Some(NOBODYS.to_owned()),
        ..ScanParams::default()
    };
    session
        .refusal_of("scan", params, ErrorCode::InvalidParams)
        .await
}

async fn oversized(subject: &Subject) -> Found<String> {
    let mut opened = Session::open(subject, NARROW).await?;
    ends::oversized(&mut opened.session).await
}

async fn another_round(
    subject: &Subject,
    limit: u64,
    cursor: Option<String>,
) -> Found<Enumeration> {
    let mut opened = Session::open(subject, limit).await?;
    let round = enumerate(&mut opened, cursor).await;
    round.map_err(Why::with_a_source)
}

async fn further_rounds(bench: &mut Bench<'_>, first: &Enumeration, supports_cursor: bool) {
    let narrow = another_round(bench.subject, NARROW, None).await;
    let detail = |_| format!("a round within {NARROW} bytes a message");
    bench.take(rule::MESSAGE_LIMIT, narrow.map(detail));
    let second = another_round(bench.subject, ROOMY, None).await;
    let same = second.and_then(|second| same(first, &second));
    bench.take(rule::DETERMINISM, same);
    if !supports_cursor {
        let rules = [rule::CURSOR, rule::CURSOR_FALLBACK];
        return bench.skip(&rules, "the plugin has no cursors");
    }
    let cursor = match &first.cursor {
        None => Err(Why::unknown("the round ended without a cursor")),
        Some(cursor) => another_round(bench.subject, ROOMY, Some(cursor.clone()))
            .await
            .and_then(|round| from_cursor(first, &round)),
    };
    bench.take(rule::CURSOR, cursor);
    let fallback = another_round(bench.subject, ROOMY, Some(NOBODYS.to_owned())).await;
    bench.take(
        rule::CURSOR_FALLBACK,
        fallback.and_then(|round| fallen_back(first, &round)),
    );
}

fn same(first: &Enumeration, second: &Enumeration) -> Found<String> {
    let (one, other) = (&first.lines, &second.lines);
    let differing = one.iter().zip(other).find(|(one, other)| one != other);
    if let Some((one, other)) = differing {
        return Err(Why::Broken(format!("first {one}, then {other}")));
    }
    if one.len() != other.len() {
        let items = count(one.len(), "item", "items");
        let why = format!("first {items}, then {}", other.len());
        return Err(Why::Broken(why));
    }
    let items = count(one.len(), "item", "items");
    Ok(format!("{items} twice, in another process"))
}

/// Judges a round from the cursor of the first one. The source has not changed, so whatever is
/// said of it has to agree with what was said then.
fn from_cursor(first: &Enumeration, round: &Enumeration) -> Found<String> {
    if !round.incremental {
        all_there(first, round)?;
        return Ok("not used, a full round".to_owned());
    }
    if let Some(uri) = round
        .deleted
        .iter()
        .find(|uri| first.documents.contains_key(*uri))
    {
        return Err(Why::Broken(format!("{uri} is said to be gone")));
    }
    for (uri, doc_hash) in &round.documents {
        if first.documents.get(uri) != Some(doc_hash) {
            return Err(Why::Broken(format!("{uri} is not what it was")));
        }
    }
    let items = count(round.items, "item", "items");
    Ok(format!("incremental, {items}"))
}

fn fallen_back(first: &Enumeration, round: &Enumeration) -> Found<String> {
    if round.incremental {
        let why = "says that it enumerated from a cursor nobody gave out";
        return Err(Why::broken(why));
    }
    all_there(first, round)?;
    Ok("a full round, incremental false".to_owned())
}

/// Whether the documents are what they were is looked at where two full rounds are compared.
fn all_there(first: &Enumeration, round: &Enumeration) -> Found<()> {
    let missing = |uri: &&FileUri| !round.documents.contains_key(*uri);
    match first.documents.keys().filter(missing).min() {
        Some(uri) => Err(Why::Broken(format!("{uri} is missing in this full round"))),
        None => Ok(()),
    }
}
