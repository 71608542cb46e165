//! One fetch: what the other side has is asked for first, and what is here already is kept until there is
//! something in its place.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::Path;

use dpe_connector::RpcError;
use gix::ObjectId;

use super::{DAMAGED, Fetched, short_hash};
use crate::command::{Failed, Runner};
use crate::place::{Place, source_failed};
use crate::repository::Repository;

/// What the other side has.
struct Found {
    /// Full name of the reference, or the commit itself.
    name: String,
    id: String,
}

/// A fetch into a folder that is locked.
pub(super) struct Fetch<'a> {
    pub(super) place: &'a Place,
    pub(super) reference: &'a str,
    pub(super) base: &'a Path,
    pub(super) folder: &'a Path,
    pub(super) runner: Runner<'a>,
}

impl Fetch<'_> {
    pub(super) fn run(&mut self, known: Option<ObjectId>) -> Result<Fetched, RpcError> {
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
            &format!("there is no {} in it", self.reference),
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
