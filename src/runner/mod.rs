//! One round, from the first scan to the report.
//!
//! The runner is the only room that holds both a plan and the means to carry it out: it asks the
//! source, lets `sync` decide, writes the intent to `state`, sends, and settles. It knows no
//! command line, no terminal, and nothing of how a remote or a source is reached.

mod client;
mod client_error;
mod client_sessions;
mod closing;
mod doubt;
mod drive;
mod dry_run;
mod enumeration;
mod feed;
mod gate;
mod heads;
mod interruption;
mod knowledge;
mod landing;
mod metered;
mod refresh;
mod round;
mod spool;
mod starting;
mod supply;
mod task;

pub use crate::protocol::delivery::{Delivered, Precondition};
pub use client::Client;
pub use client_error::{ClientError, by_the_contract, way_out};
pub use closing::hold;
pub use doubt::Doubt;
pub use dry_run::DryRun;
pub use heads::{Head, read as read_heads};
pub use metered::{Metered, Traffic};
pub use round::{Instance, Profile, Round, Scope, Settings};
/// Ends a round early, at the next safe point: see [`Round::cancel`].
pub use tokio_util::sync::CancellationToken as Cancel;
