//! Repositories behind URLs: fetched into a bare repository of our own, so that the next round asks for
//! what is new.
//!
//! The cache holds nothing that cannot be fetched again, and may be deleted at any time. Only the one
//! reference that is enumerated is fetched, with its whole history, so that the commit of a cursor
//! stays comparable.

mod fetch;
mod folder;
mod lock;

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use dpe_connector::{CancelFlag, RpcError};
use gix::ObjectId;
use sha2::{Digest, Sha256};

use crate::command::Runner;
use crate::connector::Setup;
use crate::place::Url;
use fetch::Fetch;
use lock::Lock;

/// A file in a fetched repository that is not to be used any more.
const DAMAGED: &str = "dpe-damaged";

/// A repository as it was fetched.
#[derive(Clone, Debug)]
pub(crate) struct Fetched {
    /// The bare repository.
    pub(crate) folder: PathBuf,
    /// The reference in it that stands for the one that was asked for; nothing if the other side has
    /// no commits.
    pub(crate) reference: Option<String>,
    /// Whether there was something before.
    pub(crate) was_there: bool,
    /// Whether the commit that is known from the last round had to be fetched by its id.
    pub(crate) has_stray: bool,
}

impl Fetched {
    /// Sees to it that the next one who fetches begins anew: somebody may be fetching into it now.
    pub(crate) fn discard(&self) {
        // What cannot be marked is gone already, or will fail again, and is reported then.
        let _ = File::create(self.folder.join(DAMAGED));
    }
}

/// Fetches what is configured. `known` is where the last round was; if that is no part of it, it is
/// fetched as well, as long as the other side has it.
///
/// # Errors
///
/// `source_failed`, retryable unless there is no such reference; `cancelled`.
pub(crate) fn fetch(
    setup: &Setup,
    url: &Url,
    known: Option<ObjectId>,
    stderr: &mut dyn Write,
    cancel: &CancelFlag,
) -> Result<Fetched, RpcError> {
    let mut is_last = false;
    loop {
        let base = folder::base(setup).map_err(|why| why.into_error(&setup.place))?;
        let folder = base.join(short_hash(url.text.as_bytes()));
        let lock = Lock::wait(&folder, &setup.place, cancel)?;
        let mut fetch = Fetch {
            place: &setup.place,
            reference: &setup.config.reference,
            base: &base,
            folder: &folder,
            runner: Runner {
                url,
                stderr: &mut *stderr,
                cancel,
            },
        };
        let fetched = fetch.run(known);
        // If somebody deleted the cache meanwhile, it is made once more.
        if fetched.is_ok() || is_last || lock.is_held() {
            return fetched;
        }
        cancel.check()?;
        is_last = true;
    }
}

fn short_hash(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest[..16]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
