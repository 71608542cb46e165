//! What changed since an earlier round, as far as `stat` tells. Pure.

use std::sync::Arc;

use dpe_connector_files::{file_name, is_named_as_picture};

use crate::cursor::{Damaged, Previous};
use crate::gone::Gone;
use crate::listing::{Entry, Fingerprint, Listing, Seen};
use crate::walk::{Found, Trouble};

/// A file that has to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Task {
    /// Number of the file in the order of the paths.
    pub(crate) file: usize,
    /// What was seen of it before.
    pub(crate) previous: Option<Box<Seen>>,
}

/// The outcome of a comparison, besides what goes into the listing at once.
#[derive(Debug, Default)]
pub(crate) struct Difference {
    /// Files to be read, sorted by path.
    pub(crate) tasks: Vec<Task>,
    /// Entries with a document whose file is gone.
    pub(crate) gone: Gone,
    /// Whether a file that its name calls a picture has come, has gone, or is to be read.
    pub(crate) has_pictures: bool,
}

/// What the files are beside those of the round before.
pub(crate) struct Compared {
    /// What has to be read, and what is gone.
    pub(crate) difference: Difference,
    /// What is known without a look.
    pub(crate) listing: Listing,
    /// So many bytes of each fingerprint are known.
    pub(crate) precision: usize,
    /// Whether there was anything to compare with.
    pub(crate) is_incremental: bool,
}

impl Compared {
    /// Compares what a cursor holds with the `files` a walk found, `unknown` being what it could not
    /// look at.
    pub(crate) fn with(
        previous: Option<Previous>,
        files: &Arc<Vec<Found>>,
        unknown: &[Trouble],
    ) -> Self {
        let compared = |previous: Option<&Previous>| {
            let mut listing = Listing::of(Arc::clone(files));
            let entries = previous.into_iter().flat_map(Previous::entries);
            let mut difference = compare(entries, files, unknown, &mut listing).ok()?;
            if difference.has_pictures {
                difference.read_again(listing.take_showing());
            }
            Some(Self {
                difference,
                listing,
                precision: previous.map_or(Fingerprint::BYTES, Previous::precision),
                is_incremental: previous.is_some(),
            })
        };
        // Nobody but a forger wrote a cursor that breaks off.
        compared(previous.as_ref())
            .or_else(|| compared(None))
            .expect("nothing to compare with is no damage")
    }
}

/// Compares the entries of an earlier round with the files a walk found, both sorted by path.
/// What needs no look is noted in `listing`, and so are entries at and below the paths of
/// `unknown`, whatever the walk saw.
///
/// # Errors
///
/// When the entries cannot be read to their end.
fn compare(
    previous: impl Iterator<Item = Result<Entry, Damaged>>,
    files: &[Found],
    unknown: &[Trouble],
    listing: &mut Listing,
) -> Result<Difference, Damaged> {
    let mut difference = Difference::default();
    let mut next = 0;
    for entry in previous {
        let entry = entry?;
        while files.get(next).is_some_and(|file| file.path < entry.path) {
            difference.read(next, files, None);
            next += 1;
        }
        match files.get(next).filter(|file| file.path == entry.path) {
            Some(file) if entry.seen.trusted && entry.seen.stat == file.stat => {
                listing.note(next, &entry.seen);
                next += 1;
            }
            Some(_) => {
                difference.read(next, files, Some(entry.seen));
                next += 1;
            }
            None if is_covered(&entry.path, unknown) => listing.keep(entry.doubted()),
            None => {
                difference.note_picture(&entry.path);
                difference.gone.push(&entry);
            }
        }
    }
    (next..files.len()).for_each(|file| difference.read(file, files, None));
    Ok(difference)
}

impl Difference {
    fn read(&mut self, file: usize, files: &[Found], previous: Option<Seen>) {
        self.note_picture(&files[file].path);
        let previous = previous.map(Box::new);
        self.tasks.push(Task { file, previous });
    }

    fn note_picture(&mut self, path: &[u8]) {
        self.has_pictures = self.has_pictures || is_named_as_picture(file_name(path));
    }

    /// Has files read that are what they were.
    fn read_again(&mut self, files: Vec<(usize, Seen)>) {
        let tasks = files.into_iter().map(|(file, seen)| Task {
            file,
            previous: Some(Box::new(seen)),
        });
        self.tasks.extend(tasks);
        self.tasks.sort_unstable_by_key(|task| task.file);
    }
}

/// Returns whether `path` or a folder above it is among `troubles`, sorted by path. The path of
/// the root is empty.
fn is_covered(path: &[u8], troubles: &[Trouble]) -> bool {
    let is_among = |path: &[u8]| {
        let found = troubles.binary_search_by(|trouble| (*trouble.path).cmp(path));
        found.is_ok()
    };
    let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    let mut above = slashes.map(|(end, _)| &path[..end]);
    !troubles.is_empty() && (is_among(b"") || is_among(path) || above.any(is_among))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::listing::{Content, Fingerprint};
    use crate::stat::Stat;

    fn stat(size: u64) -> Stat {
        Stat {
            size,
            mtime: 0,
            ctime: 0,
            inode: 0,
        }
    }

    fn entry(path: &str, trusted: bool) -> Entry {
        Entry {
            path: path.as_bytes().into(),
            seen: Seen {
                stat: stat(1),
                trusted,
                content: Some(Content {
                    fingerprint: Fingerprint::of(b"x"),
                    format: "txt".into(),
                }),
                refused: None,
                shows_neighbours: false,
            },
        }
    }

    fn found(path: &str, size: u64) -> Found {
        Found {
            path: path.as_bytes().into(),
            stat: stat(size),
        }
    }

    fn trouble(path: &str) -> Trouble {
        Trouble {
            path: path.as_bytes().into(),
            is_folder: true,
            message: String::new(),
            retryable: true,
        }
    }

    fn names(paths: Vec<&[u8]>) -> Vec<String> {
        let name = |path: &[u8]| String::from_utf8(path.to_vec()).unwrap();
        paths.into_iter().map(name).collect()
    }

    #[test]
    fn each_file_is_kept_read_or_gone() {
        let mut unsupported = entry("z.bin", true);
        unsupported.seen.content = None;
        let previous = [
            entry("a", true),
            entry("b", true),
            entry("c", false),
            entry("d", true),
            entry("dir/x", true),
            entry("directory", true),
            unsupported,
        ];
        let files = [found("a", 1), found("b", 2), found("c", 1), found("e", 1)];
        let mut listing = Listing::of(Arc::new(files.to_vec()));
        let previous = previous.into_iter().map(Ok);
        let difference = compare(previous, &files, &[trouble("dir")], &mut listing).unwrap();
        let tasks = difference.tasks.iter();
        let tasks = tasks.map(|task| &*files[task.file].path).collect();
        assert_eq!(names(tasks), ["b", "c", "e"]);
        let gone = (0..difference.gone.len()).map(|number| difference.gone.path(number));
        let gone = gone.collect();
        assert_eq!(names(gone), ["d", "directory"]);
        let kept: Vec<_> = listing
            .lines()
            .map(|line| (line.path, line.trusted))
            .collect();
        assert_eq!(kept, [(&b"a"[..], true), (b"dir/x", false)]);
    }

    #[test]
    fn a_folder_covers_what_is_below_it_and_not_its_namesakes() {
        let troubles = [trouble("a"), trouble("b/c")];
        for path in ["a", "a/b", "a/b/c", "b/c/d"] {
            assert!(is_covered(path.as_bytes(), &troubles), "{path}");
        }
        for path in ["ab", "b", "b/cd", "c/a"] {
            assert!(!is_covered(path.as_bytes(), &troubles), "{path}");
        }
        assert!(is_covered(b"x", &[trouble("")]));
    }

    #[test]
    fn a_listing_that_breaks_off_is_no_base() {
        let previous = [Ok(entry("a", true)), Err(Damaged)].into_iter();
        let mut listing = Listing::of(Arc::default());
        assert!(compare(previous, &[], &[], &mut listing).is_err());
    }
}
