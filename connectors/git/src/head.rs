//! Which commit is enumerated.

use gix::ObjectId;
use gix::bstr::BStr;
use gix::objs::Kind;

use crate::repository::{Repository, described};

/// Returns the commit that `reference` names; nothing if it is the HEAD of a repository without
/// commits. Annotated tags lead to their commits.
///
/// # Errors
///
/// When there is no such reference, or it does not lead to a commit.
pub(crate) fn commit(repository: &Repository, reference: &str) -> Result<Option<ObjectId>, String> {
    repository.with(|repository| {
        if reference == "HEAD" {
            let head = repository.head().map_err(|why| described(&why))?;
            if head.is_unborn() {
                return Ok(None);
            }
        }
        let id = repository
            .rev_parse_single(<&BStr>::from(reference))
            .map_err(|why| format!("there is no {reference}: {}", described(&why)))?;
        let object = id
            .object()
            .and_then(|object| object.peel_to_kind(Kind::Commit))
            .map_err(|why| format!("{reference} leads to no commit: {}", described(&why)))?;
        Ok(Some(object.id))
    })
}
