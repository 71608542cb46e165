//! What a tree has that is passed over, by name, for somebody who only looks.
//!
//! A round tells of what has changed alone, and what was passed over is in no cursor. So the whole tree is
//! gone through; of most files their name and size say enough.

use std::collections::HashSet;

use dpe_connector::{CancelFlag, RpcError};
use dpe_connector_files::Reason;

use crate::blob::Examiner;
use crate::tree::{Difference, compare};

/// A path, relative to the folder that is enumerated, and why it is passed over.
type Skipped = (Box<[u8]>, String);

/// Returns what is passed over, but for what `told` has read: that is said when it was. A file with a format
/// that is understood counts as one that gives a document.
///
/// # Errors
///
/// `cancelled`.
pub(crate) fn skipped(
    examiner: &Examiner,
    told: &Difference,
    cancel: &CancelFlag,
) -> Result<Vec<Skipped>, RpcError> {
    let is_read: HashSet<&[u8]> = told.changes.iter().map(|change| &*change.path).collect();
    let Some(tree) = examiner.tree else {
        return Ok(Vec::new());
    };
    let selection = &examiner.setup.selection;
    let all = examiner
        .repository
        .with(|repository| compare(repository, selection, None, tree, cancel));
    // The same tree was read before; if it cannot be any more, the round itself says so.
    let Ok(all) = all else {
        return Ok(Vec::new());
    };
    let names = all.skipped.into_iter();
    let mut skipped: Vec<_> = names
        .map(|(kind, path)| (path, kind.0.to_owned()))
        .collect();
    for change in all.changes {
        cancel.check()?;
        let Some(blob) = change.now.filter(|_| !is_read.contains(&*change.path)) else {
            continue;
        };
        if matches!(examiner.format(&change.path, blob), Ok(None)) {
            skipped.push((change.path, Reason::UnsupportedFormat.to_string()));
        }
    }
    Ok(skipped)
}
