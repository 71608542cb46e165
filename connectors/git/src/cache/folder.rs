//! The folder of the cache. Git runs in it, and what it does there is for the configuration in it to say,
//! so it has to be the user's own.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::PathBuf;

use dpe_connector::RpcError;

use crate::connector::Setup;
use crate::place::{Place, source_failed};

/// Why there is no folder for the cache.
pub(super) struct NoCache {
    why: String,
    may_pass: bool,
}

impl NoCache {
    pub(super) fn into_error(self, place: &Place) -> RpcError {
        RpcError {
            retryable: self.may_pass,
            ..source_failed(place, &self.why)
        }
    }
}

/// Returns the folder of the cache, which nobody else may look into.
pub(super) fn base(setup: &Setup) -> Result<PathBuf, NoCache> {
    let user = rustix::process::geteuid().as_raw();
    let is_explicit = setup.config.cache.is_some();
    let base = setup.config.cache.clone().or_else(own);
    let is_shared = base.is_none();
    let base = base.unwrap_or_else(|| std::env::temp_dir().join(format!("dpe-git-{user}")));
    let described = |why: io::Error| NoCache {
        why: format!("the cache {}: {why}", base.display()),
        // Somebody may be deleting it.
        may_pass: why.kind() == io::ErrorKind::NotFound,
    };
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&base)
        .map_err(described)?;
    // Where everybody may write, a link or a folder may be waiting for us, with a configuration
    // that makes git run something.
    let metadata = match is_shared {
        true => fs::symlink_metadata(&base),
        false => fs::metadata(&base),
    };
    let metadata = metadata.map_err(described)?;
    if !metadata.is_dir() || !may_use(user, metadata.uid(), is_explicit) {
        return Err(NoCache {
            why: format!(
                "the cache {} is somebody else's; name another one with `cache`, or with XDG_CACHE_HOME",
                base.display()
            ),
            may_pass: false,
        });
    }
    Ok(base)
}

/// Returns the folder in what the environment says is the user's own; nothing if it says nothing.
fn own() -> Option<PathBuf> {
    let absolute = |name| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    absolute("XDG_CACHE_HOME")
        .map(|cache| cache.join("dpe/git"))
        .or_else(|| absolute("HOME").map(|home| home.join(".cache/dpe/git")))
}

/// Returns whether a user runs git in a folder of this owner. Of others root uses only what it was
/// told to: the environment of a caller may have led it here.
fn may_use(user: u32, owner: u32, is_explicit: bool) -> bool {
    owner == user || (user == 0 && is_explicit)
}

#[cfg(test)]
mod tests {
    use super::may_use;

    #[test]
    fn a_folder_of_somebody_else_is_used_by_root_alone_and_only_if_it_was_named() {
        for (user, owner, is_explicit, expected) in [
            (1000, 1000, false, true),
            (1000, 1001, true, false),
            (1000, 0, true, false),
            (0, 0, false, true),
            (0, 1000, false, false),
            (0, 1000, true, true),
        ] {
            assert_eq!(
                may_use(user, owner, is_explicit),
                expected,
                "{user} {owner} {is_explicit}"
            );
        }
    }
}
