//! The connector as the serve loop sees it.

use std::io::Write;
use std::sync::Arc;

use dpe_connector::read_blob::{BlobChunk, ReadBlobParams, largest_chunk};
use dpe_connector::{
    CancelFlag, Capabilities, Connector, ErrorCode, Identity, InitializeParams, RpcError,
    ScanParams, ScanResult,
};
use dpe_connector_files::{Extractor, Globs, Owner, Program, Scans};

use crate::config::Config;
use crate::round::Round;
use crate::{NAME, VERSION};

/// The connector for a folder of files.
pub struct Fs {
    worker: Option<Program>,
    setup: Option<Arc<Setup>>,
    scans: Scans<Round>,
}

/// What `initialize` said, for the life of the process.
#[derive(Debug)]
pub(crate) struct Setup {
    pub(crate) config: Config,
    pub(crate) globs: Globs,
    pub(crate) prefix: String,
    pub(crate) max_message_bytes: u64,
    /// Longest blob the remote takes.
    pub(crate) blob_max_bytes: u64,
    pub(crate) owner: Owner,
    pub(crate) extractor: Arc<Extractor>,
}

impl Fs {
    /// Returns the connector; what it has to tell people goes to `stderr`. Files of formats with parsers of
    /// their own are extracted by processes of `worker`; without one, by this process.
    pub fn new(stderr: Box<dyn Write + Send>, worker: Option<Program>) -> Self {
        Self {
            worker,
            setup: None,
            scans: Scans::new(stderr),
        }
    }

    fn setup(&self) -> Result<Arc<Setup>, RpcError> {
        let setup = self.setup.clone();
        setup.ok_or_else(|| RpcError::new(ErrorCode::InvalidRequest, "`initialize` comes first"))
    }
}

impl Connector for Fs {
    fn identity(&self) -> Identity {
        Identity {
            name: NAME.into(),
            version: VERSION.into(),
        }
    }

    fn initialize(&mut self, params: &InitializeParams) -> Result<Capabilities, RpcError> {
        let config: Config = params.instance.config()?;
        let globs = config
            .globs()
            .map_err(|why| RpcError::new(ErrorCode::InvalidConfig, format!("config: {why}")))?;
        let prefix = params.instance.uri_prefix.clone();
        // The parsed configuration written anew, so that spaces in its text do not matter.
        let canonical = serde_json::to_string(&config.content())
            .map_err(|why| RpcError::new(ErrorCode::InvalidConfig, format!("config: {why}")))?;
        let extractor = config
            .limits
            .extractor(config.max_file_bytes, self.worker.clone());
        let extractor = Arc::new(extractor);
        self.setup = Some(Arc::new(Setup {
            owner: Owner::of(&[VERSION, &prefix, &canonical]),
            config,
            globs,
            prefix,
            extractor,
            max_message_bytes: params.max_message_bytes,
            blob_max_bytes: params
                .remote_limits
                .map_or(u64::MAX, |limits| limits.blob_max_bytes),
        }));
        Ok(Capabilities {
            supports_cursor: true,
        })
    }

    fn scan(&mut self, params: ScanParams, cancel: &CancelFlag) -> Result<ScanResult, RpcError> {
        let setup = self.setup()?;
        self.scans
            .scan(params, |begin| Round::begin(setup, begin, cancel), cancel)
    }

    fn read_blob(
        &mut self,
        mut params: ReadBlobParams,
        _cancel: &CancelFlag,
    ) -> Result<BlobChunk, RpcError> {
        let most = largest_chunk(self.setup()?.max_message_bytes);
        params.max_bytes = params.max_bytes.min(most);
        self.scans.read_blob(&params, |held| held.read(&params))
    }
}
