//! The host against real child processes: small scripts that keep the contract, or do not, and
//! the bundled connector.

mod blobs;
mod bundled;
mod ends;
mod plugin;
mod wire;
