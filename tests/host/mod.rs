//! The host against real child processes: small scripts that keep the contract, or do not, and
//! the bundled connector.

mod blobs;
mod bundled;
mod ends;
mod manifests;
mod patterns;
pub(crate) mod plugin;
mod wire;
