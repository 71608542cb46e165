//! DPE/1 without I/O: what its messages look like, for both sides of the wire.
//!
//! Requests and responses are plain values; somebody else carries them. [`wire`] has one file per
//! operation with the request and the reply beside each other. Client and server share routes,
//! names and shapes here, but neither uses the other's reading of a message, so that they do not
//! share a mistake.
//!
//! This room knows nothing of sockets, stores, clocks or what a reply means for a document.

pub mod condition;
pub mod content_range;
pub mod error_code;
pub mod headers;
pub mod problem;
pub mod reply;
pub mod request;
pub mod response;
pub mod retry_after;
pub mod routes;
pub mod staged;
pub(crate) mod timestamp;
pub mod wire;

pub use content_range::ContentRange;
pub use error_code::ErrorCode;
pub use problem::Missing;
pub use reply::ReplyError;
pub use request::Request;
pub use response::Response;
pub use retry_after::{RetryAfter, Wait};
pub use staged::Staged;
