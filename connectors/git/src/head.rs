//! Which commit is enumerated.

use std::panic::{AssertUnwindSafe, catch_unwind};

use gix::ObjectId;
use gix::bstr::BStr;
use gix::objs::Kind;

use crate::place::{NotBegun, Place, source_failed};
use crate::repository::{Repository, described, refuse_pipes_for};

/// So many tags may lead from one to the next.
const MOST_TAGS: usize = 1000;

/// Why there is no commit.
#[derive(Debug)]
pub(crate) enum NoCommit {
    /// Something is missing or broken.
    Damaged(String),
    /// The reference is there, and leads to something else.
    Refused(String),
}

impl NoCommit {
    /// Returns why, for people.
    pub(crate) fn into_text(self) -> String {
        match self {
            Self::Damaged(why) | Self::Refused(why) => why,
        }
    }

    /// Returns why a round over this place does not begin.
    pub(crate) fn not_begun(self, place: &Place) -> NotBegun {
        match self {
            Self::Damaged(why) => NotBegun::Damaged(source_failed(place, &why)),
            Self::Refused(why) => NotBegun::Other(source_failed(place, &why)),
        }
    }
}

/// Returns the commit that `reference` names; nothing if it is the HEAD of a repository without
/// commits. Annotated tags lead to their commits. To people it is called `name`.
///
/// # Errors
///
/// When there is no such reference, or it does not lead to a commit.
pub(crate) fn commit(
    repository: &Repository,
    reference: &str,
    name: &str,
) -> Result<Option<ObjectId>, NoCommit> {
    repository.with(|repository| {
        refuse_pipes_for(repository, reference).map_err(NoCommit::Damaged)?;
        if reference == "HEAD" {
            let head = repository.head().map_err(|why| damaged(&why))?;
            if head.is_unborn() {
                return Ok(None);
            }
            if let Some(id) = head.id() {
                return peeled(repository, id.detach(), name).map(Some);
            }
        }
        // It takes objects that a reference leads through for what they should be.
        let parse = || {
            repository
                .rev_parse_single(<&BStr>::from(reference))
                .map(gix::Id::detach)
        };
        let found = catch_unwind(AssertUnwindSafe(parse));
        let found = found
            .map_err(|_| NoCommit::Refused(format!("{name} leads through a damaged object")))?;
        let id = found.map_err(|why| NoCommit::Damaged(unfound(name, &described(&why))))?;
        peeled(repository, id, name).map(Some)
    })
}

/// Says of a name that it stands for nothing, or for more than one thing.
fn unfound(name: &str, why: &str) -> String {
    if why.contains("ambiguous") {
        return format!("{name} may be more than one object; give more of its name");
    }
    format!("there is no {name} in it")
}

/// Follows tags to their end.
fn peeled(
    repository: &gix::Repository,
    mut id: ObjectId,
    name: &str,
) -> Result<ObjectId, NoCommit> {
    for _ in 0..MOST_TAGS {
        let object = repository.find_object(id).map_err(|why| damaged(&why))?;
        match object.kind {
            Kind::Commit => return Ok(id),
            Kind::Tag => {
                let target = object.to_tag_ref_iter().target_id();
                id = target.map_err(|why| damaged(&why))?;
            }
            kind => {
                let why = format!("{name} leads to a {kind}, not to a commit");
                return Err(NoCommit::Refused(why));
            }
        }
    }
    let why = format!("{name} leads to no commit, but from tag to tag");
    Err(NoCommit::Refused(why))
}

fn damaged(why: &(dyn std::error::Error + 'static)) -> NoCommit {
    NoCommit::Damaged(described(why))
}
