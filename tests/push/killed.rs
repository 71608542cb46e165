//! `kill -9` at any moment, then the same push again: the remote equals the source, and nothing
//! is called a conflict.

use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use super::place::Place;

/// Kills a push after each of these shares of the time that an undisturbed one takes.
const MOMENTS: u32 = 12;

fn write_documents(place: &Place, generation: u32) {
    for number in 0..400 {
        let kept = if number % 3 == 0 { 0 } else { generation };
        place.write(
            &format!("{number}.md"),
            format!("# Document {number}\n\nText {kept}.\n"),
        );
    }
}

/// Starts a push and kills it after `delay`.
fn kill_push_after(place: &Place, delay: Duration) {
    let mut push = place
        .command()
        .args(["push", "docs"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    thread::sleep(delay);
    push.kill().unwrap();
    push.wait().unwrap();
}

fn assert_converges(place: &Place, moment: u32) {
    let (report, run) = place.push();
    assert_eq!(
        (report.outcome.as_str(), run.code),
        ("succeeded", Some(0)),
        "{moment}: {run:?}"
    );
    assert!(report.failures.is_empty(), "{moment}: {report:?}");
    assert_eq!(place.remote(), place.fresh_remote(), "{moment}");
    assert_eq!(
        place.pushed().unchanged,
        place.remote().len() as u64,
        "{moment}"
    );
}

#[test]
fn a_first_push_killed_at_any_moment_is_completed_by_the_next() {
    let timed = Place::new();
    write_documents(&timed, 1);
    let begun = Instant::now();
    timed.pushed();
    let whole = begun.elapsed();
    for moment in 0..MOMENTS {
        let place = Place::new();
        write_documents(&place, 1);
        kill_push_after(&place, whole * moment / MOMENTS);
        assert_converges(&place, moment);
    }
}

#[test]
fn edits_renames_and_deletes_killed_at_any_moment_are_completed_by_the_next() {
    let place = Place::new();
    write_documents(&place, 0);
    place.pushed();
    for moment in 0..MOMENTS {
        write_documents(&place, moment + 1);
        for number in 0..20 {
            let number = moment * 20 + number;
            if place.docs().join(format!("{number}.md")).exists() {
                place.rename(
                    &format!("{number}.md"),
                    &format!("moved/{moment}-{number}.md"),
                );
            }
        }
        for number in 0..10 {
            place.write(&format!("extra-{moment}-{number}.md"), "Extra.\n");
            if moment > 0 {
                place.remove(&format!("extra-{}-{number}.md", moment - 1));
            }
        }
        kill_push_after(&place, Duration::from_millis(20 + u64::from(moment) * 25));
        assert_converges(&place, moment);
    }
}

#[test]
fn a_folder_renamed_again_after_its_renaming_was_killed_arrives() {
    let place = Place::new();
    for number in 0..600 {
        place.write(&format!("d/{number}.md"), format!("Text {number}.\n"));
    }
    place.pushed();
    for moment in 0..MOMENTS {
        let name = |moment| {
            format!(
                "d{}",
                if moment == 0 {
                    String::new()
                } else {
                    format!("{moment}")
                }
            )
        };
        place.rename(&name(moment * 2), &name(moment * 2 + 1));
        kill_push_after(&place, Duration::from_millis(15 + u64::from(moment) * 15));
        place.rename(&name(moment * 2 + 1), &name(moment * 2 + 2));
        assert_converges(&place, moment);
    }
}
