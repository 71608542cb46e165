//! Finds, reads and changes configuration files.
//!
//! What they mean is known to the room `config`; where they are, whose they are, and what the manifests
//! of connectors say about them is found out here.

mod error;
mod judge;
mod load;

pub use error::ConfigError;
pub use load::{FILE_NAME, load, project_file, user_file, warnings};
