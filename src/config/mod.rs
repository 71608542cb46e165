//! Where things are: the places of this machine, and the location of a remote with all that is
//! needed to reach it.
//!
//! The room turns what a person or the environment said into values. It opens nothing.

mod auth_file;
mod credential;
mod network;
mod place;
mod remote;
mod secret;

pub use auth_file::{AuthFile, AuthFileError, Caller, CredentialSource, Place};
pub use credential::{Credential, CredentialError};
pub use network::{InvalidRate, Network, Rate, Remote};
pub use place::{PlaceError, Places};
pub use remote::{LocationError, RemoteLocation, RemoteUrl};
pub use secret::{Mask, Secret};
