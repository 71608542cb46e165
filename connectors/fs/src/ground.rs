//! What a listing was taken from: the file systems that a folder lies on.
//!
//! A folder whose file system is not mounted looks like one that was emptied. Only what it was before tells the two
//! apart; no file is looked at here.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::walk::{Found, Trouble, absolute};

const UNMOUNTED: &str = "another file system was mounted here, and now there is an empty folder; what it held is \
    kept. Mount it, or remove the folder if it is not to come back";

/// More are not kept: nobody has so many, and each is looked at in every round.
const MOST: usize = 1000;

/// The file systems below a root.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Ground {
    /// The device that the root lies on.
    pub(crate) device: u64,
    /// Folders below it where another file system begins, relative to the root, and in which there were files.
    mounts: Vec<Box<[u8]>>,
}

impl Ground {
    /// Returns the ground of a listing of `files`, sorted by path. Of the folders where file systems begin, those
    /// are kept that hold any, and all that are not mounted just now.
    pub(crate) fn of(
        device: u64,
        mut mounts: Vec<Box<[u8]>>,
        files: &[Found],
        unmounted: &[Trouble],
    ) -> Self {
        mounts.retain(|folder| holds_files(folder, files));
        mounts.extend(unmounted.iter().map(|trouble| trouble.path.clone()));
        mounts.sort_unstable();
        mounts.truncate(MOST);
        Self { device, mounts }
    }

    /// Returns the folders where a file system was and none is now: there is an empty folder in its place. Whoever
    /// means it so removes the folder too.
    pub(crate) fn unmounted(&self, root: &Path) -> Vec<Trouble> {
        let folders = self.mounts.iter();
        let bare = folders.filter(|folder| is_bare(&absolute(root, folder)).unwrap_or(false));
        bare.map(|folder| Trouble {
            path: folder.clone(),
            is_folder: true,
            message: UNMOUNTED.to_owned(),
            retryable: true,
        })
        .collect()
    }
}

/// Returns whether a folder is empty and on the file system of the folder it lies in.
fn is_bare(folder: &Path) -> io::Result<bool> {
    let device = fs::symlink_metadata(folder)?.dev();
    let above = folder.parent().map(fs::metadata).transpose()?;
    let is_mounted = above.is_some_and(|above| above.dev() != device);
    Ok(!is_mounted && fs::read_dir(folder)?.next().is_none())
}

fn holds_files(folder: &[u8], files: &[Found]) -> bool {
    let below = [folder, b"/"].concat();
    let first = files.partition_point(|file| *file.path < *below);
    files
        .get(first)
        .is_some_and(|file| file.path.starts_with(&below))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::Ground;
    use crate::stat::Stat;
    use crate::walk::Found;

    fn found(path: &str) -> Found {
        let stat = Stat {
            size: 0,
            mtime: 0,
            ctime: 0,
            inode: 0,
        };
        Found {
            path: path.as_bytes().into(),
            stat,
        }
    }

    fn mounts(paths: &[&str]) -> Vec<Box<[u8]>> {
        paths.iter().map(|path| path.as_bytes().into()).collect()
    }

    #[test]
    fn of_what_was_mounted_only_an_empty_folder_in_its_place_counts_as_unmounted() {
        let root = tempfile::tempdir().unwrap();
        for folder in ["empty", "full"] {
            fs::create_dir(root.path().join(folder)).unwrap();
        }
        fs::write(root.path().join("full/a"), "a").unwrap();
        let files = ["empty/a", "full/a", "removed/a"].map(found);
        let ground = Ground::of(1, mounts(&["empty", "full", "removed"]), &files, &[]);
        let unmounted = ground.unmounted(root.path());
        let paths: Vec<&[u8]> = unmounted.iter().map(|trouble| &*trouble.path).collect();
        assert_eq!(paths, [b"empty"]);
        let again = Ground::of(1, Vec::new(), &[], &unmounted);
        assert_eq!(again.unmounted(root.path()), unmounted);
    }

    #[test]
    fn where_no_file_was_there_is_nothing_to_miss() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("b")).unwrap();
        let ground = Ground::of(1, mounts(&["b"]), &["a/x", "b.txt", "c"].map(found), &[]);
        assert_eq!(ground.unmounted(root.path()), []);
    }
}
