//! What only reads, and what only pretends to write, leaves the store as it was.

use std::collections::BTreeMap;
use std::fs;
use std::time::SystemTime;

use super::place::Place;

/// Names, bytes and times of the files of the store.
fn trace(place: &Place) -> BTreeMap<String, (Vec<u8>, SystemTime)> {
    fs::read_dir(place.store())
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            let modified = entry.metadata().unwrap().modified().unwrap();
            (name, (fs::read(entry.path()).unwrap(), modified))
        })
        .collect()
}

#[test]
fn commands_that_only_read_and_dry_runs_leave_the_store_untouched() {
    let place = Place::new();
    place.write("a.md", "# One\n");
    place.write("b.md", "# Two\n");
    place.pushed();
    place.write("a.md", "# Changed\n");
    place.remove("b.md");
    let before = trace(&place);
    let (a, b) = ("dpe://docs/a.md", "dpe://docs/b.md");
    for (arguments, shown) in [
        (&["ls"][..], a),
        (&["show", a], "One"),
        (&["push", "-n", "docs"], "1 updated"),
        (&["rm", "-n", a], "would delete"),
        (&["rm", "-n", "-r", "dpe://docs/"], "would delete"),
        (&["mv", "-n", b, "dpe://docs/c.md"], "would move"),
    ] {
        let run = place.dpe(arguments);
        assert_eq!(run.code, Some(0), "{run:?}");
        let said = run.stdout + &run.stderr;
        assert!(said.contains(shown), "{arguments:?}: {said}");
        assert_eq!(trace(&place), before, "{arguments:?}");
    }
}
