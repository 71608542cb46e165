//! The connector as the serve loop sees it.

use std::io::Write;
use std::sync::Arc;

use dpe_connector::read_blob::{BlobChunk, ReadBlobParams, largest_chunk};
use dpe_connector::{
    CancelFlag, Capabilities, Connector, ErrorCode, Identity, InitializeParams, RpcError,
    ScanParams, ScanResult,
};
use dpe_connector_files::Owner;

use crate::cache::{self, Fetched};
use crate::config::{Checked, Config, Mode};
use crate::handles::Handles;
use crate::place::{NotBegun, Place, source_failed};
use crate::repository::Repository;
use crate::selection::Selection;
use crate::{NAME, VERSION, files, head, history};

/// Items of a batch when the runner does not say.
const DEFAULT_MAX_ITEMS: usize = 100;

/// The connector for git repositories.
pub struct Git {
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
    pub(crate) place: Place,
    pub(crate) selection: Selection,
    pub(crate) prefix: String,
    pub(crate) max_message_bytes: u64,
    /// Longest blob the remote takes.
    pub(crate) blob_max_bytes: u64,
    pub(crate) owner: Owner,
}

/// A round at work.
struct Round {
    work: Work,
    /// Where the objects are, if they were fetched.
    fetched: Option<Fetched>,
    batches: u64,
}

enum Work {
    Files(Box<files::Round>),
    History(Box<history::Round>),
}

impl Git {
    /// Returns the connector; what it has to tell people goes to `stderr`.
    pub fn new(stderr: Box<dyn Write + Send>) -> Self {
        Self {
            stderr,
            setup: None,
            round: None,
            handles: Arc::new(Handles::of_round(0)),
        }
    }

    fn begin(&mut self, params: &ScanParams, cancel: &CancelFlag) -> Result<Round, RpcError> {
        let setup = self.setup.clone();
        let setup = setup
            .ok_or_else(|| RpcError::new(ErrorCode::InvalidRequest, "`initialize` comes first"))?;
        let cursor = params.cursor.as_deref();
        let Place::Url(url) = &setup.place else {
            let begun = self.begin_at(&setup, None, cursor, cancel);
            return begun.map_err(NotBegun::into_error);
        };
        let fetch = |stderr: &mut dyn Write| cache::fetch(&setup, url, stderr, cancel);
        let fetched = fetch(&mut *self.stderr)?;
        let begun = match self.begin_at(&setup, Some(fetched.clone()), cursor, cancel) {
            Err(NotBegun::Damaged(_)) if fetched.was_there => {
                fetched.discard();
                let fetched = fetch(&mut *self.stderr)?;
                self.begin_at(&setup, Some(fetched), cursor, cancel)
            }
            begun => begun,
        };
        begun.map_err(NotBegun::into_error)
    }

    fn begin_at(
        &self,
        setup: &Arc<Setup>,
        fetched: Option<Fetched>,
        cursor: Option<&str>,
        cancel: &CancelFlag,
    ) -> Result<Round, NotBegun> {
        let work = match setup.config.mode {
            Mode::Files => {
                let round = self.files(setup, fetched.as_ref(), cursor, cancel)?;
                Work::Files(Box::new(round))
            }
            Mode::History => {
                let round = history::Round::begin(setup, fetched.as_ref(), cursor, cancel);
                Work::History(Box::new(round.map_err(|error| match error.code {
                    ErrorCode::SourceFailed => NotBegun::Damaged(error),
                    _ => NotBegun::Other(error),
                })?))
            }
        };
        Ok(Round {
            work,
            fetched,
            batches: 0,
        })
    }

    fn files(
        &self,
        setup: &Arc<Setup>,
        fetched: Option<&Fetched>,
        cursor: Option<&str>,
        cancel: &CancelFlag,
    ) -> Result<files::Round, NotBegun> {
        let failed = |why: String| NotBegun::Damaged(source_failed(&setup.place, &why));
        let (path, reference) = match (fetched, &setup.place) {
            (Some(fetched), _) => (&fetched.folder, fetched.reference.as_deref()),
            (None, Place::Folder(path)) => (path, Some(&*setup.config.reference)),
            (None, Place::Url(_)) => return Err(failed("not fetched".to_owned())),
        };
        let repository = Arc::new(Repository::open(path).map_err(failed)?);
        let commit = match reference {
            Some(reference) => head::commit(&repository, reference).map_err(failed)?,
            None => None,
        };
        let handles = Arc::clone(&self.handles);
        files::Round::begin(setup, &repository, handles, commit, cursor, cancel)
    }
}

impl Round {
    /// Returns the continuation under which the next batch is asked for.
    fn continuation(&self) -> String {
        continuation(self.batches)
    }

    fn batch(
        &mut self,
        max_items: usize,
        cancel: &CancelFlag,
    ) -> Result<(ScanResult, bool), RpcError> {
        self.batches += 1;
        let batches = self.batches;
        let next = || continuation(batches);
        match &mut self.work {
            Work::Files(round) => round.batch(max_items, next, cancel),
            Work::History(round) => round.batch(max_items, next, cancel),
        }
    }

    /// Ends the round and returns what people should hear.
    fn into_lines(self) -> Vec<String> {
        let (is_damaged, lines) = match self.work {
            Work::Files(round) => (round.is_damaged(), round.into_lines()),
            Work::History(round) => (round.is_damaged(), round.into_lines()),
        };
        if is_damaged && let Some(fetched) = &self.fetched {
            fetched.discard();
        }
        lines
    }
}

fn continuation(batches: u64) -> String {
    format!("b{batches}")
}

impl Connector for Git {
    fn identity(&self) -> Identity {
        Identity {
            name: NAME.into(),
            version: VERSION.into(),
        }
    }

    fn initialize(&mut self, params: &InitializeParams) -> Result<Capabilities, RpcError> {
        let config: Config = params.instance.config()?;
        let invalid = |why| RpcError::new(ErrorCode::InvalidConfig, format!("config: {why}"));
        let Checked { place, selection } = config.check().map_err(invalid)?;
        let prefix = params.instance.uri_prefix.clone();
        let content = serde_json::to_string(&config.content(&place));
        let content = content.map_err(|why| invalid(why.to_string()))?;
        self.setup = Some(Arc::new(Setup {
            owner: Owner::of(&[VERSION, &prefix, &content]),
            config,
            place,
            selection,
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
                self.begin(&params, cancel)?
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
