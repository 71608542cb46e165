//! The plugin side of the connector contract, shared with the host so that both ends speak one
//! set of wire types.
//!
//! A connector implements [`Connector`] and hands it to [`serve()`]; everything else about the
//! protocol (framing, the order of messages, cancellation, the size limit) is done here. This
//! crate knows no hash, no remote and no credential, and it has no opinion about sources.

pub mod batch;
pub mod cancel;
pub mod content;
pub mod framing;
pub mod initialize;
pub mod item;
pub mod manifest;
pub mod path;
pub mod read_blob;
pub mod rpc;
pub mod scan;
mod serve;

pub use batch::{BatchAssembler, encode_segments};
pub use cancel::CancelFlag;
pub use initialize::{Capabilities, Identity, InitializeParams};
pub use item::{Item, ItemErrorCode};
pub use rpc::{ErrorCode, RpcError};
pub use scan::{ScanParams, ScanResult};
pub use serve::{Connector, Ended, serve};

/// The one version of the connector protocol this crate speaks (connector contract §10).
pub const PROTOCOL_VERSION: &str = "dpe-connector/1";
