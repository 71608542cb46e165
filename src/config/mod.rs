//! Where things are: the places of this machine, the location of a remote with all that is needed
//! to reach it, the definition of an instance, and what configuration files say.
//!
//! The room turns what a person or the environment said into values. It opens nothing.

mod auth_file;
mod credential;
mod credential_source;
mod definition;
mod file;
mod layers;
mod network;
mod place;
mod remote;
mod secret;

pub use auth_file::{AuthFile, AuthFileError, Caller, Place};
pub use credential::{Credential, CredentialError};
pub use credential_source::{CredentialSource, NoCredential};
pub use definition::{ConflictAction, ConflictPolicy, Definition, DefinitionError, Known, Tuning};
pub use file::{
    ConfigFile, ConnectorEntry, DefaultEntry, FileError, Mistake, Owner, RemoteEntry, SETTINGS,
    Setting, SettingKind, SourceEntry, hidden, is_secret_name, looks_like_token, nearest,
};
pub use layers::{Layers, NamedRemote, Origin, UnknownRemote};
pub use network::{InvalidRate, Network, Rate, Remote};
pub use place::{PlaceError, Places};
pub use remote::{LocationError, RemoteLocation, RemoteUrl};
pub use secret::{Mask, Secret};
