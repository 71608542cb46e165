//! What changed between two listings, as far as `stat` tells. Pure.

use crate::listing::{Entry, is_within};
use crate::walk::{Found, Trouble};

/// A file that has to be read.
#[derive(Clone, Debug)]
pub(crate) struct Task {
    /// The file as the walk saw it.
    pub(crate) found: Found,
    /// What the listing before said of it.
    pub(crate) previous: Option<Entry>,
}

/// The outcome of a comparison.
#[derive(Debug, Default)]
pub(crate) struct Difference {
    /// Entries of the next listing for which nothing has to be done.
    pub(crate) kept: Vec<Entry>,
    /// Files to be read, sorted by path.
    pub(crate) tasks: Vec<Task>,
    /// Entries with a document whose file is gone, sorted by path.
    pub(crate) gone: Vec<Entry>,
}

/// Compares a listing with what a walk found, both sorted by path. Entries below a path in
/// `unknown` are kept, whatever the walk saw.
pub(crate) fn compare(previous: Vec<Entry>, found: Vec<Found>, unknown: &[Trouble]) -> Difference {
    let mut difference = Difference::default();
    let mut previous = previous.into_iter().peekable();
    for file in found {
        while let Some(entry) = previous.next_if(|entry| entry.path < file.path) {
            difference.missing(entry, unknown);
        }
        match previous.next_if(|entry| entry.path == file.path) {
            Some(entry) if entry.trusted && entry.stat == file.stat => {
                difference.kept.push(entry);
            }
            previous => difference.tasks.push(Task {
                found: file,
                previous,
            }),
        }
    }
    previous.for_each(|entry| difference.missing(entry, unknown));
    difference
}

impl Difference {
    fn missing(&mut self, entry: Entry, unknown: &[Trouble]) {
        if unknown
            .iter()
            .any(|trouble| is_within(&entry.path, &trouble.path))
        {
            self.kept.push(Entry {
                trusted: false,
                ..entry
            });
        } else if entry.content.is_some() {
            self.gone.push(entry);
        }
    }
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
            stat: stat(1),
            trusted,
            content: Some(Content {
                fingerprint: Fingerprint::of(b"x"),
                format: "txt".into(),
            }),
        }
    }

    fn found(path: &str, size: u64) -> Found {
        Found {
            path: path.as_bytes().into(),
            stat: stat(size),
        }
    }

    #[test]
    fn each_file_is_kept_read_or_gone() {
        let mut unsupported = entry("z.bin", true);
        unsupported.content = None;
        let previous = vec![
            entry("a", true),
            entry("b", true),
            entry("c", false),
            entry("d", true),
            entry("dir/x", true),
            entry("directory", true),
            unsupported,
        ];
        let files = vec![found("a", 1), found("b", 2), found("c", 1), found("e", 1)];
        let trouble = Trouble {
            path: b"dir"[..].into(),
            is_folder: true,
            message: String::new(),
            retryable: true,
        };
        let difference = compare(previous, files, &[trouble]);
        let names = |paths: Vec<&[u8]>| -> Vec<String> {
            let name = |path: &[u8]| String::from_utf8(path.to_vec()).unwrap();
            paths.into_iter().map(name).collect()
        };
        let kept = difference.kept.iter().map(|e| &*e.path).collect();
        assert_eq!(names(kept), ["a", "dir/x"]);
        assert!(!difference.kept[1].trusted);
        let tasks = difference.tasks.iter().map(|t| &*t.found.path).collect();
        assert_eq!(names(tasks), ["b", "c", "e"]);
        let gone = difference.gone.iter().map(|e| &*e.path).collect();
        assert_eq!(names(gone), ["d", "directory"]);
    }
}
