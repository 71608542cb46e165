//! What a runner remembers between rounds: one directory, one database per instance.
//!
//! The room keeps cursors, the synchronised state, the intent journal and the write set
//! (connector contract §8). It decides nothing and knows no remote; it only makes sure that what
//! belongs together is written together, and that what cannot be read is never taken for empty.

mod database;
mod directory;
mod error;
mod instance;
mod journal;
mod upkeep;

pub use directory::{InstanceLock, Registration, StateDirectory};
pub use error::StateError;
pub use instance::{Adoption, CursorChange, Instance, Pending};
pub use journal::{Change, Tracking};
pub use upkeep::{Content, Inventory, Kept};
