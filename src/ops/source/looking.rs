//! A source that somebody only looks at: it names what it passes over, and that is no failure.
//!
//! What is unsupported is skipped with a count, and an incremental round does not come to it at all. The
//! bundled connectors name it for whoever asks (`say_skipped`), in the one item that may speak of a file without a
//! document: an error. Here these are taken out again, so that the round is the one of a push.

use std::path::PathBuf;

use dpe_connector_files::SKIPPED;
use serde_json::value::RawValue;

use crate::json::{Text, Value};
use crate::sync::failure::Failure;
use crate::sync::ports::{
    self, Batch, BlobChunk, BlobFailure, PluginIdentity, ScanFailure, ScanRequest,
};

use super::Source;

/// A file that becomes no document, which is as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassedOver {
    /// The URI that its document would have.
    pub uri: String,
    /// Why there is none.
    pub why: String,
}

/// Returns the configuration with which the connector names what it passes over; other connectors than the
/// bundled ones of files know nothing of it.
pub(super) fn config_of(source: &Source, left_out: &[PathBuf]) -> Box<RawValue> {
    let config = source.root.config(left_out);
    let name = &*source.connector.manifest.name;
    let names_files = [dpe_connector_fs::NAME, dpe_connector_git::NAME].contains(&name);
    match config.get().strip_prefix('{') {
        Some(members) if names_files => {
            let text = format!("{{\"say_skipped\":true,{members}");
            // Without members of its own it has no comma too many: both have one that is mandatory.
            RawValue::from_string(text).unwrap_or(config)
        }
        _ => config,
    }
}

/// A source whose items about what is passed over are kept apart.
pub(super) struct Looking<'s, S> {
    source: &'s mut S,
    pub(super) passed_over: Vec<PassedOver>,
}

impl<'s, S> Looking<'s, S> {
    pub(super) fn at(source: &'s mut S) -> Self {
        let passed_over = Vec::new();
        Self {
            source,
            passed_over,
        }
    }

    /// Takes out of a batch what is about no document.
    fn sift(&mut self, batch: Batch) -> Batch {
        let found: Vec<PassedOver> = items(&batch.items).filter_map(passed_over).collect();
        if found.is_empty() {
            return batch;
        }
        self.passed_over.extend(found);
        let kept = items(&batch.items).filter(|item| passed_over(*item).is_none());
        let kept: Vec<&str> = kept.map(|item| item.raw()).collect();
        let text = format!("[{}]", kept.join(","));
        match Text::parse_owned(text.into_bytes()) {
            Ok(items) => Batch { items, ..batch },
            Err(_) => batch,
        }
    }
}

fn items<'t>(text: &'t Text<'_>) -> impl Iterator<Item = Value<'t>> {
    text.root().items().into_iter().flatten()
}

fn passed_over(item: Value<'_>) -> Option<PassedOver> {
    let member = |name| item.member(name).and_then(Value::as_str);
    if member("kind")? != "error" {
        return None;
    }
    let message = member("message")?;
    let why = message.strip_prefix(SKIPPED)?;
    Some(PassedOver {
        uri: member("file_uri")?.into_owned(),
        why: why.to_owned(),
    })
}

impl<S: ports::Source> ports::Source for Looking<'_, S> {
    fn identity(&self) -> &PluginIdentity {
        self.source.identity()
    }

    async fn scan(&mut self, request: ScanRequest) -> Result<Batch, ScanFailure> {
        let batch = self.source.scan(request).await?;
        Ok(self.sift(batch))
    }

    async fn read_blob(
        &mut self,
        handle: &str,
        offset: u64,
        max_bytes: u64,
    ) -> Result<BlobChunk, BlobFailure> {
        self.source.read_blob(handle, offset, max_bytes).await
    }

    /// The source itself is closed by whoever opened it.
    async fn close(self) -> Result<(), Failure> {
        Ok(())
    }
}
