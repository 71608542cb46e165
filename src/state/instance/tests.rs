use std::fs;

use super::{Adoption, CursorChange};
use crate::model::{Contracts, FileUri, Hash};
use crate::state::Tracking::{Tracked, Untracked};
use crate::state::{Change, Instance, StateDirectory, StateError};

fn uri(name: &str) -> FileUri {
    FileUri::parse(&format!("t://{name}")).unwrap()
}

fn hash(digit: u8) -> Hash {
    let text = format!("dpe1:{}", format!("{digit:02x}").repeat(32));
    Hash::parse(&text, Contracts::SUPPORTED).unwrap()
}

fn instance(place: &tempfile::TempDir) -> Instance {
    StateDirectory::at(place.path()).open("a").unwrap()
}

#[test]
fn what_was_saved_is_there_after_a_restart() {
    let place = tempfile::tempdir().unwrap();
    let mut state = instance(&place);
    assert_eq!(state.adopt("one").unwrap(), Adoption::New);
    state
        .save(
            &[
                Change::Confirm(uri("a"), hash(1)),
                Change::Intend(uri("b"), Some(hash(2))),
                Change::Intend(uri("c"), None),
            ],
            Tracked,
        )
        .unwrap();
    state
        .finish(CursorChange::Keep, Some("2026-01-01T00:00:00Z"))
        .unwrap();
    drop(state);

    let mut state = instance(&place);
    assert_eq!(state.adopt("one").unwrap(), Adoption::Same);
    assert_eq!(state.pending(&uri("a")).unwrap().confirmed, Some(hash(1)));
    assert_eq!(
        state.pending(&uri("b")).unwrap().intent,
        Some(Some(hash(2)))
    );
    assert_eq!(state.pending(&uri("c")).unwrap().intent, Some(None));
    assert_eq!(state.held_since().unwrap().unwrap(), "2026-01-01T00:00:00Z");
    assert_eq!(state.write_set().unwrap(), [uri("a"), uri("b"), uri("c")]);
}

#[test]
fn state_of_the_first_version_is_brought_up_to_date() {
    let place = tempfile::tempdir().unwrap();
    let mut state = instance(&place);
    let confirmed = Change::Confirm(uri("a"), hash(1));
    state.save(&[confirmed], Tracked).unwrap();
    let old = "DROP TABLE moves; PRAGMA user_version = 1";
    state.database.execute_batch(old).unwrap();
    drop(state);
    let mut state = instance(&place);
    let moved = Change::Moved(uri("a"), uri("b"));
    state.save(&[moved], Tracked).unwrap();
    assert_eq!(state.pending(&uri("a")).unwrap().confirmed, Some(hash(1)));
}

#[test]
fn a_move_is_known_to_later_rounds_until_a_cursor_is_stored() {
    let place = tempfile::tempdir().unwrap();
    let moved = [Change::Moved(uri("a"), uri("b"))];
    let mut state = instance(&place);
    state.adopt("one").unwrap();
    state.save(&moved, Tracked).unwrap();
    state.save(&moved, Tracked).unwrap();
    let has_moved = |state: &Instance| state.has_moved(&uri("a"), &uri("b")).unwrap();
    assert!(!has_moved(&state), "it is of this round");
    for _ in 0..2 {
        // Each of the two is said again once in every round.
        state.adopt("one").unwrap();
        for _ in 0..2 {
            assert!(has_moved(&state));
            state.save(&moved, Tracked).unwrap();
        }
        assert!(!has_moved(&state));
    }
    state.finish(CursorChange::Keep, None).unwrap();
    state.adopt("one").unwrap();
    assert!(has_moved(&state));
    state.finish(CursorChange::Store("c-1"), None).unwrap();
    assert!(!has_moved(&state));
}

#[test]
fn another_identity_drops_everything_but_the_hold_record() {
    let place = tempfile::tempdir().unwrap();
    let mut state = instance(&place);
    state.adopt("one").unwrap();
    state
        .save(&[Change::Confirm(uri("a"), hash(1))], Tracked)
        .unwrap();
    state
        .finish(CursorChange::Store("c-1"), Some("2026-01-01T00:00:00Z"))
        .unwrap();
    assert_eq!(state.adopt("two").unwrap(), Adoption::Changed);
    assert_eq!(state.confirmed_count().unwrap(), 0);
    assert_eq!(state.cursor().unwrap(), None);
    assert!(state.held_since().unwrap().is_some());
}

#[test]
fn a_stored_cursor_clears_the_write_set_and_a_kept_one_does_not() {
    let place = tempfile::tempdir().unwrap();
    let mut state = instance(&place);
    state
        .save(&[Change::Confirm(uri("a"), hash(1))], Tracked)
        .unwrap();
    state.finish(CursorChange::Keep, None).unwrap();
    assert_eq!(state.write_set().unwrap(), [uri("a")]);
    state.finish(CursorChange::Store("c-1"), None).unwrap();
    assert!(state.write_set().unwrap().is_empty());
    assert_eq!(state.cursor().unwrap().as_deref(), Some("c-1"));
}

#[test]
fn a_sample_of_nothing_is_empty_and_of_few_has_no_repetition() {
    let place = tempfile::tempdir().unwrap();
    let mut state = instance(&place);
    assert!(state.sample(8).unwrap().is_empty());
    state
        .save(
            &[
                Change::Confirm(uri("a"), hash(1)),
                Change::Confirm(uri("b"), hash(2)),
            ],
            Tracked,
        )
        .unwrap();
    let drawn = state.sample(64).unwrap();
    assert!(!drawn.is_empty() && drawn.len() <= 2, "{drawn:?}");
}

#[test]
fn damaged_state_is_said_and_left_untouched() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("instances/a/state.db");
    drop(instance(&place));
    fs::write(
        &path,
        "this is no database, and it is long enough to be looked at",
    )
    .unwrap();
    let before = fs::read(&path).unwrap();
    let refused = StateDirectory::at(place.path()).open("a").unwrap_err();
    assert!(matches!(refused, StateError::Damaged { .. }), "{refused:?}");
    assert!(!refused.retryable());
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn a_file_without_a_byte_is_damaged_state_and_no_new_instance() {
    let place = tempfile::tempdir().unwrap();
    drop(instance(&place));
    fs::write(place.path().join("instances/a/state.db"), "").unwrap();
    let refused = StateDirectory::at(place.path()).open("a").unwrap_err();
    assert!(matches!(refused, StateError::Damaged { .. }), "{refused:?}");
}

#[test]
fn state_of_a_newer_version_is_said_and_left_untouched() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("instances/a/state.db");
    let state = instance(&place);
    state
        .database
        .pragma_update(None, "user_version", 99)
        .unwrap();
    drop(state);
    let before = fs::read(&path).unwrap();
    let refused = StateDirectory::at(place.path()).open("a").unwrap_err();
    assert!(
        matches!(refused, StateError::Newer { found: 99, .. }),
        "{refused:?}"
    );
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn nothing_written_to_a_snapshot_lasts() {
    let place = tempfile::tempdir().unwrap();
    let mut state = instance(&place);
    state
        .save(&[Change::Confirm(uri("a"), hash(1))], Tracked)
        .unwrap();
    let mut copy = StateDirectory::at(place.path()).snapshot("a").unwrap();
    assert_eq!(copy.confirmed_count().unwrap(), 1);
    copy.save(&[Change::Forget(uri("a"))], Tracked).unwrap();
    assert_eq!(copy.confirmed_count().unwrap(), 0);
    assert_eq!(state.confirmed_count().unwrap(), 1);
}

#[test]
fn only_what_changes_enters_the_write_set() {
    let place = tempfile::tempdir().unwrap();
    let mut state = instance(&place);
    state
        .save(&[Change::Confirm(uri("a"), hash(1))], Tracked)
        .unwrap();
    state.finish(CursorChange::Store("c-1"), None).unwrap();
    let nothing_new = [Change::Confirm(uri("a"), hash(1)), Change::Forget(uri("b"))];
    state.save(&nothing_new, Tracked).unwrap();
    assert!(state.write_set().unwrap().is_empty());
    state
        .save(&[Change::Confirm(uri("a"), hash(2))], Untracked)
        .unwrap();
    assert!(state.write_set().unwrap().is_empty());
    state
        .save(&[Change::Confirm(uri("a"), hash(3))], Tracked)
        .unwrap();
    assert_eq!(state.write_set().unwrap(), [uri("a")]);
}
