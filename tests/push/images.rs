//! Images arrive with their bytes.

use std::fs::{self, File};
use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use dpe::model::{BlobRef, FileUri};
use dpe::server::{OpenMode, Store};

use super::place::{Place, counts};
use crate::over_http::served::Served;

/// What a PNG begins with: 3 by 2 pixels.
const PNG: &[u8] = b"\x89PNG\r\n\x1A\n\0\0\0\rIHDR\0\0\0\x03\0\0\0\x02\x08\x06\0\0\0";

/// An image of `length` bytes that no other seed gives.
fn image(start: &[u8], length: usize, seed: u32) -> Vec<u8> {
    let mut state = seed;
    let rest = length.saturating_sub(start.len());
    let mut bytes = start.to_vec();
    bytes.extend((0..rest).map(|_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    }));
    bytes
}

/// Returns the bytes that the store of a place has for a document, by their digest.
pub(super) fn stored(place: &Place, name: &str, bytes: &[u8]) -> Option<Vec<u8>> {
    let store = Store::open(&place.store(), OpenMode::ReadOnly).unwrap();
    let uri = FileUri::parse(&format!("dpe://docs/{name}")).unwrap();
    let mut blob = store.blob(&uri, BlobRef::of(bytes)).unwrap()?;
    let mut found = Vec::new();
    blob.read_to_end(&mut found).unwrap();
    Some(found)
}

#[test]
fn images_arrive_with_their_bytes_and_a_second_push_writes_nothing() {
    let place = Place::new();
    let mib = 1 << 20;
    let images = [
        ("small.png", image(PNG, 100, 1)),
        ("edge.png", image(PNG, 64 << 10, 2)),
        (
            "photo.jpg",
            image(b"\xFF\xD8\xFF\xE0\0\x10JFIF\0", 300_000, 3),
        ),
        ("large.png", image(PNG, 9 * mib + 5, 4)),
        ("drawing.svg", b"<svg width='1' height='2'></svg>".to_vec()),
    ];
    for (name, bytes) in &images {
        place.write(name, bytes);
    }
    place.write("text.md", "No picture.\n");
    assert_eq!(place.pushed(), counts(6, 0, 0, 0, 0));
    for (name, bytes) in &images {
        let found = stored(&place, name, bytes);
        assert!(found.as_ref() == Some(bytes), "{name}");
    }
    assert!(stored(&place, "text.md", &images[0].1).is_none());
    // A store tidies up what staging left behind when it is next opened.
    assert_eq!(place.pushed(), counts(0, 0, 0, 0, 6));
    let database = place.store().join("remote.db");
    let before = fs::read(&database).unwrap();
    assert_eq!(place.pushed(), counts(0, 0, 0, 0, 6));
    assert!(fs::read(&database).unwrap() == before);
    // Also without what is known of the folder: the same files are the same documents.
    let state = place.path().join("elsewhere");
    let (report, run) = place.push_with(&["--state-dir", state.to_str().unwrap()]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!(report.counts, counts(0, 0, 0, 0, 6));
}

#[test]
fn identical_images_are_documents_of_their_own_with_the_same_bytes() {
    let place = Place::new();
    let bytes = image(PNG, 3 << 20, 1);
    place.write("a.png", &bytes);
    place.write("b/c.png", &bytes);
    assert_eq!(place.pushed(), counts(2, 0, 0, 0, 0));
    for name in ["a.png", "b/c.png"] {
        assert!(stored(&place, name, &bytes).is_some_and(|found| found == bytes));
    }
    place.remove("a.png");
    assert_eq!(place.pushed(), counts(0, 0, 0, 1, 1));
    assert!(stored(&place, "b/c.png", &bytes).is_some_and(|found| found == bytes));
}

#[test]
fn a_moved_image_is_a_move_and_a_changed_one_an_update() {
    let place = Place::new();
    let (first, second) = (image(PNG, 2 << 20, 1), image(PNG, 2 << 20, 2));
    place.write("a.png", &first);
    place.write("b.png", &first[..100_000]);
    place.pushed();
    place.rename("a.png", "sub/moved.png");
    place.write("b.png", &second);
    assert_eq!(place.pushed(), counts(0, 1, 1, 0, 0));
    assert!(stored(&place, "sub/moved.png", &first).is_some_and(|found| found == first));
    assert!(stored(&place, "b.png", &second).is_some_and(|found| found == second));
    assert_eq!(place.remote(), place.fresh_remote());
}

#[test]
fn a_dry_run_reads_images_and_sends_none() {
    let place = Place::new();
    let bytes = image(PNG, 2 << 20, 1);
    place.write("a.png", &bytes);
    place.write("b.txt", "Text.\n");
    place.pushed();
    let changed = image(PNG, 2 << 20, 2);
    place.write("a.png", &changed);
    place.write("new.png", &bytes[..100]);
    let (report, run) = place.push_with(&["-n"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!(report.counts, counts(1, 1, 0, 0, 1));
    assert!(stored(&place, "a.png", &changed).is_none());
    assert_eq!(place.pushed(), counts(1, 1, 0, 0, 1));
}

/// Whenever it is caught, a picture that is being written is a failure, never a torn document.
#[test]
fn an_image_that_changes_while_it_is_pushed_arrives_the_next_time() {
    let place = Place::new();
    place.write("calm.png", image(PNG, 200_000, 1));
    let busy = image(PNG, 16 << 20, 2);
    place.write("busy.png", &busy);
    let done = AtomicBool::new(false);
    let (report, run) = std::thread::scope(|scope| {
        let path = place.docs().join("busy.png");
        let done = &done;
        scope.spawn(move || {
            let file = File::options().write(true).open(path).unwrap();
            while !done.load(Ordering::Relaxed) {
                file.set_modified(SystemTime::now()).unwrap();
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        let pushed = place.push();
        done.store(true, Ordering::Relaxed);
        pushed
    });
    assert_eq!((run.code, report.counts.created), (Some(1), 1), "{run:?}");
    assert_eq!(report.failures.len(), 1);
    let failure = &report.failures[0];
    assert_eq!(failure.file_uri.as_deref(), Some("dpe://docs/busy.png"));
    // What the connector has seen itself it will say again.
    assert!(["source_unavailable", "blob_read_failed"].contains(&&*failure.code));
    assert_eq!(
        report.cursor_persisted,
        failure.code == "source_unavailable"
    );
    assert_eq!(place.pushed(), counts(1, 0, 0, 0, 1));
    assert!(stored(&place, "busy.png", &busy).is_some_and(|found| found == busy));
}

#[test]
fn images_travel_in_chunks_to_a_remote_behind_a_url_and_within_its_limits() {
    let place = Place::new();
    let large = image(PNG, (5 << 20) + 1, 1);
    place.write("large.png", &large);
    place.write("small.png", image(PNG, 70_000, 2));
    place.write("larger.png", image(PNG, (6 << 20) + 1, 3));
    let limits = [
        "--max-payload-bytes",
        "1048576",
        "--blob-max-bytes",
        "6291456",
    ];
    let server = Served::start(&place.store(), &limits);
    let (report, run) = place.push_with(&["--remote", &server.url]);
    assert_eq!((run.code, report.counts.created), (Some(1), 2), "{run:?}");
    assert_eq!(report.failures[0].code, "content_invalid");
    place.remove("larger.png");
    let (report, _) = place.push_with(&["--remote", &server.url]);
    assert_eq!(report.counts, counts(0, 0, 0, 0, 2));
    drop(server);
    assert!(stored(&place, "large.png", &large).is_some_and(|found| found == large));
}
