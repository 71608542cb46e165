//! DPE/1 without I/O: what its messages look like, for both sides of the wire.
//!
//! Requests and responses are plain values; somebody else carries them. [`wire`] has one file per
//! operation with the request and the reply beside each other. Client and server share routes,
//! names and shapes here, but neither uses the other's reading of a message, so that they do not
//! share a mistake.
//!
//! The client's side goes on from there, still without I/O: [`verdict`] is the table of what a
//! reply means, [`exchange`] one request with its repetitions, and [`delivery`] the machines that
//! bring a document to a remote. [`machine`] is how all of them are driven.
//!
//! This room knows nothing of sockets, stores, clocks or why a document is written.

pub mod condition;
pub mod content_range;
mod decimal;
pub mod delivery;
pub mod error_code;
pub mod exchange;
pub mod headers;
pub mod machine;
pub mod operation_error;
pub mod problem;
pub mod reply;
pub mod request;
pub mod response;
pub mod retry_after;
pub mod routes;
pub mod staged;
pub(crate) mod timestamp;
pub mod verdict;
pub mod wire;

pub use content_range::ContentRange;
pub use error_code::ErrorCode;
pub use exchange::{Fate, Outgoing, Part};
pub use machine::{Machine, Step};
pub use operation_error::OperationError;
pub use problem::Missing;
pub use reply::ReplyError;
pub use request::Request;
pub use response::Response;
pub use retry_after::{RetryAfter, Wait};
pub use staged::Staged;
pub use verdict::{Operation, Verdict};
