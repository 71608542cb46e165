//! Room `host` (layer 4): connector processes, seen from the runner's side.
//!
//! Starts a plugin with exactly the environment it may have, speaks the wire protocol of the
//! connector contract with it, and makes sure that nothing of it outlives the round. What a
//! plugin says is untrusted: whatever arrives, the answer is a failure with a level, never a
//! panic. This room judges envelopes, not items; it knows no remote and no state.

mod blob;
mod bundled;
mod connection;
mod environment;
mod error;
mod event;
mod group;
mod initialize;
mod lines;
mod manifest;
mod message;
mod pattern;
mod probe;
mod process;
mod scan;
mod schema;
mod spawn;
mod stderr;

pub use bundled::{Bundled, bundled, bundled_connectors};
pub use environment::plugin_environment;
pub use error::HostError;
pub use event::{OnProcess, ProcessEvent};
pub use manifest::{config_violation, read_manifest};
pub use pattern::{Pattern, PatternError, PatternReason};
pub use probe::{Done, Probe, Reply, Trouble};
pub use process::{ConnectorProcess, Deadlines, Launch, message_limit};
pub use schema::{ConfigViolation, SchemaError, SchemaRule};
pub use spawn::Program;
pub use stderr::StderrLine;
