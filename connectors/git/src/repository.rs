//! The objects of one repository, for several threads.
//!
//! Opened without the settings of the user or the system and without the environment, so that the
//! same repository gives the same objects to everybody. Who owns it does not matter: nothing of it
//! is run.

use std::fs::{self, File, Metadata};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use gix::ObjectId;
use gix::objs::Kind;

/// Larger objects are not read: what an object says of its length is said by whoever made it. Only a
/// larger `max_file_bytes` allows for more.
pub(crate) const LARGEST_OBJECT: u64 = 512 << 20;

/// What is read of a repository before anything else.
const READ_FIRST: [&str; 7] = [
    "HEAD",
    "commondir",
    "config",
    "config.worktree",
    "objects/info/alternates",
    "packed-refs",
    "shallow",
];

/// So many references may lead from one to the next, as for git.
const MOST_SYMBOLIC: usize = 5;

/// Why an object cannot be read.
#[derive(Debug)]
pub(crate) struct Unread {
    /// For people.
    pub(crate) why: String,
    /// Whether it, or what it is stored as a difference to, is larger than is read.
    pub(crate) is_too_large: bool,
}

impl Unread {
    fn of(error: &gix::Error) -> Self {
        Self {
            why: described(error),
            is_too_large: error.is_resource_exhausted(),
        }
    }
}

/// A repository. Reading is done with a copy of it per thread.
pub(crate) struct Repository {
    shared: gix::ThreadSafeRepository,
    idle: Mutex<Vec<gix::Repository>>,
}

impl Repository {
    /// Opens the repository at `path`: a work tree, a bare repository, or a `.git` of either form.
    ///
    /// # Errors
    ///
    /// Says why it cannot be opened.
    pub(crate) fn open(path: &Path) -> Result<Self, String> {
        Self::open_limited(path, LARGEST_OBJECT)
    }

    /// Opens it like [`Repository::open`], for objects of up to so many bytes.
    ///
    /// # Errors
    ///
    /// Says why it cannot be opened.
    pub(crate) fn open_limited(path: &Path, largest: u64) -> Result<Self, String> {
        refuse_pipes(path)?;
        let largest = format!("gitoxide.objects.allocLimit={largest}");
        let options = gix::open::Options::isolated()
            .with(gix::sec::Trust::Full)
            // What an object says counts, not what somebody wants to be seen in its place.
            .config_overrides(["core.useReplaceRefs=false", &*largest]);
        let shared = options.open(path).map_err(|why| described(&why))?;
        let repository = shared.to_thread_local();
        if let Some(format) = repository.config_snapshot().string("extensions.refStorage")
            && !format.eq_ignore_ascii_case(b"files")
        {
            return Err(format!(
                "its references are stored as `{format}`, which is not understood; \
                 `git refs migrate --ref-format=files` changes that"
            ));
        }
        Ok(Self {
            shared,
            idle: Mutex::new(vec![repository]),
        })
    }

    /// Does something with a copy of the repository that no other thread uses meanwhile.
    pub(crate) fn with<R>(&self, work: impl FnOnce(&gix::Repository) -> R) -> R {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = idle().pop();
        let repository = taken.unwrap_or_else(|| self.shared.to_thread_local());
        let result = work(&repository);
        idle().push(repository);
        result
    }

    /// Returns the length of a blob.
    ///
    /// # Errors
    ///
    /// When it is not there, damaged, or no blob.
    pub(crate) fn blob_size(&self, id: ObjectId) -> Result<u64, String> {
        let header = self.with(|repository| repository.find_header(id));
        let header = header.map_err(|why| described(&why))?;
        match header.kind() {
            Kind::Blob => Ok(header.size()),
            other => Err(format!("object {id} is a {other}, not a blob")),
        }
    }

    /// Returns the bytes of a blob.
    ///
    /// # Errors
    ///
    /// When it is not there, damaged, or no blob.
    pub(crate) fn blob(&self, id: ObjectId) -> Result<Vec<u8>, Unread> {
        self.object(id, Kind::Blob)
    }

    /// Returns the bytes of an object of this kind.
    ///
    /// # Errors
    ///
    /// When it is not there, damaged, or of another kind.
    pub(crate) fn object(&self, id: ObjectId, kind: Kind) -> Result<Vec<u8>, Unread> {
        let found = self.with(|repository| repository.find_object(id).map(gix::Object::detach));
        let found = found.map_err(|why| Unread::of(&why))?;
        if found.kind == kind {
            return Ok(found.data);
        }
        Err(Unread {
            why: format!("object {id} is a {}, not a {kind}", found.kind),
            is_too_large: false,
        })
    }
}

/// Where a name may be found below a directory of git's (gitrevisions(7)).
const PLACES: [&str; 5] = ["", "refs/", "refs/tags/", "refs/heads/", "refs/remotes/"];

/// A file with nothing but a name in it is shorter.
const NAME_BYTES: u64 = 4096;

/// Refuses a repository with something else in place of its files: reading a pipe has no end.
fn refuse_pipes(path: &Path) -> Result<(), String> {
    let mut folders = vec![path.to_owned(), path.join(".git")];
    for pointer in folders.clone() {
        refuse_pipe(&pointer)?;
        // Of a further work tree it is a file that leads there.
        if let Some(leads_to) = name_in(&pointer, "gitdir:") {
            folders.push(pointer.parent().unwrap_or(path).join(leads_to));
        }
    }
    let files = |folder: &PathBuf| READ_FIRST.map(|name| folder.join(name));
    folders
        .iter()
        .flat_map(files)
        .try_for_each(|file| refuse_pipe(&file))
}

/// Refuses a reference with something else in place of its file.
///
/// # Errors
///
/// Says which file it is.
pub(crate) fn refuse_pipes_for(
    repository: &gix::Repository,
    reference: &str,
) -> Result<(), String> {
    let folders = [repository.git_dir(), repository.common_dir()];
    // What follows these characters is a way from the reference to a commit.
    let name = reference.split(['^', '~', ':', '@']).next();
    let mut name = name
        .filter(|name| !name.is_empty())
        .unwrap_or("HEAD")
        .to_owned();
    for _ in 0..MOST_SYMBOLIC {
        let places = PLACES.map(|place| format!("{place}{name}"));
        let files = folders.map(|folder| places.clone().map(|place| folder.join(place)));
        files
            .iter()
            .flatten()
            .try_for_each(|file| refuse_pipe(file))?;
        let leads_to = files
            .iter()
            .flatten()
            .find_map(|file| name_in(file, "ref:"));
        match leads_to {
            Some(next) => name = next,
            None => break,
        }
    }
    Ok(())
}

fn refuse_pipe(file: &Path) -> Result<(), String> {
    let is_other = |kind: Metadata| !kind.is_file() && !kind.is_dir();
    if fs::metadata(file).is_ok_and(is_other) {
        let file = file.display();
        return Err(format!("{file} is neither a file nor a folder"));
    }
    Ok(())
}

/// Returns the name that is all of a small file but for what it begins with.
fn name_in(file: &Path, beginning: &str) -> Option<String> {
    let mut text = String::new();
    if !fs::metadata(file).ok()?.is_file() {
        return None;
    }
    let file = File::open(file).ok()?;
    file.take(NAME_BYTES).read_to_string(&mut text).ok()?;
    Some(text.strip_prefix(beginning)?.trim().to_owned())
}

/// Returns what an error and those behind it say, in one line.
pub(crate) fn described(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        cause = error.source();
    }
    text.replace(['\n', '\r'], " ")
}
