//! Which ignore files count for a folder, and which of them has the last word.
//!
//! `.dpeignore` before `.ignore` before `.gitignore` before `.git/info/exclude` before the user's
//! own file; among files of one name the one nearest to the path. That is git's order
//! (gitignore(5)) with two more names in front of it. As for git, what belongs to a repository
//! says nothing about another repository inside it. What lines mean is [`Patterns`]' business.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dpe_connector_files::{Case, Line, Patterns};

use crate::door::open;
use crate::git;
use crate::read::is_gone;

/// The ignore files of a folder, in the order of their weight.
const FILES: [&str; 3] = [".dpeignore", ".ignore", GITIGNORE];
const GITIGNORE: &str = ".gitignore";

/// Longest ignore file that is read, in bytes; git's own limit.
const LONGEST: u64 = 100 << 20;

/// The rules for what lies in one folder.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    level: Option<Arc<Level>>,
    whole: Arc<Whole>,
}

/// What counts for all folders.
#[derive(Debug)]
struct Whole {
    /// Where the root lies below the outermost folder whose rules count, as the beginning of a
    /// path; empty or with a slash at its end.
    above: Vec<u8>,
    /// The user's own ignore file.
    of_user: Patterns,
    /// Where it is, if there is one.
    file_of_user: Option<PathBuf>,
    case: Case,
}

/// A folder that has rules.
#[derive(Debug)]
struct Level {
    parent: Option<Arc<Level>>,
    /// Where it is in the file system.
    place: PathBuf,
    /// So many bytes of a path lead here.
    depth: usize,
    /// One for each of [`FILES`].
    files: [Patterns; FILES.len()],
    /// `.git/info/exclude`.
    of_repository: Patterns,
    /// Whether this is the top of a repository.
    is_repository: bool,
}

/// Whose rules decide.
#[derive(Clone, Copy)]
enum RulesOf<'r> {
    /// A folder's, by the place in [`FILES`].
    Folder(&'r Level, usize),
    /// `.git/info/exclude`.
    Repository(&'r Level),
    /// The user's own.
    User,
}

/// An ignore file that is there and cannot be read.
#[derive(Debug)]
pub(crate) struct Unreadable {
    /// Which one.
    pub(crate) file: PathBuf,
    /// Why.
    pub(crate) error: io::Error,
}

impl Rules {
    /// Returns what counts before anything of `root` itself is known: the user's rules, and those
    /// of the folders above if the root lies within a repository. Lines for people go to `notes`.
    ///
    /// # Errors
    ///
    /// When an ignore file above the root cannot be read.
    pub(crate) fn above(root: &Path, notes: &mut Vec<String>) -> Result<Self, Unreadable> {
        let top = match root.join(git::DIRECTORY).exists() {
            true => Some(root),
            false => root
                .ancestors()
                .find(|above| above.join(git::DIRECTORY).exists()),
        };
        // A call without HOME, by cron for one, must not deliver what the same user leaves out at a prompt.
        let home = env::home_dir();
        let settings = git::Settings::of(home.as_deref(), top, notes);
        let of_user = match &settings.excludes_file {
            Some(path) => patterns_of_user(path, notes)?,
            None => Patterns::default(),
        };
        let top = top.unwrap_or(root);
        let mut above = below(top, root);
        if !above.is_empty() {
            above.push(b'/');
        }
        let mut rules = Self {
            level: None,
            whole: Arc::new(Whole {
                above,
                of_user,
                file_of_user: settings.excludes_file,
                case: settings.case,
            }),
        };
        let mut folders: Vec<&Path> = root.ancestors().skip(1).collect();
        folders.retain(|folder| folder.starts_with(top));
        for folder in folders.into_iter().rev() {
            let depth = below(top, folder);
            let depth = depth.len() + usize::from(!depth.is_empty());
            rules = rules.at(folder, depth, |name| folder.join(name).exists())?;
        }
        Ok(rules)
    }

    /// Returns the rules for what lies in the folder at `path`, relative to the root, these being
    /// those for the folder itself. `folder` is its place in the file system, and `has` tells
    /// whether there is something of a name in it.
    ///
    /// # Errors
    ///
    /// When an ignore file in it cannot be read.
    pub(crate) fn inside(
        &self,
        folder: &Path,
        path: &[u8],
        has: impl Fn(&str) -> bool,
    ) -> Result<Self, Unreadable> {
        let depth = self.whole.above.len() + path.len() + usize::from(!path.is_empty());
        self.at(folder, depth, has)
    }

    fn at(
        &self,
        folder: &Path,
        depth: usize,
        has: impl Fn(&str) -> bool,
    ) -> Result<Self, Unreadable> {
        let mut files = [const { Patterns::empty() }; FILES.len()];
        for (patterns, name) in files.iter_mut().zip(FILES) {
            if has(name) {
                // Git does not follow a link in this place, and so whoever uses one has rules
                // that do not count there either.
                *patterns = patterns_in(&folder.join(name), name != GITIGNORE)?;
            }
        }
        let is_repository = has(git::DIRECTORY);
        let of_repository = match is_repository {
            true => patterns_in(&git::exclude_file(folder), true)?,
            false => Patterns::default(),
        };
        if !is_repository && of_repository.is_empty() && files.iter().all(Patterns::is_empty) {
            return Ok(self.clone());
        }
        Ok(Self {
            level: Some(Arc::new(Level {
                parent: self.level.clone(),
                place: folder.to_owned(),
                depth,
                files,
                of_repository,
                is_repository,
            })),
            whole: Arc::clone(&self.whole),
        })
    }

    /// Returns whether `path`, relative to the root and directly in the folder of these rules, is
    /// left out.
    pub(crate) fn leave_out(&self, path: &[u8], is_folder: bool) -> bool {
        let path = [&*self.whole.above, path].concat();
        let decisive = self.decisive_of(&path, is_folder);
        decisive.is_some_and(|(_, line)| !line.is_negative)
    }

    /// Returns the rule that decides about `path`, as [`Self::leave_out`] does, with its file.
    pub(crate) fn decisive(&self, path: &[u8], is_folder: bool) -> Option<(PathBuf, Line<'_>)> {
        let path = [&*self.whole.above, path].concat();
        let (source, line) = self.decisive_of(&path, is_folder)?;
        let file = match source {
            RulesOf::Folder(level, kind) => level.place.join(FILES[kind]),
            RulesOf::Repository(level) => git::exclude_file(&level.place),
            RulesOf::User => self.whole.file_of_user.clone().unwrap_or_default(),
        };
        Some((file, line))
    }

    fn decisive_of(&self, path: &[u8], is_folder: bool) -> Option<(RulesOf<'_>, Line<'_>)> {
        let case = self.whole.case;
        let of_kind = |kind: usize| {
            let mut levels = self.levels(FILES[kind] == GITIGNORE);
            levels.find_map(|level| {
                let line = level.files[kind].decisive(&path[level.depth..], is_folder, case)?;
                Some((RulesOf::Folder(level, kind), line))
            })
        };
        let of_repository = || {
            self.levels(true).find_map(|level| {
                let line = &level.of_repository;
                let line = line.decisive(&path[level.depth..], is_folder, case)?;
                Some((RulesOf::Repository(level), line))
            })
        };
        let of_user = || {
            let path = &path[self.repository_depth()..];
            let line = self.whole.of_user.decisive(path, is_folder, case)?;
            Some((RulesOf::User, line))
        };
        (0..FILES.len())
            .find_map(of_kind)
            .or_else(of_repository)
            .or_else(of_user)
    }

    /// Returns the levels from the inside out; `within` the repository only, or all.
    fn levels(&self, within: bool) -> impl Iterator<Item = &Level> {
        let mut next = self.level.as_deref();
        std::iter::from_fn(move || {
            let level = next?;
            let is_last = within && level.is_repository;
            next = level.parent.as_deref().filter(|_| !is_last);
            Some(level)
        })
    }

    /// Returns how many bytes of a path lead to the top of the repository, or to the root.
    fn repository_depth(&self) -> usize {
        self.levels(true)
            .find(|level| level.is_repository)
            .map_or(0, |level| level.depth)
    }
}

/// Returns the patterns in the user's own file. If there is no way to it, git goes on without it
/// and warns: whoever runs this as somebody else has no rules there.
fn patterns_of_user(path: &Path, notes: &mut Vec<String>) -> Result<Patterns, Unreadable> {
    match fs::metadata(path) {
        Err(error) if !is_gone(&error) || path.is_symlink() => {
            let path = path.display();
            notes.push(format!("the ignore rules in {path} do not count: {error}"));
            Ok(Patterns::default())
        }
        _ => patterns_in(path, true),
    }
}

/// Returns the patterns in the file at `path`; none if it is not there, a folder or a device, or a link that is not
/// to be followed. A link that leads nowhere has rules that nobody knows.
fn patterns_in(path: &Path, follow: bool) -> Result<Patterns, Unreadable> {
    match text_of(path, follow) {
        Ok(text) => Ok(Patterns::parse(&text)),
        Err(error) if is_gone(&error) && !(follow && path.is_symlink()) => Ok(Patterns::default()),
        Err(error) => Err(Unreadable {
            file: path.to_owned(),
            error,
        }),
    }
}

fn text_of(path: &Path, follow: bool) -> io::Result<Vec<u8>> {
    let file = open(path, follow)?;
    let kind = file.metadata()?.file_type();
    if kind.is_fifo() || kind.is_socket() {
        return Err(io::Error::other("it is no file"));
    }
    let mut text = Vec::new();
    if kind.is_file() {
        file.take(LONGEST + 1).read_to_end(&mut text)?;
    }
    if text.len() as u64 > LONGEST {
        return Err(io::Error::other("longer than 100 MiB"));
    }
    Ok(text)
}

/// Returns the path that leads from `top` to `folder`, without slashes at its ends.
fn below(top: &Path, folder: &Path) -> Vec<u8> {
    let path = folder.strip_prefix(top).unwrap_or(Path::new(""));
    OsStr::as_bytes(path.as_os_str()).to_owned()
}
