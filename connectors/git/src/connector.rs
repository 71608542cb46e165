//! The connector as the serve loop sees it.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use dpe_connector::read_blob::{BlobChunk, ReadBlobParams, largest_chunk};
use dpe_connector::{
    CancelFlag, Capabilities, Connector, ErrorCode, Identity, InitializeParams, RpcError,
    ScanParams, ScanResult,
};
use dpe_connector_files::{
    self as shared, Beginning, Extractor, Items, Owner, Program, RoundEnd, Scans,
};

use crate::cache::{self, Fetched};
use crate::config::{Checked, Config, Mode};
use crate::held::{Held, LastRead};
use crate::place::{NotBegun, Place, no_repository, source_failed};
use crate::repository::{LARGEST_OBJECT, Repository};
use crate::selection::Selection;
use crate::since::Known;
use crate::{NAME, VERSION, cursor, files, head, history};

/// The connector for git repositories.
pub struct Git {
    worker: Option<Program>,
    setup: Option<Arc<Setup>>,
    scans: Scans<Round>,
    last_read: LastRead,
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
    pub(crate) extractor: Arc<Extractor>,
}

/// A round at work.
struct Round {
    work: Work,
    /// Where the objects are, if they were fetched.
    fetched: Option<Fetched>,
}

enum Work {
    Files(Box<files::Round>),
    History(Box<history::Round>),
}

impl Git {
    /// Returns the connector; what it has to tell people goes to `stderr`. Files of formats with parsers of
    /// their own are extracted by processes of `worker`; without one, by this process.
    pub fn new(stderr: Box<dyn Write + Send>, worker: Option<Program>) -> Self {
        Self {
            worker,
            setup: None,
            scans: Scans::new(stderr),
            last_read: LastRead::default(),
        }
    }

    fn setup(&self) -> Result<Arc<Setup>, RpcError> {
        let setup = self.setup.clone();
        setup.ok_or_else(|| RpcError::new(ErrorCode::InvalidRequest, "`initialize` comes first"))
    }
}

impl Round {
    /// Fetches what is to be fetched, and begins with what is there.
    fn begin(
        setup: &Arc<Setup>,
        begin: &mut Beginning<'_, Held>,
        cancel: &CancelFlag,
    ) -> Result<Self, RpcError> {
        let Place::Url(url) = &setup.place else {
            return Self::begin_at(setup, None, begin, cancel).map_err(NotBegun::into_error);
        };
        let known = begin.cursor.as_deref();
        let known = known
            .and_then(|text| cursor::files(text, setup.owner))
            .and_then(|known| known.commit);
        let fetched = cache::fetch(setup, url, known, begin.stderr, cancel)?;
        let begun = match Self::begin_at(setup, Some(fetched.clone()), begin, cancel) {
            Err(NotBegun::Damaged(_)) if fetched.was_there || !fetched.folder.exists() => {
                fetched.discard();
                let fetched = cache::fetch(setup, url, known, begin.stderr, cancel)?;
                Self::begin_at(setup, Some(fetched), begin, cancel)
            }
            begun => begun,
        };
        begun.map_err(|not_begun| match not_begun {
            // Somebody may be removing the cache; what was fetched can be fetched again.
            NotBegun::Damaged(error) => error.retryable(),
            NotBegun::Other(error) => error,
        })
    }

    fn begin_at(
        setup: &Arc<Setup>,
        fetched: Option<Fetched>,
        begin: &Beginning<'_, Held>,
        cancel: &CancelFlag,
    ) -> Result<Self, NotBegun> {
        let work = match setup.config.mode {
            Mode::Files => {
                let round = begin_files(setup, fetched.as_ref(), begin, cancel)?;
                Work::Files(Box::new(round))
            }
            Mode::History => {
                let cursor = begin.cursor.as_deref();
                let round = history::Round::begin(setup, fetched.as_ref(), cursor, cancel);
                Work::History(Box::new(round?))
            }
        };
        Ok(Self { work, fetched })
    }
}

fn begin_files(
    setup: &Arc<Setup>,
    fetched: Option<&Fetched>,
    begin: &Beginning<'_, Held>,
    cancel: &CancelFlag,
) -> Result<files::Round, NotBegun> {
    let damaged = |why: String| NotBegun::Damaged(source_failed(&setup.place, &why));
    let (path, reference) = match (fetched, &setup.place) {
        (Some(fetched), _) => (&fetched.folder, fetched.reference.as_deref()),
        (None, Place::Folder(path)) => (path, Some(&*setup.config.reference)),
        (None, Place::Url(_)) => return Err(damaged("not fetched".to_owned())),
    };
    if fetched.is_none() {
        refuse_other_folders(path)?;
    }
    let largest = setup.config.max_file_bytes.max(LARGEST_OBJECT);
    let repository = Arc::new(Repository::open_limited(path, largest).map_err(damaged)?);
    let commit = match reference {
        Some(reference) => head::commit(&repository, reference, &setup.config.reference)
            .map_err(|why| why.not_begun(&setup.place))?,
        None => None,
    };
    let handles = Arc::clone(&begin.handles);
    let cursor = begin.cursor.as_deref();
    let known = cursor.and_then(|text| cursor::files(text, setup.owner));
    let known = known.map(|known| Known {
        commit: known.commit,
        again: [known.again, known.failed.clone()].concat(),
        failed: known.failed.into_iter().collect(),
        is_stray: fetched.is_some_and(|fetched| fetched.has_stray),
    });
    files::Round::begin(setup, &repository, handles, commit, known, cancel)
}

/// Says of a folder that has nothing of a repository what that means.
fn refuse_other_folders(path: &Path) -> Result<(), NotBegun> {
    let refused = |why: &str| Err(NotBegun::Other(no_repository(path, why)));
    match fs::metadata(path) {
        Err(why) => refused(&why.to_string()),
        // The `.git` of a linked work tree is a file.
        Ok(metadata) if metadata.is_dir() => {
            if path.join(".git").exists() || path.join("HEAD").exists() {
                return Ok(());
            }
            refused("there is neither .git nor HEAD in it")
        }
        Ok(_) => Ok(()),
    }
}

impl shared::Round for Round {
    type Held = Held;

    fn items(&mut self) -> &mut Items {
        match &mut self.work {
            Work::Files(round) => round.items(),
            Work::History(round) => round.items(),
        }
    }

    fn say_more(&mut self, cancel: &CancelFlag) -> Result<bool, RpcError> {
        match &mut self.work {
            Work::Files(round) => round.say_more(cancel),
            Work::History(round) => round.say_more(cancel),
        }
    }

    fn end(&mut self) -> RoundEnd {
        match &mut self.work {
            Work::Files(round) => round.end(),
            Work::History(round) => round.end(),
        }
    }

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
        let extractor = config
            .limits
            .extractor(config.max_file_bytes, self.worker.clone());
        let extractor = Arc::new(extractor);
        self.setup = Some(Arc::new(Setup {
            owner: Owner::of(&[VERSION, &prefix, &content]),
            config,
            place,
            selection,
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
        let begin = |mut begin: Beginning<'_, Held>| Round::begin(&setup, &mut begin, cancel);
        self.scans.scan(params, begin, cancel)
    }

    fn read_blob(
        &mut self,
        mut params: ReadBlobParams,
        _cancel: &CancelFlag,
    ) -> Result<BlobChunk, RpcError> {
        let most = largest_chunk(self.setup()?.max_message_bytes);
        params.max_bytes = params.max_bytes.min(most);
        let last_read = &mut self.last_read;
        self.scans
            .read_blob(&params, |held| last_read.read(&held, &params))
    }
}
