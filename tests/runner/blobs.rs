//! The bytes of blobs, from the source to the remote (connector contract §14).

use std::sync::Mutex;

use bytes::Bytes;
use dpe::model::{BlobRef, FileUri, Hash, Tree};
use dpe::sync::blobs::Blobs;
use dpe::sync::failure::{Failure, FailureSource, Level};
use dpe::sync::ports::{Base, Committed, Remote, WriteError};
use dpe::sync::report::Outcome;

use super::fixture::{Blob, Place, Scripted, last, more};

/// A remote that reads the bytes it is given, in two parts, and refuses nothing.
#[derive(Default)]
struct Reader {
    /// Each document, and the bytes of its blobs as they were read.
    took: Mutex<Vec<(String, Vec<Bytes>)>>,
}

impl Reader {
    fn took(&self, name: &str) -> Vec<Bytes> {
        let took = self.took.lock().unwrap();
        let uri = format!("t://{name}");
        let found = took.iter().find(|(taken, _)| *taken == uri);
        found.map(|(_, bytes)| bytes.clone()).unwrap_or_default()
    }
}

impl Remote for Reader {
    async fn heads(&self, uris: &[FileUri]) -> Result<Vec<Option<Hash>>, WriteError> {
        Ok(vec![None; uris.len()])
    }

    async fn is_empty(&self, _prefix: &str) -> Result<bool, WriteError> {
        Ok(false)
    }

    async fn commit(
        &self,
        uri: &FileUri,
        _base: Base,
        tree: &Tree,
        blobs: &Blobs,
    ) -> Result<Committed, WriteError> {
        let mut read = Vec::new();
        for &blob in &tree.blobs {
            let bytes = blobs.get(blob).expect("the bytes travel with the document");
            let length = usize::try_from(bytes.length()).unwrap();
            let half = length / 2;
            let first = bytes.read(0, half).unwrap();
            let second = bytes.read(half as u64, length - half).unwrap();
            assert!(bytes.read(half as u64, length - half + 1).is_err());
            let whole = Bytes::from([first, second].concat());
            assert_eq!(BlobRef::of(&whole), blob);
            read.push(whole);
        }
        let took = (uri.to_string(), read);
        self.took.lock().unwrap().push(took);
        Ok(Committed::Created)
    }

    async fn delete(&self, _uri: &FileUri, _base: Hash) -> Result<(), WriteError> {
        Ok(())
    }

    async fn rename(&self, _: &FileUri, _: &FileUri, base: Hash) -> Result<Hash, WriteError> {
        Ok(base)
    }
}

/// A document of one page with an image for each byte source.
fn images(name: &str, sources: &[&str]) -> String {
    let elements: Vec<String> = sources
        .iter()
        .map(|source| format!(r#"{{"category":"Image","blob":{source}}}"#))
        .collect();
    format!(
        r#"{{"kind":"document","file_uri":"t://{name}","document":{{"file_type":"png"}},"pages":[{{"elements":[{}]}}]}}"#,
        elements.join(",")
    )
}

fn handle(name: &str, size: u64) -> String {
    format!(r#"{{"handle":"{name}","size":{size}}}"#)
}

/// Bytes of no pattern that a wrong offset would keep.
fn bytes(length: usize, seed: u8) -> Bytes {
    let mut state = u32::from(seed) + 1;
    let next = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    (0..length).map(next).collect::<Vec<u8>>().into()
}

const MIB: usize = 1 << 20;

fn whole(bytes: &Bytes) -> Blob {
    Blob::Bytes(bytes.clone(), u64::MAX)
}

#[tokio::test]
async fn bytes_arrive_whatever_their_length_and_source() {
    let place = Place::new().await;
    let lengths = [
        0,
        1,
        (64 << 10) - 1,
        64 << 10,
        (64 << 10) + 1,
        MIB - 1,
        MIB,
        MIB + 1,
        3 * MIB + 7,
        // Does not fit a file of the spool with others.
        33 * MIB,
    ];
    let mut items = vec![images("inline", &[r#"{"inline":"aGVsbG8="}"#])];
    let mut source = Scripted::new([]);
    for (seed, length) in (0..).zip(lengths) {
        let name = format!("h{length}");
        items.push(images(&name, &[&handle(&name, length as u64)]));
        source.blobs.insert(name, whole(&bytes(length, seed)));
    }
    source.says(last(&items, "c", false));
    let remote = Reader::default();
    let report = place.round_over(&remote, &mut source).await;
    assert_eq!(report.outcome, Outcome::Succeeded, "{:?}", report.failures);
    assert_eq!(remote.took("inline"), ["hello"]);
    for (seed, length) in (0..).zip(lengths) {
        let took = remote.took(&format!("h{length}"));
        assert_eq!(took, [bytes(length, seed)], "{length}");
    }
    // Sequentially, in chunks of 1 MiB (§14.2).
    let large = source.read.iter().filter(|(name, ..)| name == "h3145735");
    let offsets: Vec<_> = large.map(|(_, offset, most)| (*offset, *most)).collect();
    let mib = MIB as u64;
    assert_eq!(
        offsets,
        [(0, mib), (mib, mib), (2 * mib, mib), (3 * mib, mib)]
    );
}

#[tokio::test]
async fn a_plugin_may_give_less_than_it_is_asked_for() {
    let place = Place::new().await;
    let content = bytes(1000, 1);
    let mut source = Scripted::new([last(&[images("a", &[r#"{"handle":"h"}"#])], "c", false)]);
    source
        .blobs
        .insert("h".into(), Blob::Bytes(content.clone(), 7));
    let remote = Reader::default();
    let report = place.round_over(&remote, &mut source).await;
    assert_eq!(report.outcome, Outcome::Succeeded);
    assert_eq!(remote.took("a"), [content]);
    assert_eq!(source.read.len(), 143);
}

/// §14.2: the same handle is read once per batch, and again in the next.
#[tokio::test]
async fn a_handle_is_read_once_in_each_batch() {
    let place = Place::new().await;
    let content = bytes(100_000, 1);
    let same = handle("h", 100_000);
    let two = [images("a", &[&same, &same]), images("b", &[&same])];
    let three = [images("c", &[&same])];
    let mut source = Scripted::new([more(&two, "n"), last(&three, "c", false)]);
    source.blobs.insert("h".into(), whole(&content));
    let remote = Reader::default();
    let report = place.round_over(&remote, &mut source).await;
    assert_eq!(report.outcome, Outcome::Succeeded);
    for name in ["a", "b", "c"] {
        assert_eq!(remote.took(name), std::slice::from_ref(&content), "{name}");
    }
    assert_eq!(source.read.len(), 2);
}

/// The rows of §14.2 that a source can bring about.
#[tokio::test]
async fn a_blob_that_cannot_be_had_fails_every_document_that_needs_it() {
    let rows = [
        (
            "size",
            Blob::Bytes(bytes(10, 0), 100),
            11,
            "blob_size_mismatch",
            false,
        ),
        (
            "size",
            Blob::Bytes(bytes(10, 0), 100),
            9,
            "blob_size_mismatch",
            false,
        ),
        (
            "large",
            Blob::Unknown,
            2 * MIB as u64 + 1,
            "blob_too_large",
            false,
        ),
        ("unknown", Blob::Unknown, 5, "blob_read_failed", false),
        (
            "broken",
            Blob::Fails(3, false),
            5,
            "blob_read_failed",
            false,
        ),
        ("broken", Blob::Fails(3, true), 5, "blob_read_failed", true),
    ];
    for (name, blob, size, code, retryable) in rows {
        let mut place = Place::new().await;
        place.settings.blob_max_bytes = 2 * MIB as u64;
        let (bad, good) = (handle(name, size), r#"{"inline":"aGVsbG8="}"#);
        let items = [
            images("a", &[good, &bad]),
            images("b", &[good]),
            images("c", &[&bad, good]),
        ];
        let mut source = Scripted::new([last(&items, "c", false)]);
        source.blobs.insert(name.into(), blob);
        let remote = Reader::default();
        let report = place.round_over(&remote, &mut source).await;
        let found: Vec<_> = report
            .failures
            .iter()
            .map(|failure| {
                (
                    failure.level,
                    failure.source,
                    &*failure.code,
                    failure.retryable,
                )
            })
            .collect();
        let expected = (Level::Item, FailureSource::Blob, code, retryable);
        assert_eq!(found, [expected, expected], "{name} {size}");
        assert_eq!(report.outcome, Outcome::Partial);
        let subjects = report.failures.iter().map(|failure| &failure.subject);
        let subjects: Vec<_> = subjects.map(|subject| format!("{subject:?}")).collect();
        assert!(subjects[0].contains("t://a") && subjects[1].contains("t://c"));
        assert_eq!(remote.took.lock().unwrap().len(), 1, "only b lands");
        let is_asked = !source.read.is_empty();
        assert_eq!(
            is_asked,
            code != "blob_too_large",
            "declared: without reading"
        );
        assert!(
            source.read.len() <= 2,
            "the trouble is remembered for the batch"
        );
    }
}

/// §14.2: each document using a failed handle gets its own failure, and a length other than an
/// announced one fails the handle. Which document comes first makes no difference.
#[tokio::test]
async fn a_wrong_size_fails_the_handle_for_all_documents_of_the_batch() {
    let (none, right) = (r#"{"handle":"h"}"#.to_owned(), handle("h", 3));
    let (wrong, huge) = (handle("h", 2), handle("h", 1 << 40));
    let (mismatch, too_large) = ("blob_size_mismatch", "blob_too_large");
    for (one, other, code, reads) in [
        (&wrong, &none, mismatch, 1),
        (&wrong, &right, mismatch, 0),
        (&wrong, &wrong, mismatch, 1),
        (&huge, &none, too_large, 0),
        (&huge, &right, too_large, 0),
    ] {
        for pair in [[one, other], [other, one]] {
            let place = Place::new().await;
            let items = [images("a", &[pair[0]]), images("b", &[pair[1]])];
            let mut source = Scripted::new([last(&items, "c", false)]);
            source.blobs.insert("h".into(), whole(&bytes(3, 0)));
            let remote = Reader::default();
            let report = place.round_over(&remote, &mut source).await;
            let failed: Vec<_> = report.failures.iter().map(|one| &*one.code).collect();
            assert_eq!(failed, [code, code], "{pair:?}");
            assert!(remote.took.lock().unwrap().is_empty(), "{pair:?}");
            assert_eq!(source.read.len(), reads, "{pair:?}");
        }
    }
}

/// A handle is read anew in each batch, and what another batch announced does not count.
#[tokio::test]
async fn a_wrong_size_fails_the_handle_in_its_batch_only() {
    let place = Place::new().await;
    let (wrong, right) = (handle("h", 2), handle("h", 3));
    let (first, second) = ([images("a", &[&wrong])], [images("b", &[&right])]);
    let mut source = Scripted::new([more(&first, "n"), last(&second, "c", false)]);
    source.blobs.insert("h".into(), whole(&bytes(3, 0)));
    let remote = Reader::default();
    let report = place.round_over(&remote, &mut source).await;
    assert_eq!(report.failures.len(), 1);
    assert_eq!(remote.took("b"), [bytes(3, 0)]);
}

#[tokio::test]
async fn a_blob_without_a_declared_size_is_cut_off_above_the_limit() {
    let mut place = Place::new().await;
    place.settings.blob_max_bytes = MIB as u64 + 10;
    let items = [
        images("a", &[r#"{"handle":"h"}"#]),
        images("b", &[r#"{"inline":"aGVsbG8="}"#]),
    ];
    let mut source = Scripted::new([last(&items, "c", false)]);
    source.blobs.insert("h".into(), whole(&bytes(9 * MIB, 0)));
    let remote = Reader::default();
    let report = place.round_over(&remote, &mut source).await;
    assert_eq!(report.failures.len(), 1);
    assert_eq!(report.failures[0].code, "blob_too_large");
    assert_eq!(source.read.len(), 2);
    place.settings.blob_max_bytes = 4;
    let mut source = Scripted::new([last(&items[1..], "c", false)]);
    let report = place.round_over(&remote, &mut source).await;
    assert_eq!(report.failures[0].code, "blob_too_large");
}

#[tokio::test]
async fn a_plugin_that_ends_while_bytes_are_read_ends_the_round() {
    let place = Place::new().await;
    let items = [images("a", &[r#"{"handle":"h"}"#])];
    let mut source = Scripted::new([last(&items, "c", false)]);
    source.blobs.insert("h".into(), Blob::Dies);
    let report = place.round_over(&Reader::default(), &mut source).await;
    assert_eq!(report.outcome, Outcome::Failed);
    let Some(Failure { level, code, .. }) = report.failures.last() else {
        panic!("the round failed");
    };
    assert_eq!((*level, &**code), (Level::Round, "plugin_crashed"));
}

/// Nothing is read for a document that is refused anyway (§12).
#[tokio::test]
async fn bytes_of_an_invalid_document_are_not_read() {
    let place = Place::new().await;
    let wrong = images("a", &[r#"{"handle":"h"}"#, r#"{"handle":"h","inline":""}"#]);
    let outside = images("a", &[r#"{"handle":"h"}"#]).replace("t://a", "u://a");
    let mut source = Scripted::new([last(&[wrong, outside], "c", false)]);
    let report = place.round_over(&Reader::default(), &mut source).await;
    let codes: Vec<_> = report
        .failures
        .iter()
        .map(|failure| &*failure.code)
        .collect();
    assert_eq!(codes, ["DPE_VALIDATION", "out_of_prefix"]);
    assert_eq!(source.read, []);
}

/// Portions bound what waits on the disk; they change nothing else.
#[tokio::test]
async fn a_batch_with_many_large_blobs_lands_in_order_and_whole() {
    let place = Place::new().await;
    let mut items = Vec::new();
    let mut source = Scripted::new([]);
    for number in 0..6 {
        let name = format!("d{number}");
        items.push(images(&name, &[&handle(&name, 30 * MIB as u64)]));
        let content = Bytes::from(vec![number; 30 * MIB]);
        source.blobs.insert(name, whole(&content));
    }
    source.says(last(&items, "c", false));
    let remote = Reader::default();
    let report = place.round_over(&remote, &mut source).await;
    assert_eq!(report.counts.created, 6);
    let took = remote.took.lock().unwrap();
    let mut names: Vec<_> = took.iter().map(|(uri, _)| uri.clone()).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 6);
}
