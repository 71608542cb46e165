//! Which way a document takes, chosen from its precondition and local sizes only (http-binding
//! §21), and what the alternatives on that way cost.

use crate::protocol::delivery::{Job, Precondition, Terms, size};

/// Bytes that a request costs besides its body: its header fields and the reply.
const REQUEST: u64 = 600;
/// What a round trip is worth in bytes: 20 ms at 1.6 Mbit/s.
const ROUND_TRIP: u64 = 4 << 10;

/// The way of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Path {
    /// One commit with everything inline.
    Fast,
    /// Everything is known to be missing: a session for what cannot be inline, then the commit.
    Straight,
    /// The remote has another version: ask which pages it lacks, then which elements of those.
    Difference,
}

/// Chooses the way of a document.
pub(super) fn choose(job: &Job<'_>, terms: &Terms) -> Path {
    let body = size::commit_envelope(job, None) + size::everything(job.tree);
    let limit = terms.limits.max_payload_bytes;
    match job.precondition {
        Precondition::IfAbsent => {
            // A blob whose bytes are not at hand cannot be sent before the remote misses it.
            let needs_session = has_blobs_at_hand(job);
            if body <= limit && !needs_session {
                Path::Fast
            } else {
                Path::Straight
            }
        }
        Precondition::Base(_) | Precondition::Force => {
            if body <= limit.min(terms.fast_update_bytes) {
                Path::Fast
            } else {
                Path::Difference
            }
        }
    }
}

/// Returns true if the document has blobs and all of their bytes are at hand.
fn has_blobs_at_hand(job: &Job<'_>) -> bool {
    let blobs = &job.tree.blobs;
    !blobs.is_empty() && blobs.iter().all(|blob| job.blobs.contains_key(blob))
}

/// Returns true if it costs less to send the document object once more with `pages` missing pages
/// than to upload each of them, which both tell what is missing below.
pub(super) fn attaches(document: u64, pages: usize, in_flight: usize) -> bool {
    document + REQUEST + ROUND_TRIP < one_by_one(pages, in_flight)
}

/// Returns true if it costs less to upload `elements` elements, whose replies name the blobs that
/// are missing, than to send the commit again after it named them.
pub(super) fn asks_for_blobs(commit: u64, elements: usize, in_flight: usize) -> bool {
    one_by_one(elements, in_flight) < commit + REQUEST + ROUND_TRIP
}

fn one_by_one(objects: usize, in_flight: usize) -> u64 {
    let turns = objects.div_ceil(in_flight.max(1));
    objects as u64 * REQUEST + turns as u64 * ROUND_TRIP
}
