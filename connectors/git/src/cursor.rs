//! The cursor (connector contract §16): which commit was enumerated, or which commits the
//! repositories were at. With a commit go the files that have to be looked at again all the same, and apart
//! from each other those that gave no document and those of which nobody knows what became of theirs.
//!
//! Usable only for the very same configuration, and as it was given. Any other text is no cursor; then
//! everything is enumerated anew.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dpe_connector_files::Owner;
use gix::ObjectId;

/// Says which layout follows.
const LAYOUT: &str = "git2";

/// Stands for a repository without commits.
const UNBORN: &str = "unborn";

/// The repositories of a history, by the names of their documents, and what each was made of.
pub(crate) type Heads = BTreeMap<String, String>;

/// Comes before each path that is looked at again.
const SEPARATOR: char = ',';

/// Comes before each path that failed.
const FAILED: char = '!';

/// Where a round over files was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Files {
    /// Its commit; nothing for a repository without commits.
    pub(crate) commit: Option<ObjectId>,
    /// Paths of what was passed over for a reason that is no property of it.
    pub(crate) again: Vec<Box<[u8]>>,
    /// Paths of what failed. Their documents, if there are any, are what an earlier round made them.
    pub(crate) failed: Vec<Box<[u8]>>,
}

/// Returns the cursor after the files of a commit, or those of a repository without commits.
pub(crate) fn of_files(owner: Owner, files: &Files) -> String {
    let mut text = match files.commit {
        Some(commit) => commit.to_string(),
        None => UNBORN.to_owned(),
    };
    let again = files.again.iter().map(|path| (SEPARATOR, path));
    let failed = files.failed.iter().map(|path| (FAILED, path));
    for (mark, path) in again.chain(failed) {
        text.push(mark);
        STANDARD.encode_string(path, &mut text);
    }
    of(owner, &text)
}

/// Reads a cursor of files; nothing if it is not one of this owner.
pub(crate) fn files(text: &str, owner: Owner) -> Option<Files> {
    let rest = rest(text, owner)?;
    let (rest, failed) = match rest.split_once(FAILED) {
        Some((rest, failed)) => (rest, paths(failed.split(FAILED))?),
        None => (rest, Vec::new()),
    };
    let mut parts = rest.split(SEPARATOR);
    let commit = match parts.next()? {
        UNBORN => None,
        commit => Some(ObjectId::from_hex(commit.as_bytes()).ok()?),
    };
    Some(Files {
        commit,
        again: paths(parts)?,
        failed,
    })
}

fn paths<'t>(encoded: impl Iterator<Item = &'t str>) -> Option<Vec<Box<[u8]>>> {
    encoded
        .map(|path| Some(STANDARD.decode(path).ok()?.into()))
        .collect()
}

/// Returns the cursor after a history.
pub(crate) fn of_history(owner: Owner, heads: &Heads) -> String {
    let heads = serde_json::to_string(heads).expect("a map of texts is JSON");
    of(owner, &heads)
}

/// Reads a cursor of histories; nothing if it is not one of this owner.
pub(crate) fn history(text: &str, owner: Owner) -> Option<Heads> {
    serde_json::from_str(rest(text, owner)?).ok()
}

fn of(owner: Owner, rest: &str) -> String {
    format!("{LAYOUT}.{owner}.{}.{rest}", seal(rest))
}

fn rest(text: &str, owner: Owner) -> Option<&str> {
    let sealed = text
        .strip_prefix(LAYOUT)?
        .strip_prefix('.')?
        .strip_prefix(&*owner.to_string())?
        .strip_prefix('.')?;
    let (found, rest) = sealed.split_once('.')?;
    (found == seal(rest)).then_some(rest)
}

/// Shows that nothing has been changed.
fn seal(rest: &str) -> String {
    Owner::of(&[rest]).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_comes_back_for_its_owner_and_for_nobody_else() {
        let (owner, other) = (Owner::of(&["1"]), Owner::of(&["2"]));
        let commit = ObjectId::from_bytes_or_panic(&[7; 20]);
        let paths: [Box<[u8]>; 2] = [b"a,b/\xff"[..].into(), b"c"[..].into()];
        for (commit, again, failed) in [
            (Some(commit), paths.to_vec(), Vec::new()),
            (Some(commit), Vec::new(), paths.to_vec()),
            (Some(commit), paths[..1].to_vec(), paths[1..].to_vec()),
            (None, Vec::new(), Vec::new()),
        ] {
            let found = Files {
                commit,
                again,
                failed,
            };
            let text = of_files(owner, &found);
            assert_eq!(files(&text, owner), Some(found));
            assert_eq!(files(&text, other), None);
            assert_eq!(history(&text, owner), None);
        }
        let heads = Heads::from([("a".to_owned(), "b".to_owned())]);
        let text = of_history(owner, &heads);
        assert_eq!(history(&text, owner), Some(heads));
        assert_eq!(history(&text, other), None);
        assert_eq!(files(&text, owner), None);
    }

    #[test]
    fn other_texts_are_no_cursors() {
        let owner = Owner::of(&["1"]);
        let whole = of_files(
            owner,
            &Files {
                commit: Some(ObjectId::from_bytes_or_panic(&[7; 20])),
                ..Files::default()
            },
        );
        let cut = &whole[..whole.len() - 1];
        for text in ["", "git2.", "git2.unborn", "fs1.AAAA", cut] {
            assert_eq!(files(text, owner), None, "{text}");
            assert_eq!(history(text, owner), None, "{text}");
        }
    }

    #[test]
    fn a_cursor_that_was_changed_is_none() {
        let owner = Owner::of(&["1"]);
        let heads = Heads::from([("a".to_owned(), "b".to_owned())]);
        let text = of_history(owner, &heads);
        for (from, to) in [("\"a\"", "\"c\""), ("\"b\"", "\"B\""), ("{", "{ ")] {
            let changed = text.replace(from, to);
            assert_ne!(changed, text);
            assert_eq!(history(&changed, owner), None, "{changed}");
        }
    }
}
