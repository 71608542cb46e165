//! The objects of one repository, for several threads.
//!
//! Opened without the settings of the user or the system and without the environment, so that the
//! same repository gives the same objects to everybody. Who owns it does not matter: nothing of it
//! is run.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use gix::ObjectId;
use gix::objs::Kind;

/// A repository. Reading is done with a copy of it per thread.
pub(crate) struct Repository {
    shared: gix::ThreadSafeRepository,
    idle: Mutex<Vec<gix::Repository>>,
}

impl Repository {
    /// Opens the repository at `path`: a work tree, a bare repository, or a `.git` of either form.
    ///
    /// # Errors
    ///
    /// Says why it cannot be opened.
    pub(crate) fn open(path: &Path) -> Result<Self, String> {
        let options = gix::open::Options::isolated()
            .with(gix::sec::Trust::Full)
            // What an object says counts, not what somebody wants to be seen in its place.
            .config_overrides(["core.useReplaceRefs=false"]);
        let shared = options.open(path).map_err(|why| described(&why))?;
        let repository = shared.to_thread_local();
        if let Some(format) = repository.config_snapshot().string("extensions.refStorage")
            && !format.eq_ignore_ascii_case(b"files")
        {
            return Err(format!(
                "its references are stored as `{format}`, which is not understood; \
                 `git refs migrate --ref-format=files` changes that"
            ));
        }
        Ok(Self {
            shared,
            idle: Mutex::new(vec![repository]),
        })
    }

    /// Does something with a copy of the repository that no other thread uses meanwhile.
    pub(crate) fn with<R>(&self, work: impl FnOnce(&gix::Repository) -> R) -> R {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = idle().pop();
        let repository = taken.unwrap_or_else(|| self.shared.to_thread_local());
        let result = work(&repository);
        idle().push(repository);
        result
    }

    /// Returns the length of a blob.
    ///
    /// # Errors
    ///
    /// When it is not there, damaged, or no blob.
    pub(crate) fn blob_size(&self, id: ObjectId) -> Result<u64, String> {
        let header = self.with(|repository| repository.find_header(id));
        let header = header.map_err(|why| described(&why))?;
        match header.kind() {
            Kind::Blob => Ok(header.size()),
            other => Err(format!("object {id} is a {other}, not a blob")),
        }
    }

    /// Returns the bytes of a blob.
    ///
    /// # Errors
    ///
    /// When it is not there, damaged, or no blob.
    pub(crate) fn blob(&self, id: ObjectId) -> Result<Vec<u8>, String> {
        self.object(id, Kind::Blob)
    }

    /// Returns the bytes of an object of this kind.
    ///
    /// # Errors
    ///
    /// When it is not there, damaged, or of another kind.
    pub(crate) fn object(&self, id: ObjectId, kind: Kind) -> Result<Vec<u8>, String> {
        let found = self.with(|repository| repository.find_object(id).map(gix::Object::detach));
        let found = found.map_err(|why| described(&why))?;
        if found.kind == kind {
            Ok(found.data)
        } else {
            Err(format!("object {id} is a {}, not a {kind}", found.kind))
        }
    }
}

/// Returns what an error and those behind it say, in one line.
pub(crate) fn described(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        cause = error.source();
    }
    text.replace(['\n', '\r'], " ")
}
