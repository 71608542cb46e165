//! Which repositories there are below a folder.
//!
//! A repository is not searched for others. Of a repository and its linked work trees only the first
//! counts, for they have one history.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dpe_connector::{CancelFlag, RpcError, path};
use gix::ObjectId;

use crate::cache::Fetched;
use crate::connector::Setup;
use crate::head::{self, NoCommit};
use crate::place::{NotBegun, Place, no_repository, repository_name, source_failed};
use crate::repository::Repository;

/// A repository whose history is a document.
pub(crate) struct Subject {
    /// Path of the document below the prefix, percent-encoded.
    pub(crate) key: String,
    /// Where the objects are.
    pub(crate) repository: Arc<Repository>,
    /// Where its history ends; nothing if it has none.
    pub(crate) commit: Option<ObjectId>,
    /// All that the document depends on; nothing if there is none.
    pub(crate) state: Option<String>,
}

/// Something that could not be looked at.
#[derive(Debug)]
pub(crate) struct Trouble {
    /// Path below the prefix, percent-encoded.
    pub(crate) key: String,
    /// What happened.
    pub(crate) why: String,
    /// Whether waiting may help.
    pub(crate) retryable: bool,
    is_folder: bool,
}

impl Trouble {
    /// Returns whether it is unknown what became of the document at `key`.
    pub(crate) fn concerns(&self, key: &str) -> bool {
        match key.strip_prefix(&self.key) {
            Some("") => true,
            Some(rest) => self.is_folder && rest.starts_with('/'),
            None => false,
        }
    }
}

/// What was found.
#[derive(Default)]
pub(crate) struct Repositories {
    /// Sorted by key.
    pub(crate) subjects: Vec<Subject>,
    /// What is unknown.
    pub(crate) troubles: Vec<Trouble>,
}

/// Returns the URI of the document at `key`.
pub(crate) fn uri(prefix: &str, key: &str) -> String {
    let path: Vec<u8> = percent_encoding::percent_decode_str(key).collect();
    path::file_uri(prefix, &path)
}

fn key(path: &[u8]) -> String {
    path::file_uri("", path)
}

/// Returns the repositories at the configured place.
///
/// # Errors
///
/// `source_failed` if there is none, or the only one cannot be read; `cancelled`.
pub(crate) fn find(
    setup: &Setup,
    fetched: Option<&Fetched>,
    cancel: &CancelFlag,
) -> Result<Repositories, NotBegun> {
    let failed = |why: String| NotBegun::Other(source_failed(&setup.place, &why));
    let not_begun = |why: NoCommit| why.not_begun(&setup.place);
    let root = match (fetched, &setup.place) {
        (Some(fetched), _) => {
            let reference = fetched.reference.as_deref();
            return one(setup, &fetched.folder, reference).map_err(not_begun);
        }
        (None, Place::Folder(root)) => root,
        (None, Place::Url(_)) => return Err(failed("not fetched".to_owned())),
    };
    fs::read_dir(root).map_err(|why| failed(why.to_string()))?;
    if is_repository(root) {
        return one(setup, root, Some(&setup.config.reference)).map_err(not_begun);
    }
    let mut search = Search {
        setup,
        root,
        cancel,
        found: Vec::new(),
        troubles: Vec::new(),
    };
    search.look_into(root)?;
    if search.found.is_empty() && search.troubles.is_empty() {
        let why = "nor is there one in it";
        return Err(NotBegun::Other(no_repository(root, why)));
    }
    Ok(search.opened())
}

/// The only repository.
fn one(setup: &Setup, path: &Path, reference: Option<&str>) -> Result<Repositories, NoCommit> {
    let repository = Repository::open(path).map_err(NoCommit::Damaged)?;
    Ok(Repositories {
        subjects: vec![subject(
            setup,
            key(&setup.place.name()),
            repository,
            reference,
        )?],
        troubles: Vec::new(),
    })
}

fn subject(
    setup: &Setup,
    key: String,
    repository: Repository,
    reference: Option<&str>,
) -> Result<Subject, NoCommit> {
    let commit = match reference {
        Some(reference) => head::commit(&repository, reference, &setup.config.reference)?,
        None => None,
    };
    let cut = repository.with(super::commits::cut);
    let cut = cut.map_err(NoCommit::Damaged)?;
    let state = commit.map(|commit| {
        // A history that was cut off elsewhere is another one.
        let mut cut: Vec<String> = cut.iter().map(ObjectId::to_string).collect();
        cut.sort_unstable();
        std::iter::once(commit.to_string())
            .chain(cut)
            .collect::<Vec<_>>()
            .join(" ")
    });
    Ok(Subject {
        key,
        repository: Arc::new(repository),
        commit,
        state,
    })
}

/// Returns whether there is a repository at `path`: one with a work tree, or a bare one.
fn is_repository(path: &Path) -> bool {
    path.join(".git").exists()
        || (path.join("HEAD").is_file()
            && path.join("objects").is_dir()
            && path.join("refs").is_dir())
}

struct Search<'a> {
    setup: &'a Setup,
    root: &'a Path,
    cancel: &'a CancelFlag,
    found: Vec<PathBuf>,
    troubles: Vec<Trouble>,
}

impl Search<'_> {
    fn look_into(&mut self, root: &Path) -> Result<(), RpcError> {
        let mut waiting = vec![root.to_owned()];
        while let Some(folder) = waiting.pop() {
            self.cancel.check()?;
            match self.folders(&folder) {
                Ok(folders) => {
                    for folder in folders {
                        if is_repository(&folder) {
                            self.found.push(folder);
                        } else {
                            waiting.push(folder);
                        }
                    }
                }
                Err(why) => self.troubles.push(Trouble {
                    key: key(self.relative(&folder)),
                    why: why.to_string(),
                    retryable: true,
                    is_folder: true,
                }),
            }
        }
        let selection = &self.setup.selection;
        let root = self.root;
        self.found
            .retain(|path| selection.includes(below(root, path)));
        self.found.sort_unstable();
        Ok(())
    }

    /// Returns the folders in a folder that are to be looked at; links are not followed.
    fn folders(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        let mut folders = Vec::new();
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let path = entry.path();
            let is_folder = entry.file_type()?.is_dir();
            if is_folder && self.setup.selection.admits(self.relative(&path), true) {
                folders.push(path);
            }
        }
        Ok(folders)
    }

    fn relative<'p>(&self, path: &'p Path) -> &'p [u8] {
        below(self.root, path)
    }

    /// Opens what was found.
    fn opened(self) -> Repositories {
        let mut opened = Vec::new();
        let mut troubles = self.troubles;
        let keys = keys(self.root, &self.found);
        for (path, key) in self.found.iter().zip(keys) {
            match Repository::open(path) {
                Ok(repository) => opened.push((key, repository)),
                Err(why) => troubles.push(trouble(key, why)),
            }
        }
        let mut subjects = Vec::new();
        for (key, repository) in without_linked(opened) {
            match subject(
                self.setup,
                key.clone(),
                repository,
                Some(&self.setup.config.reference),
            ) {
                Ok(subject) => subjects.push(subject),
                Err(why) => troubles.push(trouble(key, why.into_text())),
            }
        }
        subjects.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        Repositories { subjects, troubles }
    }
}

fn trouble(key: String, why: String) -> Trouble {
    Trouble {
        key,
        why,
        retryable: false,
        is_folder: false,
    }
}

fn below<'p>(root: &Path, path: &'p Path) -> &'p [u8] {
    path.strip_prefix(root)
        .unwrap_or(path)
        .as_os_str()
        .as_bytes()
}

/// Returns the keys of repositories: their paths without `.git`, unless two would be the same then.
fn keys(root: &Path, found: &[PathBuf]) -> Vec<String> {
    let short = |path: &PathBuf| {
        let path = below(root, path);
        let name = dpe_connector_files::file_name(path);
        let mut short = path[..path.len() - name.len()].to_owned();
        short.extend(repository_name(name));
        short
    };
    let mut times: HashMap<Vec<u8>, usize> = HashMap::new();
    for path in found {
        *times.entry(short(path)).or_default() += 1;
    }
    found
        .iter()
        .map(|path| match short(path) {
            short if times[&short] == 1 => key(&short),
            _ => key(below(root, path)),
        })
        .collect()
}

/// Leaves out what is only another work tree of a repository that is there already.
fn without_linked(opened: Vec<(String, Repository)>) -> Vec<(String, Repository)> {
    let places = |repository: &gix::Repository| {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        (real(repository.git_dir()), real(repository.common_dir()))
    };
    let (mut own, mut linked) = (Vec::new(), Vec::new());
    let mut seen = HashSet::new();
    for (key, repository) in opened {
        let (git_dir, common_dir) = repository.with(places);
        if git_dir == common_dir {
            if seen.insert(common_dir) {
                own.push((key, repository));
            }
        } else {
            linked.push((common_dir, (key, repository)));
        }
    }
    for (common_dir, tree) in linked {
        if seen.insert(common_dir) {
            own.push(tree);
        }
    }
    own
}
