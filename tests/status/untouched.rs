//! What only looks leaves everything as it was, and costs no more than a push of nothing.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::SystemTime;

use super::classes::changes;
use crate::push::place::Place;

/// Names, bytes and times of everything below the home of the place.
fn trace(folder: &Path, found: &mut BTreeMap<String, (Vec<u8>, SystemTime)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let metadata = entry.metadata().unwrap();
        let name = entry.path().display().to_string();
        if metadata.is_dir() {
            found.insert(name, (Vec::new(), metadata.modified().unwrap()));
            trace(&entry.path(), found);
        } else {
            let bytes = fs::read(entry.path()).unwrap();
            found.insert(name, (bytes, metadata.modified().unwrap()));
        }
    }
}

fn home(place: &Place) -> BTreeMap<String, (Vec<u8>, SystemTime)> {
    let mut found = BTreeMap::new();
    trace(&place.path().join("home"), &mut found);
    found
}

#[test]
fn status_writes_neither_state_nor_store_nor_anything_else() {
    let place = Place::new();
    place.write("a.md", "# One\n");
    let before = home(&place);
    assert_eq!(changes(&place, &[]), ["added a.md write"]);
    assert_eq!(home(&place), before);
    place.pushed();
    place.write("a.md", "# Other\n");
    place.write("b.md", "# Two\n");
    let before = home(&place);
    assert_eq!(
        changes(&place, &[]),
        ["added b.md write", "modified a.md write"]
    );
    assert_eq!(home(&place), before);
}

#[test]
fn the_next_push_after_a_status_starts_from_its_cursor_all_the_same() {
    let place = Place::new();
    place.write("a.md", "# One\n");
    place.write("b.md", "# Two\n");
    place.pushed();
    changes(&place, &[]);
    place.rename("a.md", "c.md");
    // A round that began anew could not know of a move.
    assert_eq!(changes(&place, &[]), ["moved a.md>c.md write"]);
    let (report, run) = place.push();
    assert_eq!(report.counts.moved, 1, "{run:?}");
    assert!(run.stdout.contains(r#""incremental":true"#), "{run:?}");
}

#[test]
fn a_source_that_is_being_pushed_can_be_looked_at() {
    let place = Place::new();
    place.write("a.md", "# One\n");
    place.pushed();
    let instances = place.path().join("home/.local/state/dpe/instances");
    let instance = fs::read_dir(instances).unwrap().next().unwrap().unwrap();
    let lock = fs::File::options()
        .write(true)
        .open(instance.path().join("lock"))
        .unwrap();
    lock.try_lock().unwrap();
    assert_eq!(place.push().1.code, Some(4));
    assert_eq!(changes(&place, &[]), Vec::<String>::new());
}
