//! The cursor (connector contract §16): which commit was enumerated, or which commits the
//! repositories were at.
//!
//! Usable only for the very same configuration. Any other text is no cursor; then everything is
//! enumerated anew.

use std::collections::BTreeMap;

use dpe_connector_files::Owner;
use gix::ObjectId;

/// Says which layout follows.
const LAYOUT: &str = "git1";

/// Stands for a repository without commits.
const UNBORN: &str = "unborn";

/// The repositories of a history, by the names of their documents, and what each was made of.
pub(crate) type Heads = BTreeMap<String, String>;

/// Returns the cursor after the files of a commit, or those of a repository without commits.
pub(crate) fn of_files(owner: Owner, commit: Option<ObjectId>) -> String {
    match commit {
        Some(commit) => format!("{LAYOUT}.{owner}.{commit}"),
        None => format!("{LAYOUT}.{owner}.{UNBORN}"),
    }
}

/// Reads a cursor of files; nothing if it is not one of this owner.
pub(crate) fn files(text: &str, owner: Owner) -> Option<Option<ObjectId>> {
    match rest(text, owner)? {
        UNBORN => Some(None),
        commit => Some(Some(ObjectId::from_hex(commit.as_bytes()).ok()?)),
    }
}

/// Returns the cursor after a history.
pub(crate) fn of_history(owner: Owner, heads: &Heads) -> String {
    let heads = serde_json::to_string(heads).expect("a map of texts is JSON");
    format!("{LAYOUT}.{owner}.{heads}")
}

/// Reads a cursor of histories; nothing if it is not one of this owner.
pub(crate) fn history(text: &str, owner: Owner) -> Option<Heads> {
    serde_json::from_str(rest(text, owner)?).ok()
}

fn rest(text: &str, owner: Owner) -> Option<&str> {
    text.strip_prefix(LAYOUT)?
        .strip_prefix('.')?
        .strip_prefix(&*owner.to_string())?
        .strip_prefix('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_comes_back_for_its_owner_and_for_nobody_else() {
        let (owner, other) = (Owner::of(&["1"]), Owner::of(&["2"]));
        let commit = ObjectId::from_bytes_or_panic(&[7; 20]);
        for commit in [Some(commit), None] {
            let text = of_files(owner, commit);
            assert_eq!(files(&text, owner), Some(commit));
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
        let cut = &of_files(owner, Some(ObjectId::from_bytes_or_panic(&[7; 20])))[..60];
        for text in ["", "git1.", "git1.unborn", "fs1.AAAA", cut] {
            assert_eq!(files(text, owner), None, "{text}");
            assert_eq!(history(text, owner), None, "{text}");
        }
    }
}
