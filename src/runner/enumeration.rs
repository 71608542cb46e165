//! One pass over the batches of a source (connector contract §11).

use std::collections::HashSet;

use crate::json::Value;
use crate::model::FileUri;
use crate::state::Instance;
use crate::sync::assembly::{Assembly, Step};
use crate::sync::failure::{Failure, FailureSource, Level};
use crate::sync::ports::{Batch, BatchEnd, Remote, ScanRequest, Source};
use crate::sync::wave::Operation;

use super::gate::Gate;
use super::landing::{Landing, state_failure};
use super::round::Profile;

/// What one enumeration ended with.
pub(super) struct Enumerated {
    pub cursor: Option<String>,
    pub incremental: bool,
}

/// One pass over the batches of a source.
pub(super) struct Enumeration {
    pub assembly: Assembly,
    pub gate: Gate,
    /// Members of the write set that no item has mentioned so far (§22).
    pub unproduced: HashSet<FileUri>,
    pub profile: Profile,
}

impl Enumeration {
    /// Pulls batch after batch and lands them; the next one is scanned while the last one lands.
    pub(super) async fn run<R: Remote, S: Source>(
        &mut self,
        source: &mut S,
        cursor: Option<String>,
        max_items: u32,
        landing: &mut Landing<'_, R>,
    ) -> Result<Enumerated, Failure> {
        let given = cursor.is_some();
        let first = ScanRequest {
            cursor,
            next: None,
            max_items,
        };
        let mut batch = source.scan(first).await?;
        loop {
            let last = matches!(batch.end, BatchEnd::Final { .. });
            let steps = self.steps(&batch, last, landing.state)?;
            let end = match batch.end {
                BatchEnd::Next(next) => next,
                BatchEnd::Final {
                    cursor,
                    incremental,
                } => {
                    landing.land(steps).await?;
                    if incremental && !given {
                        return Err(protocol_error("`incremental` without a cursor"));
                    }
                    return Ok(Enumerated {
                        cursor,
                        incremental,
                    });
                }
            };
            let following = ScanRequest {
                cursor: None,
                next: Some(end),
                max_items,
            };
            let (landed, scanned) = tokio::join!(landing.land(steps), source.scan(following));
            landed?;
            batch = scanned?;
        }
    }

    /// Turns a batch into steps, as far as the gate lets them through.
    fn steps(&mut self, batch: &Batch, last: bool, state: &Instance) -> Result<Vec<Step>, Failure> {
        let mut steps = Vec::new();
        for item in batch.items.root().items().into_iter().flatten() {
            self.produced(item);
            self.assembly.push(item, &mut steps);
        }
        if last {
            steps.extend(self.assembly.finish().map(Step::Failed));
        }
        let deletes = real_deletes(&steps, state)?;
        let bytes = batch.items.source().len();
        self.gate.pass(steps, deletes, bytes, last)
    }

    /// Notes that an item mentions its documents, whatever else is wrong with it.
    fn produced(&mut self, item: Value<'_>) {
        if self.unproduced.is_empty() {
            return;
        }
        let uri = |member| {
            let text = item.member(member).and_then(Value::as_str)?;
            FileUri::parse(&text).ok()
        };
        if let Some(uri) = uri("file_uri") {
            self.unproduced.remove(&uri);
        }
        if let (Some(from), Some(to)) = (uri("from_uri"), uri("to_uri")) {
            self.moved(from, to);
        }
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

/// Returns the failure of a plugin that broke the wire protocol.
pub(super) fn protocol_error(message: &str) -> Failure {
    Failure::new(
        Level::Protocol,
        FailureSource::Runner,
        "protocol_error",
        message,
    )
}
