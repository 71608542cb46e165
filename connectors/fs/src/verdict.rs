//! Which rule of which file decides about a path: what a walk would make of it, and why.
//!
//! The rules are those of [`crate::rules`], asked from the root down to the path as a walk does. What a file
//! contains is not looked at.

use std::fs::{self, FileType};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use dpe_connector_files::Globs;

use crate::git;
use crate::rules::Rules;
use crate::walk::blindness;

/// What decides about a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing speaks against it.
    Admitted,
    /// A line of an ignore file; one that takes back admits.
    Rule {
        /// The file.
        file: PathBuf,
        /// Number of the line, from 1 on.
        line: usize,
        /// The pattern, as it stands there.
        pattern: Vec<u8>,
        /// Whether it takes back what others said.
        is_negative: bool,
    },
    /// Its name, or that of a folder above it, begins with a dot.
    Hidden,
    /// It is git's own.
    Git,
    /// It is a symbolic link, or lies behind one.
    Link,
    /// It is a pipe, a socket or a device.
    Special,
    /// A glob of the configuration's `exclude`.
    Excluded {
        /// The glob.
        glob: Vec<u8>,
    },
    /// No glob of the configuration's `include` names it.
    NotIncluded,
}

impl Verdict {
    /// Returns whether a walk leaves the path out.
    pub fn leaves_out(&self) -> bool {
        !matches!(
            self,
            Self::Admitted
                | Self::Rule {
                    is_negative: true,
                    ..
                }
        )
    }
}

/// Knows what decides about the paths of a folder.
#[derive(Debug)]
pub struct Judge {
    root: PathBuf,
    above: Rules,
    globs: Globs,
    hidden: bool,
}

impl Judge {
    /// Returns the judge of `root`, a canonical path, for what a configuration says of `include`, `exclude` and
    /// `hidden`. Lines for people go to `notes`.
    ///
    /// # Errors
    ///
    /// When an ignore file above the root cannot be read, or a glob is none.
    pub fn of(
        root: &Path,
        (include, exclude): (&[String], &[String]),
        hidden: bool,
        notes: &mut Vec<String>,
    ) -> io::Result<Self> {
        Ok(Self {
            root: root.to_owned(),
            above: Rules::above(root, notes).map_err(|why| io::Error::other(blindness(&why)))?,
            globs: Globs::new(include, exclude).map_err(io::Error::other)?,
            hidden,
        })
    }

    /// Returns what decides about `path`, relative to the root and without `.` and `..` in it. It need not exist;
    /// `is_folder` says whether it is one then.
    ///
    /// # Errors
    ///
    /// When an ignore file on the way cannot be read, or what is at the path cannot be found out.
    pub fn verdict(&self, path: &Path, is_folder: bool) -> io::Result<Verdict> {
        let names: Vec<_> = path
            .components()
            .filter_map(|part| match part {
                Component::Normal(name) => Some(name),
                _ => None,
            })
            .collect();
        let (mut folder, mut way) = (self.root.clone(), Vec::new());
        let mut rules = self.above.clone();
        let mut taken_back = None;
        for (place, name) in names.iter().enumerate() {
            let has = |name: &str| folder.join(name).symlink_metadata().is_ok();
            let inside = rules.inside(&folder, &way, has);
            rules = inside.map_err(|why| io::Error::other(blindness(&why)))?;
            if !way.is_empty() {
                way.push(b'/');
            }
            way.extend_from_slice(name.as_bytes());
            folder.push(name);
            let is_last = place + 1 == names.len();
            let kind = kind(&folder)?;
            let is_folder = kind.map_or(is_folder || !is_last, |kind| kind.is_dir());
            match self.step(name.as_bytes(), &way, is_folder, &rules) {
                verdict if verdict.leaves_out() => return Ok(verdict),
                verdict => taken_back = Some(verdict),
            }
            match kind {
                Some(kind) if kind.is_symlink() => return Ok(Verdict::Link),
                Some(kind) if !kind.is_dir() && !kind.is_file() => return Ok(Verdict::Special),
                _ => {}
            }
        }
        Ok(taken_back.unwrap_or(Verdict::Admitted))
    }

    /// Returns what the rules of its folder say of one name on the way.
    fn step(&self, name: &[u8], way: &[u8], is_folder: bool, rules: &Rules) -> Verdict {
        if name == git::DIRECTORY.as_bytes() {
            return Verdict::Git;
        }
        if name.starts_with(b".") && !self.hidden {
            return Verdict::Hidden;
        }
        let rule = rules
            .decisive(way, is_folder)
            .map(|(file, line)| Verdict::Rule {
                file,
                line: line.number,
                pattern: line.text.to_owned(),
                is_negative: line.is_negative,
            });
        if let Some(rule) = rule.as_ref().filter(|rule| rule.leaves_out()) {
            return rule.clone();
        }
        if let Some(line) = self.globs.excluding(way, is_folder) {
            let glob = line.text.to_owned();
            return Verdict::Excluded { glob };
        }
        if !is_folder && !self.globs.include(way, false) {
            return Verdict::NotIncluded;
        }
        rule.unwrap_or(Verdict::Admitted)
    }
}

/// Returns what is at a path; nothing if there is nothing.
fn kind(path: &Path) -> io::Result<Option<FileType>> {
    match fs::symlink_metadata(path) {
        Ok(metadata) => Ok(Some(metadata.file_type())),
        Err(error) if crate::read::is_gone(&error) => Ok(None),
        Err(error) => Err(error),
    }
}
