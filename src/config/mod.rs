//! Where things are: the places of this machine, the location of a remote with all that is needed
//! to reach it, and the definition of an instance.
//!
//! The room turns what a person or the environment said into values. It opens nothing.

mod auth_file;
mod credential;
mod credential_source;
mod definition;
mod network;
mod place;
mod remote;
mod secret;

pub use auth_file::{AuthFile, AuthFileError, Caller, Place};
pub use credential::{Credential, CredentialError};
pub use credential_source::{CredentialSource, NoCredential};
pub use definition::{ConflictAction, ConflictPolicy, Definition, DefinitionError, Known, Tuning};
pub use network::{InvalidRate, Network, Rate, Remote};
pub use place::{PlaceError, Places};
pub use remote::{LocationError, RemoteLocation, RemoteUrl};
pub use secret::{Mask, Secret};
