//! Repositories behind URLs: fetched into a bare repository of our own, so that the next round asks for
//! what is new.
//!
//! The cache holds nothing that cannot be fetched again, and may be deleted at any time. Only the one
//! reference that is enumerated is fetched, with its whole history, so that the commit of a cursor
//! stays comparable.

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use dpe_connector::{CancelFlag, RpcError};
use gix::ObjectId;
use sha2::{Digest, Sha256};

use crate::command::{Failed, Runner};
use crate::connector::Setup;
use crate::place::{Place, Url, source_failed};
use crate::repository::Repository;

/// How often it is looked whether somebody else has ended fetching.
const POLL: Duration = Duration::from_millis(50);

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
        let base = base(setup).map_err(|why| why.into_error(&setup.place))?;
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

/// Why there is no folder for the cache.
struct NoCache {
    why: String,
    may_pass: bool,
}

impl NoCache {
    fn into_error(self, place: &Place) -> RpcError {
        RpcError {
            retryable: self.may_pass,
            ..source_failed(place, &self.why)
        }
    }
}

/// Returns the folder of the cache, which nobody else may look into.
fn base(setup: &Setup) -> Result<PathBuf, NoCache> {
    let absolute = |name| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let base = setup
        .config
        .cache
        .clone()
        .or_else(|| absolute("XDG_CACHE_HOME").map(|cache| cache.join("dpe/git")))
        .or_else(|| absolute("HOME").map(|home| home.join(".cache/dpe/git")));
    let user = rustix::process::geteuid().as_raw();
    let is_explicit = setup.config.cache.is_some();
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

/// Returns whether a user runs git in a folder of this owner. Of others root uses only what it was
/// told to: the environment of a caller may have led it here.
fn may_use(user: u32, owner: u32, is_explicit: bool) -> bool {
    owner == user || (user == 0 && is_explicit)
}

/// Held while something is fetched into a folder.
struct Lock {
    file: File,
    path: PathBuf,
}

impl Lock {
    /// Waits until nobody else fetches the same.
    fn wait(folder: &Path, place: &Place, cancel: &CancelFlag) -> Result<Self, RpcError> {
        let path = folder.with_extension("lock");
        let failed = |why: io::Error| {
            source_failed(place, &format!("the cache {}: {why}", path.display())).retryable()
        };
        loop {
            let file = File::create(&path).map_err(failed)?;
            while let Err(why) = file.try_lock() {
                cancel.check()?;
                match why {
                    TryLockError::WouldBlock => thread::sleep(POLL),
                    TryLockError::Error(why) => return Err(failed(why)),
                }
            }
            let path = path.clone();
            let lock = Self { file, path };
            // Whoever deletes the cache deletes the file, and the next one locks another.
            if lock.is_held() {
                return Ok(lock);
            }
            cancel.check()?;
        }
    }

    /// Returns whether the lock still keeps others away.
    fn is_held(&self) -> bool {
        let same = |ours: fs::Metadata, theirs: fs::Metadata| {
            (ours.dev(), ours.ino()) == (theirs.dev(), theirs.ino())
        };
        match (self.file.metadata(), fs::metadata(&self.path)) {
            (Ok(ours), Ok(theirs)) => same(ours, theirs),
            _ => false,
        }
    }
}

fn short_hash(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest[..16]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Removes whatever is at `path`, if anything is.
fn removed(path: &Path) -> io::Result<()> {
    let outcome = match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(why) => Err(why),
    };
    match outcome {
        Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(()),
        outcome => outcome,
    }
}

/// What the other side has.
struct Found {
    /// Full name of the reference, or the commit itself.
    name: String,
    id: String,
}

struct Fetch<'a> {
    place: &'a Place,
    reference: &'a str,
    base: &'a Path,
    folder: &'a Path,
    runner: Runner<'a>,
}

impl Fetch<'_> {
    fn run(&mut self, known: Option<ObjectId>) -> Result<Fetched, RpcError> {
        let mut fetched = self.fetched()?;
        if let Some(known) = known.filter(|_| fetched.reference.is_some()) {
            fetched.has_stray = self.bring_stray(known)?;
        }
        Ok(fetched)
    }

    /// Fetches a commit by its id if it is not here, and returns whether it came.
    fn bring_stray(&mut self, commit: ObjectId) -> Result<bool, RpcError> {
        let has = |repository: &gix::Repository| {
            repository.object_hash() != commit.kind() || repository.has_object(commit)
        };
        if Repository::open(self.folder).is_ok_and(|repository| repository.with(has)) {
            return Ok(false);
        }
        match self.bring_by(self.folder, &commit.to_string()) {
            Err(Failed::Cancelled(error)) => Err(error),
            // Most likely nobody has it any more.
            outcome => Ok(outcome.is_ok()),
        }
    }

    fn fetched(&mut self) -> Result<Fetched, RpcError> {
        if self.folder.join(DAMAGED).exists() {
            self.clear(self.folder)?;
        }
        let was_there = self.folder.exists();
        let fetched = |reference| Fetched {
            folder: self.folder.to_owned(),
            reference,
            was_there,
            has_stray: false,
        };
        let own = format!("refs/dpe/{}", short_hash(self.reference.as_bytes()));
        let (with, without) = (fetched(Some(own.clone())), fetched(None));
        let Some(found) = self.ask()? else {
            self.prepare(self.folder, None)?;
            return Ok(without);
        };
        if was_there && self.has(&own, &found.id) {
            return Ok(with);
        }
        let format = if found.id.len() == 64 {
            "sha256"
        } else {
            "sha1"
        };
        self.prepare(self.folder, Some(format))?;
        match self.bring(self.folder, &found, &own) {
            Err(Failed::Refused(why)) if was_there => {
                let refused = self.failed(Failed::Refused(why));
                self.replace(&own, format, refused)?;
            }
            outcome => outcome.map_err(|why| self.failed(why))?,
        }
        Ok(with)
    }

    /// Fetches everything anew, after fetching what is new was refused. What is here goes only when
    /// something else is there in its place: it may be damaged, and it may be the other side that
    /// cannot give anything.
    fn replace(&mut self, own: &str, format: &str, refused: RpcError) -> Result<(), RpcError> {
        // Often it does not even answer any more.
        let found = self.ask()?.ok_or(refused.clone())?;
        let fresh = self.folder.with_extension("new");
        self.clear(&fresh)?;
        self.prepare(&fresh, Some(format))?;
        if let Err(why) = self.bring(&fresh, &found, own) {
            // What is left is removed by the next one who comes here.
            let _ = fs::remove_dir_all(&fresh);
            return Err(match why {
                Failed::Refused(_) => refused,
                why => self.failed(why),
            });
        }
        self.clear(self.folder)?;
        let renamed = fs::rename(&fresh, self.folder);
        renamed.map_err(|why| self.unusable(self.folder, &why))
    }

    /// Removes whatever is at a place of the cache.
    fn clear(&self, folder: &Path) -> Result<(), RpcError> {
        removed(folder).map_err(|why| self.unusable(folder, &why))
    }

    fn unusable(&self, folder: &Path, why: &io::Error) -> RpcError {
        let why = format!("the cache {}: {why}", folder.display());
        source_failed(self.place, &why).retryable()
    }

    /// Asks the other side what it has of that name; nothing if it is a HEAD without commits.
    fn ask(&mut self) -> Result<Option<Found>, RpcError> {
        let args = [
            "ls-remote",
            "--quiet",
            "--",
            &self.runner.url.text,
            self.reference,
        ];
        let args = args.map(OsString::from);
        let output = self
            .runner
            .run(self.base, &args)
            .map_err(|why| self.failed(why))?;
        let output = String::from_utf8_lossy(&output);
        let listed: Vec<(&str, &str)> = output
            .lines()
            .filter_map(|line| line.split_once('\t'))
            .collect();
        // The order of gitrevisions(7).
        let names = ["", "refs/", "refs/tags/", "refs/heads/", "refs/remotes/"];
        for name in names.map(|start| format!("{start}{}", self.reference)) {
            if let Some((id, _)) = listed.iter().find(|(_, listed)| **listed == *name) {
                let id = (*id).to_owned();
                return Ok(Some(Found { name, id }));
            }
        }
        if self.reference == "HEAD" {
            return Ok(None);
        }
        if ObjectId::from_hex(self.reference.as_bytes()).is_ok() {
            let (name, id) = (self.reference.to_owned(), self.reference.to_owned());
            return Ok(Some(Found { name, id }));
        }
        Err(source_failed(
            self.place,
            &format!("there is no {}", self.reference),
        ))
    }

    /// Returns whether the reference is here already as the other side has it.
    fn has(&self, own: &str, id: &str) -> bool {
        let (Ok(repository), Ok(id)) = (
            Repository::open(self.folder),
            ObjectId::from_hex(id.as_bytes()),
        ) else {
            return false;
        };
        repository.with(|repository| {
            let reference = repository.try_find_reference(own).ok().flatten();
            let here = reference.and_then(|reference| reference.try_id());
            here.is_some_and(|here| here == id && repository.has_object(here))
        })
    }

    /// Makes a repository to fetch into at `folder`, if there is none that can be opened. Without a
    /// `format` of its hashes, it may have any.
    fn prepare(&mut self, folder: &Path, format: Option<&str>) -> Result<(), RpcError> {
        let is_wanted = |repository: &gix::Repository| {
            format.is_none_or(|format| repository.object_hash().to_string() == format)
        };
        if Repository::open(folder).is_ok_and(|repository| repository.with(is_wanted)) {
            return Ok(());
        }
        self.clear(folder)?;
        let mut args: Vec<OsString> = ["init", "--quiet", "--bare", "--template="]
            .map(OsString::from)
            .into();
        args.push(format!("--object-format={}", format.unwrap_or("sha1")).into());
        args.push("--".into());
        args.push(folder.into());
        let made = self.runner.run(self.base, &args);
        made.map(drop).map_err(|why| self.failed(why))
    }

    /// Fetches what was found into the repository at `folder`.
    fn bring(&mut self, folder: &Path, found: &Found, own: &str) -> Result<(), Failed> {
        self.bring_by(folder, &format!("+{}:{own}", found.name))
    }

    fn bring_by(&mut self, folder: &Path, refspec: &str) -> Result<(), Failed> {
        let mut place = OsString::from("--git-dir=");
        place.push(folder);
        let mut args = vec![place];
        let options = [
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-recurse-submodules",
            "--no-write-fetch-head",
            // Of a repository that is shallow itself there is no more than it has.
            "--update-shallow",
            "--",
        ];
        args.extend(options.map(OsString::from));
        args.push(OsStr::new(&self.runner.url.text).into());
        args.push(refspec.into());
        self.runner.run(self.base, &args).map(drop)
    }

    fn failed(&self, why: Failed) -> RpcError {
        match why {
            Failed::Cancelled(error) => error,
            // The folder it was to run in is gone: somebody deleted the cache.
            Failed::NotStarted(why) if !self.base.is_dir() => self.unusable(self.base, &why),
            Failed::NotStarted(why) => {
                let why = format!("git cannot be started: {why}; install it, or correct PATH");
                source_failed(self.place, &why)
            }
            Failed::Refused(why) => source_failed(self.place, &why).retryable(),
        }
    }
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
