//! Where things are: the places of this machine and the location of a remote.
//!
//! The room turns what a person or the environment said into values. It opens nothing.

mod place;
mod remote;

pub use place::{PlaceError, Places};
pub use remote::{LocationError, RemoteLocation};
