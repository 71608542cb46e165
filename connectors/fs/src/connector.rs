//! The connector as the serve loop sees it.

use std::io::Write;
use std::sync::Arc;

use dpe_connector::read_blob::{BlobChunk, ReadBlobParams, largest_chunk};
use dpe_connector::{
    CancelFlag, Capabilities, Connector, ErrorCode, Identity, InitializeParams, RpcError,
    ScanParams, ScanResult,
};
use dpe_connector_files::{Globs, Owner};

use crate::config::Config;
use crate::handles::Handles;
use crate::round::Round;
use crate::{NAME, VERSION};

/// The connector for a folder of files.
pub struct Fs {
    stderr: Box<dyn Write + Send>,
    setup: Option<Arc<Setup>>,
    round: Option<Round>,
    /// Of the round at hand, or of the last one.
    handles: Arc<Handles>,
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
}

impl Fs {
    /// Returns the connector; what it has to tell people goes to `stderr`.
    pub fn new(stderr: Box<dyn Write + Send>) -> Self {
        Self {
            stderr,
            setup: None,
            round: None,
            handles: Arc::new(Handles::of_round(0)),
        }
    }

    fn begin(&self, cursor: Option<String>, cancel: &CancelFlag) -> Result<Round, RpcError> {
        let setup = self
            .setup
            .as_ref()
            .ok_or_else(|| RpcError::new(ErrorCode::InvalidRequest, "`initialize` comes first"))?;
        let (setup, handles) = (Arc::clone(setup), Arc::clone(&self.handles));
        Round::begin(setup, handles, cursor, cancel)
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
        let canonical = serde_json::to_string(&config)
            .map_err(|why| RpcError::new(ErrorCode::InvalidConfig, format!("config: {why}")))?;
        self.setup = Some(Arc::new(Setup {
            owner: Owner::of(&[VERSION, &prefix, &canonical]),
            config,
            globs,
            prefix,
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
        let mut round = match &params.next {
            None => {
                // An abandoned round ends before the next one begins.
                self.round = None;
                self.handles = Arc::new(Handles::of_round(self.handles.round() + 1));
                self.begin(params.cursor, cancel)?
            }
            Some(next) => self
                .round
                .take_if(|round| round.continuation() == *next)
                .ok_or_else(ScanParams::expired_next)?,
        };
        let max_items = params.max_items.map_or(DEFAULT_MAX_ITEMS, |n| n as usize);
        let (result, is_last) = round.batch(max_items, cancel)?;
        if is_last {
            for line in round.into_lines() {
                // Nobody reads it if it cannot be written.
                let _ = writeln!(self.stderr, "{line}");
            }
        } else {
            self.round = Some(round);
        }
        Ok(result)
    }

    fn read_blob(
        &mut self,
        mut params: ReadBlobParams,
        _cancel: &CancelFlag,
    ) -> Result<BlobChunk, RpcError> {
        if let Some(setup) = &self.setup {
            let most = largest_chunk(setup.max_message_bytes);
            params.max_bytes = params.max_bytes.min(most);
        }
        self.handles.read(&params)
    }
}

/// Items of a batch when the runner does not say.
const DEFAULT_MAX_ITEMS: usize = 100;
