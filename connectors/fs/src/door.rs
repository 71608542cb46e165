//! Opens files below the root, and nothing that only looks as if it were there.
//!
//! Between the walk and the reading of a file any folder on its way may have become a link to
//! somewhere else. Where the kernel can be told so, it resolves the whole path without leaving the
//! root, and without links unless they are to be followed (openat2, Linux 5.6); elsewhere at least
//! the last component is no link that is not to be followed.

use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

#[cfg(target_os = "linux")]
use rustix::fs::ResolveFlags;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::walk::absolute;

/// Longest path that is handed to the kernel at once, in bytes; it takes no more than 4095. A longer
/// one is gone along in steps.
#[cfg(target_os = "linux")]
const STEP_BYTES: usize = 3800;

/// How often the kernel is asked again.
#[cfg(target_os = "linux")]
const AGAIN: u32 = 16;

/// Which links a path may lead through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Links {
    /// None.
    Refused,
    /// Those that end below the root.
    Within,
    /// All: somebody has named the file himself.
    Anywhere,
}

/// The way to the files of a folder.
#[derive(Debug)]
pub(crate) struct Door {
    root: PathBuf,
    /// The root itself, whatever becomes of its name.
    folder: Option<OwnedFd>,
    links: Links,
}

impl Door {
    /// Returns the door to the folder `root`, a canonical path.
    pub(crate) fn to(root: &Path, links: Links) -> Self {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Self {
            root: root.to_owned(),
            folder: rustix::fs::open(root, flags, Mode::empty()).ok(),
            links,
        }
    }

    /// Opens the file at `path`, relative to the root, without waiting for anything.
    ///
    /// # Errors
    ///
    /// As the system's; a path that leads out of the root is one that is a link.
    pub(crate) fn open(&self, path: &[u8]) -> io::Result<File> {
        let whole = absolute(&self.root, path);
        let follow = self.links != Links::Refused;
        let Some(folder) = self
            .folder
            .as_ref()
            .filter(|_| self.links != Links::Anywhere)
        else {
            return open(&whole, follow);
        };
        match resolved(folder, path, follow) {
            Ok(file) => Ok(file),
            // The kernel takes every absolute link for one that leads out.
            Err(Errno::XDEV) if follow => self.open_end(folder, &whole),
            Err(Errno::XDEV) => Err(Errno::LOOP.into()),
            Err(Errno::NOSYS | Errno::PERM | Errno::INVAL) => open(&whole, follow),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Opens the folder at `path`, however long that is.
    ///
    /// # Errors
    ///
    /// As the system's, and where it cannot be told to stay below the root.
    pub(crate) fn folder(&self, path: &[u8]) -> io::Result<OwnedFd> {
        let folder = self.folder.as_ref().ok_or(Errno::NAMETOOLONG)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(opened(folder, path, flags, self.links != Links::Refused)?)
    }

    /// Opens what a path ends at, if that is below the root.
    fn open_end(&self, folder: &OwnedFd, path: &Path) -> io::Result<File> {
        let end = fs::canonicalize(path)?;
        let below = end.strip_prefix(&self.root).map_err(|_| Errno::LOOP)?;
        let below = std::os::unix::ffi::OsStrExt::as_bytes(below.as_os_str());
        resolved(folder, below, false).map_err(io::Error::from)
    }
}

fn resolved(folder: &OwnedFd, path: &[u8], follow: bool) -> rustix::io::Result<File> {
    opened(folder, path, flags(), follow).map(File::from)
}

/// Opens what is at `path` below `folder`, a long path step by step.
#[cfg(target_os = "linux")]
fn opened(
    folder: &OwnedFd,
    mut path: &[u8],
    flags: OFlags,
    follow: bool,
) -> rustix::io::Result<OwnedFd> {
    let mut above = None;
    while path.len() > STEP_BYTES {
        let slash = path[..STEP_BYTES].iter().rposition(|&byte| byte == b'/');
        let slash = slash.ok_or(Errno::NAMETOOLONG)?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let step = step(
            above.as_ref().unwrap_or(folder),
            &path[..slash],
            flags,
            follow,
        )?;
        above = Some(step);
        path = &path[slash + 1..];
    }
    step(above.as_ref().unwrap_or(folder), path, flags, follow)
}

#[cfg(target_os = "linux")]
fn step(folder: &OwnedFd, path: &[u8], flags: OFlags, follow: bool) -> rustix::io::Result<OwnedFd> {
    let mut resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    if !follow {
        resolve |= ResolveFlags::NO_SYMLINKS;
    }
    let open = || rustix::fs::openat2(folder, path, flags, Mode::empty(), resolve);
    // Asks for another attempt when something was renamed while it looked.
    let mut opened = open();
    for _ in 0..AGAIN {
        if !matches!(opened, Err(Errno::AGAIN)) {
            break;
        }
        opened = open();
    }
    opened
}

#[cfg(not(target_os = "linux"))]
fn opened(_: &OwnedFd, _: &[u8], _: OFlags, _: bool) -> rustix::io::Result<OwnedFd> {
    Err(Errno::NOSYS)
}

/// Opens a file for reading, without waiting for anything.
pub(crate) fn open(path: &Path, follow: bool) -> io::Result<File> {
    let mut flags = flags();
    if !follow {
        flags |= OFlags::NOFOLLOW;
    }
    Ok(File::from(rustix::fs::open(path, flags, Mode::empty())?))
}

/// Non-blocking: what was a file a moment ago may be a pipe nobody writes to.
fn flags() -> OFlags {
    OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::fs::symlink;

    use super::*;

    fn said(door: &Door, path: &str) -> Option<String> {
        let mut text = String::new();
        door.open(path.as_bytes())
            .ok()?
            .read_to_string(&mut text)
            .unwrap();
        Some(text)
    }

    #[test]
    fn a_folder_that_became_a_link_leads_nowhere() {
        let outside = tempfile::tempdir().unwrap();
        fs::create_dir(outside.path().join("d")).unwrap();
        fs::write(outside.path().join("d/a"), "secret").unwrap();
        let inside = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(inside.path()).unwrap();
        fs::create_dir(root.join("d")).unwrap();
        fs::write(root.join("d/a"), "own").unwrap();
        let doors = [Links::Refused, Links::Within].map(|links| Door::to(&root, links));
        for door in &doors {
            assert_eq!(said(door, "d/a").as_deref(), Some("own"));
        }
        fs::rename(root.join("d"), root.join("e")).unwrap();
        symlink(outside.path().join("d"), root.join("d")).unwrap();
        for door in &doors {
            assert_eq!(said(door, "d/a"), None, "{door:?}");
        }
        let named = Door::to(&root, Links::Anywhere);
        assert_eq!(said(&named, "d/a").as_deref(), Some("secret"));
    }

    #[test]
    fn links_within_the_root_are_followed_on_request_be_they_absolute_or_not() {
        let inside = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(inside.path()).unwrap();
        fs::create_dir(root.join("d")).unwrap();
        fs::write(root.join("d/a"), "own").unwrap();
        symlink("../d/a", root.join("d/relative")).unwrap();
        symlink(root.join("d"), root.join("absolute")).unwrap();
        symlink("/etc/passwd", root.join("out")).unwrap();
        let (refused, within) = (
            Door::to(&root, Links::Refused),
            Door::to(&root, Links::Within),
        );
        for path in ["d/relative", "absolute/a"] {
            assert_eq!(said(&within, path).as_deref(), Some("own"), "{path}");
            assert_eq!(said(&refused, path), None, "{path}");
        }
        assert_eq!(said(&within, "out"), None);
    }
}
