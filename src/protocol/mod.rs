//! DPE/1 without I/O: what its messages look like, for both sides of the wire.
//!
//! This room knows nothing of sockets, stores, clocks or what a reply means for a document.

pub mod condition;
pub mod error_code;
pub mod headers;
pub mod retry_after;
pub mod routes;

pub use error_code::ErrorCode;
pub use retry_after::{RetryAfter, Wait};
