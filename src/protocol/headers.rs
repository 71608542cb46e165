//! Header field names and media types of the binding (http-binding §3, §4).

use http::HeaderName;

/// Contract of all hashes in a request and its response.
pub const DPE_HASH_CONTRACT: HeaderName = HeaderName::from_static("dpe-hash-contract");
/// Current doc_hash: the authoritative version token.
pub const DPE_DOC_HASH: HeaderName = HeaderName::from_static("dpe-doc-hash");
/// Code of a DPE error.
pub const DPE_ERROR_CODE: HeaderName = HeaderName::from_static("dpe-error-code");

/// When a staging session expires, RFC 3339 in UTC.
pub const DPE_SESSION_EXPIRES: HeaderName = HeaderName::from_static("dpe-session-expires");
/// Bytes of an object that a session has received.
pub const DPE_UPLOAD_OFFSET: HeaderName = HeaderName::from_static("dpe-upload-offset");

/// Media type of the bytes of a blob.
pub const MEDIA_TYPE_BYTES: &str = "application/octet-stream";
/// Media type of JSON bodies.
pub const MEDIA_TYPE_JSON: &str = "application/json";
/// Media type of problem bodies (RFC 9457).
pub const MEDIA_TYPE_PROBLEM: &str = "application/problem+json";
