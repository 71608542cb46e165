//! What lies below the prefix of a source and is none of it: told when a source is new to this machine, since
//! its state may have been lost, and what vanished from the source meanwhile is mentioned by nobody.

use crate::model::FileUri;
use crate::ops::list;
use crate::ops::remote::RemoteClient;
use crate::runner::Doubt;
use crate::state;
use crate::sync::event::{Event, Observer};
use crate::sync::report::Report;

/// So many are named.
const NAMED: usize = 3;

/// Names what is on the remote below the prefix of a round, and not among what was pushed or failed. A remote that
/// does not tell is left alone: nothing depends on this.
pub(super) async fn tell(
    client: &RemoteClient,
    state: &state::Instance,
    report: &Report,
    observer: &dyn Observer,
) {
    let doubt = Doubt::of(&report.failures);
    let (mut count, mut named) = (0_u64, Vec::new());
    let prefix = report.uri_prefix.as_deref().unwrap_or_default();
    let listed = list::list(client, prefix, |uri, _| {
        let Ok(uri) = FileUri::parse(uri) else {
            return true;
        };
        let is_ours = state
            .pending(&uri)
            .is_ok_and(|pending| pending.confirmed.is_some());
        if !is_ours && !doubt.covers(&uri) {
            count += 1;
            if named.len() < NAMED {
                named.push(uri.to_string());
            }
        }
        true
    });
    if listed.await.is_err() || count == 0 {
        return;
    }
    let documents = if count == 1 { "document" } else { "documents" };
    let more = if count > NAMED as u64 { ", …" } else { "" };
    observer.event(Event::Warning(&format!(
        "{count} {documents} below {prefix} on the remote are not in this source: {}{more}; they stay there \
         until `dpe push --prune` removes them",
        named.join(", ")
    )));
}
