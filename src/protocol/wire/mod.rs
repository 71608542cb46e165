//! The operations of DPE/1 over HTTP (http-binding §2), one file each: what the client sends and
//! how it reads the reply, and what the server reads and how it writes its reply.
//!
//! `Request::into_http` and `decode` are the client's; `Shape::read` and `encode` are the
//! server's. Neither half calls the other.

pub mod capabilities;
pub mod commit;
pub mod delete;
pub(crate) mod envelope;
pub mod head;
pub mod heads;
pub mod list;
pub mod move_;
pub mod negotiate;
pub mod resume;
pub mod skeleton;
pub mod upload;

pub use envelope::InvalidEnvelope;
