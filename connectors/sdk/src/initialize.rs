//! `initialize`, the first message (connector contract §10).

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::value::RawValue;

use crate::rpc::{ErrorCode, RpcError, not_null};

/// Parameters of `initialize`.
#[derive(Debug, Serialize, Deserialize)]
pub struct InitializeParams {
    /// Versions the runner speaks, the one it likes best first.
    pub protocol_versions: Vec<String>,
    /// Most bytes of any line in either direction, the line feed included.
    pub max_message_bytes: u64,
    /// What this process is to enumerate.
    pub instance: Instance,
    /// Who is asking.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "not_null"
    )]
    pub runner: Option<Identity>,
    /// Limits of the remote, so that nothing is produced that could not be delivered.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "not_null"
    )]
    pub remote_limits: Option<RemoteLimits>,
}

/// What one instance enumerates.
#[derive(Debug, Serialize, Deserialize)]
pub struct Instance {
    /// Every URI begins with it; valid and normalised.
    pub uri_prefix: String,
    /// The configuration, its text unchanged (connector contract §4.3).
    pub config: Box<RawValue>,
}

impl Instance {
    /// Reads the configuration as the connector's own type.
    ///
    /// # Errors
    ///
    /// `invalid_config` that names what does not fit.
    pub fn config<C: DeserializeOwned>(&self) -> Result<C, RpcError> {
        serde_json::from_str(self.config.get())
            .map_err(|why| RpcError::new(ErrorCode::InvalidConfig, format!("config: {why}")))
    }
}

/// A name and a version: of a plugin, or of a runner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Name.
    pub name: String,
    /// Version.
    pub version: String,
}

/// The limits of a remote that matter to a producer, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteLimits {
    /// Largest element, and largest body of a request.
    pub max_payload_bytes: u64,
    /// Largest page.
    pub page_max_bytes: u64,
    /// Largest blob.
    pub blob_max_bytes: u64,
}

/// What a plugin can do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capabilities {
    /// Whether the plugin hands out cursors and takes them back.
    pub supports_cursor: bool,
}

/// Result of `initialize`.
#[derive(Debug, Serialize)]
pub(crate) struct InitializeResult {
    pub(crate) protocol_version: &'static str,
    pub(crate) plugin: Identity,
    pub(crate) capabilities: Capabilities,
}
