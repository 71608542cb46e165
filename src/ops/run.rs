//! One call of the standalone runner (connector contract §24): an instance as somebody defined it,
//! at most one round, one report.
//!
//! The order of the steps is the contract's, because it decides which of several failures is the
//! one that is told, and what a call that fails leaves behind. What is written where, and the codes
//! a process ends with, are the caller's.

mod call;
mod command;
mod defect;
mod definition_text;
mod delete;
mod distinct;
mod failure;
mod identity;
mod preparation;
mod ready;
mod redaction;

use std::path::PathBuf;
use std::sync::Arc;

use crate::config::{Network, PlaceError};
use crate::sync::event::Observer;
use crate::sync::report::Report;

pub use crate::runner::Cancel;
pub use defect::record_panics;
pub use delete::delete;
pub use redaction::Redaction;

/// What to run, and with what.
#[derive(Debug)]
pub struct Run {
    /// File of the definition.
    pub definition: PathBuf,
    /// The state directory; none if nobody named one and the user has no home.
    pub state_dir: Result<PathBuf, PlaceError>,
    /// How the network is used; the credential comes from the definition.
    pub network: Network,
    /// Hides the secrets of the instance, once they are known, in everything that is told.
    pub redaction: Redaction,
}

/// Runs one round of the instance and returns its report, whatever happened; nothing if the call
/// was cancelled before the report was complete. What has happened then is recovered by the next
/// call.
pub async fn run(run: &Run, observer: &Arc<dyn Observer>, cancel: &Cancel) -> Option<Report> {
    call::Call::begin(run, observer, cancel).run().await
}
