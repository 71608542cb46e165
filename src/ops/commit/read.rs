//! Reads a document and finds the bytes of its blobs.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::json::{Text, Value};
use crate::model::{BlobRef, Code, Contract, Tree, Violation};
use crate::ops::hash_object::Input;
use crate::sync::blobs::{BlobBytes, Blobs};
use crate::sync::byte_source::ByteSource;

use super::blob_file::BlobFile;
use super::{CommitError, Document, Source};

/// Reads and judges a document (hash contract §6.4), and finds the blobs that are given with it.
/// In place of a reference an element may have `{"inline": base64}` or `{"file": path}`, relative
/// to the document.
///
/// # Errors
///
/// [`CommitError`].
pub fn read(source: &Source, contract: Contract) -> Result<Document, CommitError> {
    let text = source.input.read().map_err(|why| CommitError::Read {
        input: source.input.clone(),
        source: why,
    })?;
    let mut found = Found::beside(&source.input);
    let text = Text::parse(&text).map_err(|error| invalid(error.into()))?;
    let tree = found.tree(text.root(), contract)?;
    let given = found.given(&source.blobs, &tree)?;
    let blobs = found.blobs.into_iter();
    Ok(Document {
        blobs: blobs
            .filter(|(blob, _)| tree.blobs.contains(blob))
            .collect::<Blobs>(),
        unused: Document::unused(given, &tree),
        tree,
    })
}

/// The bytes that were found so far.
struct Found {
    /// Where relative paths begin.
    folder: PathBuf,
    blobs: HashMap<BlobRef, Arc<dyn BlobBytes>>,
    files: HashMap<PathBuf, BlobRef>,
}

impl Found {
    fn beside(input: &Input) -> Self {
        let folder = match input {
            Input::Stdin => None,
            Input::File(path) => path.parent(),
        };
        Self {
            folder: folder.unwrap_or(Path::new("")).to_owned(),
            blobs: HashMap::new(),
            files: HashMap::new(),
        }
    }

    fn tree(&mut self, document: Value<'_>, contract: Contract) -> Result<Tree, CommitError> {
        let mut unreadable = None;
        let tree = Tree::of_expanded(document, contract, |source| {
            self.bytes(source).map(Some).map_err(|trouble| {
                let (violation, error) = match trouble {
                    CommitError::Invalid { violation } => (violation, None),
                    error => (Violation::here("its bytes cannot be read"), Some(error)),
                };
                unreadable = error;
                violation
            })
        });
        tree.map_err(|violation| unreadable.unwrap_or_else(|| invalid(violation)))
    }

    fn bytes(&mut self, source: Value<'_>) -> Result<BlobRef, CommitError> {
        let mut members = source.members().into_iter().flatten();
        if let (Some((name, path)), None) = (members.next(), members.next())
            && name == "file"
        {
            let path = path
                .as_str()
                .ok_or_else(|| invalid(at("file", "`file` is not a string")))?;
            let path = self.folder.join(&*path);
            return self.file(&path);
        }
        match ByteSource::read(source).map_err(invalid)? {
            ByteSource::Inline(bytes) => {
                let blob = BlobRef::of(&bytes);
                self.blobs.insert(blob, Arc::new(bytes));
                Ok(blob)
            }
            ByteSource::Handle(_) => Err(invalid(at("handle", "nobody knows this handle"))),
        }
    }

    /// Finds out which blobs the given files are.
    fn given(
        &mut self,
        paths: &[PathBuf],
        tree: &Tree,
    ) -> Result<Vec<(BlobRef, PathBuf)>, CommitError> {
        let mut open = tree
            .blobs
            .iter()
            .filter(|blob| !self.blobs.contains_key(blob));
        if let ([path], Some(&blob), None) = (paths, open.next(), open.next()) {
            // One file for one blob: whoever needs the bytes will see whether they are right, and
            // if the remote has them already nobody reads a large file for nothing.
            let claimed = BlobFile::claimed(path, blob).map_err(unreadable(path))?;
            self.blobs.insert(blob, Arc::new(claimed));
            return Ok(vec![(blob, path.clone())]);
        }
        let mut given = Vec::new();
        for path in paths {
            given.push((self.file(path)?, path.clone()));
        }
        Ok(given)
    }

    /// Hashes a file, once however often it is named.
    fn file(&mut self, path: &Path) -> Result<BlobRef, CommitError> {
        if let Some(blob) = self.files.get(path) {
            return Ok(*blob);
        }
        let (blob, file) = BlobFile::hash(path).map_err(unreadable(path))?;
        self.files.insert(path.to_owned(), blob);
        self.blobs.insert(blob, Arc::new(file));
        Ok(blob)
    }
}

fn unreadable(path: &Path) -> impl FnOnce(io::Error) -> CommitError {
    move |source| CommitError::Blob {
        path: path.to_owned(),
        source,
    }
}

fn invalid(violation: Violation) -> CommitError {
    CommitError::Invalid { violation }
}

fn at(member: &str, message: &str) -> Violation {
    Violation::new(Code::Validation, format!("/{member}"), message)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    const HELLO: &str = "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";

    /// Reads a document of one image for each of `blobs`.
    fn document(place: &Path, blobs: &[&str], given: &[&str]) -> Result<Document, CommitError> {
        let elements: Vec<_> = blobs
            .iter()
            .map(|blob| format!(r#"{{"category":"Image","blob":{blob}}}"#))
            .collect();
        let text = format!(
            r#"{{"file_type":"md","pages":[{{"elements":[{}]}}]}}"#,
            elements.join(",")
        );
        let path = place.join("document.json");
        fs::write(&path, text).unwrap();
        let source = Source {
            input: Input::File(path),
            blobs: given.iter().map(|name| place.join(name)).collect(),
        };
        read(&source, Contract::Dpe1)
    }

    #[test]
    fn the_three_forms_of_a_blob_give_the_same_document() {
        let place = tempfile::tempdir().unwrap();
        let place = place.path();
        fs::create_dir(place.join("sub")).unwrap();
        fs::write(place.join("sub/hello"), "hello").unwrap();
        let reference = format!("{HELLO:?}");
        let hello = BlobRef::parse(HELLO).unwrap();
        let mut hashes = Vec::new();
        for (blob, given, is_at_hand) in [
            (&*reference, &[][..], false),
            (&*reference, &["sub/hello"][..], true),
            (r#"{"inline":"aGVsbG8="}"#, &[][..], true),
            (r#"{"file":"sub/hello"}"#, &[][..], true),
        ] {
            let document = document(place, &[blob], given).unwrap();
            assert_eq!(document.tree.blobs, [hello]);
            assert_eq!(document.blobs.get(hello).is_some(), is_at_hand, "{blob}");
            assert!(document.unused.is_empty());
            hashes.push(document.tree.doc_hash);
        }
        hashes.dedup();
        assert_eq!(hashes.len(), 1);
    }

    #[test]
    fn a_file_that_nothing_refers_to_is_named() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("other"), "other").unwrap();
        let document = document(place.path(), &["null"], &["other"]).unwrap();
        assert_eq!(document.unused, [place.path().join("other")]);
        assert_eq!(document.blobs.lengths().count(), 0);
    }

    /// Hash contract §6.4, and byte sources last.
    #[test]
    fn the_first_violation_is_reported_with_its_place() {
        let place = tempfile::tempdir().unwrap();
        let place = place.path();
        for (blobs, pointer) in [
            (&[r#""sha256:xyz""#][..], "/pages/0/elements/0/blob"),
            (&["5"], "/pages/0/elements/0/blob"),
            (&[r#"{"file":"missing"}"#, "5"], "/pages/0/elements/1/blob"),
            (&[r#"{"file":5}"#], "/pages/0/elements/0/blob/file"),
            (&[r#"{"inline":"?"}"#], "/pages/0/elements/0/blob/inline"),
            (&[r#"{"handle":"h"}"#], "/pages/0/elements/0/blob/handle"),
            (&[r#"{"file":"a","inline":""}"#], "/pages/0/elements/0/blob"),
            (&["{}"], "/pages/0/elements/0/blob"),
        ] {
            match document(place, blobs, &[]) {
                Err(CommitError::Invalid { violation }) => {
                    assert_eq!(violation.pointer, pointer, "{blobs:?}");
                    assert_eq!(violation.code, Code::Validation);
                }
                other => panic!("{blobs:?}: {other:?}"),
            }
        }
    }

    #[test]
    fn a_file_that_is_not_there_is_no_fault_of_the_document() {
        let place = tempfile::tempdir().unwrap();
        let read = document(place.path(), &[r#"{"file":"missing"}"#], &[]);
        assert!(matches!(read, Err(CommitError::Blob { .. })));
        let read = document(place.path(), &[], &["missing"]);
        assert!(matches!(read, Err(CommitError::Blob { .. })));
    }
}
