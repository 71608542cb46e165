//! The embedded remote: a full DPE/1 remote over a SQLite store, in-process or over HTTP.
//!
//! One request climbs the ladders of http-binding §6–§10: `service` has the transport steps
//! T1–T5, `read`, `negotiate`, `upload`, `chunk` and `write` what follows for each operation,
//! [`store`] what depends on documents and sessions. The room uses the protocol's routes and wire
//! shapes and nothing of the client's reading of replies.

mod access;
mod answer;
mod blocking;
mod body;
mod chunk;
mod clock;
mod connection;
mod cursor;
mod hooks;
mod in_process;
mod listen;
mod message;
mod negotiate;
mod query_form;
mod read;
mod room;
mod route;
mod service;
mod sessions;
mod skeleton_body;
mod steering;
pub mod store;
mod upload;
mod verification;
mod write;

pub use access::{Access, GrantError};
pub use in_process::InProcess;
pub use listen::serve;
pub use route::PATHS;
pub use service::{OnIncident, Options, Service};
pub use store::{Blob, OpenMode, Store, StoreError};
