//! Connectors themselves: which there are, and whether they keep the contract.

pub mod check;
mod error;
pub mod list;
pub mod secret;

pub use error::ConnectorError;
