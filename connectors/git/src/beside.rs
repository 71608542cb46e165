//! The pictures that texts show of files beside them: blobs of the same tree, as far as they are enumerated.
//!
//! Nothing is known of the round before but its tree. Which texts show a picture that is another one now is told by
//! their own bytes: whoever shows a picture names it.

use std::borrow::Cow;
use std::collections::HashSet;

use dpe_connector::{CancelFlag, RpcError};
use dpe_connector_files::{
    NEIGHBOUR_BYTES, Neighbour, Neighbours, file_name, format_of, is_named_as_picture,
    shows_pictures_beside,
};
use gix::ObjectId;
use memchr::memmem;
use percent_encoding::percent_decode;

use crate::blob::{Examiner, NO_TEXT, Task};
use crate::held::Held;
use crate::tree::{self, Change, Difference, NoDifference};

/// Of more pictures than these the names are not looked for: every text that shows any may show one of them.
const MOST_NAMES: usize = 100;

/// A longer blob is not looked into, in bytes: its name speaks for it.
const LONGEST: u64 = 16 << 20;

impl Neighbours<Held> for Examiner {
    fn look(&self, path: &[u8]) -> Option<Neighbour<Held>> {
        let (tree, selection) = (self.tree?, &self.setup.selection);
        let found = |repository: &gix::Repository| tree::find(repository, selection, tree, path);
        let blob = self.repository.with(found)?;
        let size = self.repository.blob_size(blob).ok()?;
        let mut head = self.repository.blob(blob).ok()?;
        head.truncate(NEIGHBOUR_BYTES as usize);
        Some(Neighbour {
            head,
            size,
            name: blob.to_string(),
            held: self.held(blob),
        })
    }
}

/// Adds the texts that are what they were and show pictures that are not.
///
/// # Errors
///
/// `cancelled`.
pub(crate) fn add_texts_that_show(
    changes: &[Change],
    tasks: &mut Vec<Task>,
    examiner: &Examiner,
    cancel: &CancelFlag,
) -> Result<(), RpcError> {
    let Some(pictures) = Pictures::of(changes) else {
        return Ok(());
    };
    let known: HashSet<&[u8]> = changes.iter().map(|change| &*change.path).collect();
    let mut found = Vec::new();
    for Change { path, now, .. } in everything(examiner, cancel)?.changes {
        cancel.check()?;
        let Some(id) = now.filter(|_| !known.contains(&*path) && may_show(&path)) else {
            continue;
        };
        let size = examiner.repository.blob_size(id).unwrap_or(0);
        if pictures.may_be_in(&path, id, size, examiner) {
            let before = Some((path.clone(), id));
            found.push(Task {
                path,
                id,
                size,
                before,
            });
        }
    }
    tasks.extend(found);
    tasks.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(())
}

/// Returns all that is enumerated; nothing if it cannot be, which others report.
fn everything(examiner: &Examiner, cancel: &CancelFlag) -> Result<Difference, RpcError> {
    let Some(tree) = examiner.tree else {
        return Ok(Difference::default());
    };
    let selection = &examiner.setup.selection;
    let compared = examiner
        .repository
        .with(|repository| tree::compare(repository, selection, None, tree, cancel));
    match compared {
        Ok(difference) => Ok(difference),
        Err(NoDifference::Cancelled(error)) => Err(error),
        Err(_) => Ok(Difference::default()),
    }
}

/// Whether a file may be a text that shows pictures, by its name.
fn may_show(path: &[u8]) -> bool {
    // A name that says nothing leaves it to the content.
    !is_named_as_picture(file_name(path)) && shows(path, b"<!doctype html>")
}

/// Whether a file that begins like this is a text that shows pictures.
fn shows(path: &[u8], head: &[u8]) -> bool {
    let format = format_of(file_name(path), head);
    format.is_some_and(|format| shows_pictures_beside(&format))
}

/// The names of pictures that came, went or changed; none if they are too many to be looked for.
struct Pictures(Option<Vec<Vec<u8>>>);

impl Pictures {
    fn of(changes: &[Change]) -> Option<Self> {
        let names = changes.iter().map(|change| file_name(&change.path));
        let names: HashSet<&[u8]> = names.filter(|name| is_named_as_picture(name)).collect();
        if names.is_empty() {
            return None;
        }
        let names = (names.len() <= MOST_NAMES).then_some(names);
        Some(Self(names.map(|names| {
            names.into_iter().map(<[u8]>::to_vec).collect()
        })))
    }

    /// Whether a file is a text that shows one of them, or may. One that cannot be read stays what it was told to be.
    fn may_be_in(&self, path: &[u8], id: ObjectId, size: u64, examiner: &Examiner) -> bool {
        if size > LONGEST {
            return shows(path, NO_TEXT);
        }
        let Ok(bytes) = examiner.repository.blob(id) else {
            return false;
        };
        let mut names = self.0.iter().flatten();
        let is_any = self.0.is_none() || names.any(|name| is_named(name, &bytes));
        is_any && shows(path, &bytes)
    }
}

/// Whether a text has a name in it, as it is or escaped. Where that cannot be told, it may.
fn is_named(name: &[u8], text: &[u8]) -> bool {
    let is_wide = text.starts_with(b"\xFF\xFE") || text.starts_with(b"\xFE\xFF");
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"._- ".contains(byte);
    if is_wide || (!name.iter().all(is_plain) && text.contains(&b'&')) {
        return true;
    }
    let has = |text: &[u8]| memmem::find(text, name).is_some();
    let decoded: Cow<'_, [u8]> = percent_decode(text).into();
    if has(text) || has(&decoded) {
        return true;
    }
    let bare = decoded.iter().copied().filter(|byte| *byte != b'\\');
    decoded.contains(&b'\\') && has(&bare.collect::<Vec<u8>>())
}

#[cfg(test)]
mod tests {
    use super::is_named;

    #[test]
    fn a_name_is_found_as_it_is_and_in_an_address() {
        assert!(is_named(b"a b.png", b"![](x/a%20b.png)"));
        assert!(is_named(b"a b.png", b"<img src='a b.png'>"));
        assert!(is_named(b"100%25.png", b"![](100%25.png)"));
        assert!(is_named(b"a.png", b"\xFF\xFEa\0.\0"));
        assert!(is_named(b"a_b.png", br"![](a\_b.png)"));
        assert!(is_named(b"a&b.png", b"<img src='a&amp;b.png'>"));
        assert!(!is_named(b"b.png", b"![](c.png) & more"));
    }
}
