//! Finds, reads and changes configuration files.
//!
//! What they mean is known to the room `config`; where they are, whose they are, and what the manifests
//! of connectors say about them is found out here.

mod draft;
mod error;
mod init;
mod judge;
mod list;
mod load;

pub use draft::{Draft, keys, set, target};
pub use error::ConfigError;
pub use init::{Init, Proposal, propose};
pub use list::{Listed, list};
pub use load::{FILE_NAME, load, project_file, user_file, warnings};
