//! One pass over all that a source says: held back by the gate, then landed (connector contract
//! §11).

use std::collections::HashSet;
use std::future::Future;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::pin::pin;

use crate::json::Value;
use crate::model::FileUri;
use crate::state::Instance;
use crate::sync::assembly::{Assembly, Step};
use crate::sync::event::{Event, Observer};
use crate::sync::failure::{Failure, Level};
use crate::sync::ports::{Remote, Source};
use crate::sync::wave::Operation;

use super::feed::{Enumerated, Feed, Portion};
use super::gate::{Gate, Weight};
use super::interruption::unless;
use super::landing::{Landing, state_failure};
use super::round::Profile;
use super::spool::Spool;

/// One pass over the batches of a source.
pub(super) struct Enumeration {
    pub gate: Gate,
    pub mentions: Mentions,
    /// What the final batch said of itself, once it has arrived.
    pub incremental: Option<bool>,
}

/// What has been said of the write set (§22).
pub(super) struct Mentions {
    /// Members of the write set that no item has mentioned so far.
    pub unproduced: HashSet<FileUri>,
    pub profile: Profile,
    /// Fingerprints of all documents that were named, if it is to be known which were not.
    pub said: Option<HashSet<u64>>,
}

/// What the source is asked for, and in which way.
pub(super) struct Asked {
    pub assembly: Assembly,
    pub cursor: Option<String>,
    pub max_items: u32,
}

impl Enumeration {
    /// Pulls portion after portion and lands them; the next one is scanned, and the bytes of its
    /// blobs are read, while the last one lands.
    pub(super) async fn run<R: Remote, S: Source>(
        &mut self,
        source: &mut S,
        spool: &mut Spool,
        asked: Asked,
        landing: &mut Landing<'_, R>,
    ) -> Result<Enumerated, Failure> {
        let given = asked.cursor.is_some();
        let Asked {
            assembly,
            cursor,
            max_items,
        } = asked;
        let mut feed = Feed::new(source, spool, assembly, max_items, cursor);
        let ended = self.pull(&mut feed, given, landing).await;
        // A batch that was scanned ahead counts only if it is what ended the round.
        if matches!(&ended, Err(failure) if failure.level == Level::Protocol) {
            self.incremental = self.incremental.or(feed.refused());
        }
        ended
    }

    async fn pull<R: Remote, S: Source>(
        &mut self,
        feed: &mut Feed<'_, S>,
        given: bool,
        landing: &mut Landing<'_, R>,
    ) -> Result<Enumerated, Failure> {
        let Self {
            gate,
            mentions,
            incremental,
        } = self;
        let (cancel, observer) = (landing.cancel, landing.observer);
        let mut portion = unless(cancel, scanned(feed, mentions, observer)).await?;
        loop {
            let steps = passed(gate, &mut portion, landing.state)?;
            if let Some(enumerated) = portion.end {
                if enumerated.incremental && !given {
                    return Err(Failure::protocol("`incremental` without a cursor"));
                }
                *incremental = Some(enumerated.incremental);
                landing.land(steps).await?;
                return Ok(enumerated);
            }
            let next = unless(cancel, scanned(feed, mentions, observer));
            portion = side_by_side(landing.land(steps), next).await?;
        }
    }
}

/// Returns the next portion, and tells that it is there.
async fn scanned<S: Source>(
    feed: &mut Feed<'_, S>,
    mentions: &mut Mentions,
    observer: &dyn Observer,
) -> Result<Portion, Failure> {
    let portion = feed.next(|item| mentions.produced(item)).await?;
    observer.event(Event::Scanned {
        items: portion.items,
        complete: portion.end.is_some(),
    });
    Ok(portion)
}

/// Lands a portion while the next one is fetched. What goes wrong with the next one waits until
/// this one has landed; what ends the landing is not kept waiting by a slow source.
async fn side_by_side(
    landing: impl Future<Output = Result<(), Failure>>,
    next: impl Future<Output = Result<Portion, Failure>>,
) -> Result<Portion, Failure> {
    let (mut landing, mut next) = (pin!(landing), pin!(next));
    tokio::select! {
        landed = &mut landing => {
            landed?;
            next.await
        }
        fetched = &mut next => {
            landing.await?;
            fetched
        }
    }
}

/// Returns the steps of a portion, as far as the gate lets them through.
fn passed(gate: &mut Gate, portion: &mut Portion, state: &Instance) -> Result<Vec<Step>, Failure> {
    let steps = std::mem::take(&mut portion.steps);
    let deletes = real_deletes(&steps, state)?;
    let weight = Weight {
        message_bytes: portion.message_bytes,
        blob_bytes: portion.blob_bytes,
    };
    gate.pass(steps, deletes, weight, portion.end.is_some())
}

impl Mentions {
    /// Notes that an item mentions its documents, whatever else is wrong with it.
    fn produced(&mut self, item: Value<'_>) {
        if self.unproduced.is_empty() && self.said.is_none() {
            return;
        }
        let uri = |member| {
            let text = item.member(member).and_then(Value::as_str)?;
            FileUri::parse(&text).ok()
        };
        if let Some(uri) = uri("file_uri") {
            self.said.as_mut().map(|said| said.insert(print(&uri)));
            self.unproduced.remove(&uri);
        }
        match (uri("from_uri"), uri("to_uri")) {
            (Some(from), Some(to)) => self.moved(from, to),
            (from, to) => from.iter().chain(&to).for_each(|uri| {
                self.unproduced.remove(uri);
            }),
        }
    }

    /// Returns whether nothing at all was named, though something is known.
    pub(super) fn heard_nothing(&self) -> bool {
        self.said.as_ref().is_some_and(HashSet::is_empty)
    }

    /// Returns the documents of this instance that an enumeration has not named, though it should have: those that
    /// were written since the cursor, and of a full one everything.
    ///
    /// # Errors
    ///
    /// When the state cannot be read.
    pub(super) fn missing(
        &self,
        enumerated: &Enumerated,
        state: &Instance,
    ) -> Result<HashSet<FileUri>, Failure> {
        let mut missing = self.unproduced.clone();
        // A source that gives no cursor does not stand behind what it has said.
        if let Some(said) = &self.said
            && !enumerated.incremental
            && enumerated.cursor.is_some()
        {
            let unsaid = state.confirmed_but(|uri| said.contains(&print(uri)));
            missing.extend(unsaid.map_err(state_failure)?);
        }
        Ok(missing)
    }

    /// A move says where a document went, not what it holds. That is known from the cursor,
    /// unless this instance has written either side since (§22 takes the move for enough).
    fn moved(&mut self, from: FileUri, to: FileUri) {
        let written_since = self.unproduced.contains(&from) || self.unproduced.contains(&to);
        match self.profile {
            Profile::People if written_since => self.unproduced.extend([from, to]),
            _ => {
                self.unproduced.remove(&from);
                self.unproduced.remove(&to);
            }
        }
    }
}

/// Returns a number for a document. There may be millions of them; should two ever have the same, the one that
/// is gone stays.
fn print(uri: &FileUri) -> u64 {
    let mut hasher = DefaultHasher::new();
    uri.as_str().hash(&mut hasher);
    hasher.finish()
}

/// Counts the deletes that take something away: what an earlier round has deleted is said again
/// as long as the cursor is held.
fn real_deletes(steps: &[Step], state: &Instance) -> Result<u64, Failure> {
    let mut deletes = 0;
    for step in steps {
        if let Step::Operation(Operation::Delete { uri }) = step {
            let pending = state.pending(uri).map_err(state_failure)?;
            deletes += u64::from(pending.confirmed.is_some());
        }
    }
    Ok(deletes)
}
