//! `-q`: nothing when all is well, one block when not; and the verdict, which is always the last line.

use crate::push::place::{Place, Run};

fn place() -> Place {
    let place = Place::new();
    place.write("a.md", "# One\n");
    place
}

fn last(ran: &Run) -> &str {
    ran.stderr.lines().last().unwrap_or_default()
}

#[test]
fn a_quiet_push_that_fails_in_part_says_what_why_the_way_out_and_the_verdict_in_one_block() {
    let place = place();
    place.write("b.json", "\0\u{1}");
    let ran = place.dpe(&["push", "-q", "docs"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let lines: Vec<&str> = ran.stderr.lines().collect();
    let [what, why, way_out, verdict] = lines[..] else {
        panic!("{ran:?}");
    };
    assert!(
        what.starts_with("pushing docs as dpe://docs/ to "),
        "{what}"
    );
    assert!(why.starts_with("failed: dpe://docs/b.json: "), "{why}");
    assert!(way_out.contains(".dpeignore"), "{way_out}");
    assert!(
        verdict.starts_with("pushed docs in part: 1 created, "),
        "{verdict}"
    );
}

#[test]
fn of_several_sources_a_quiet_push_tells_of_those_that_failed() {
    let place = place();
    let ran = place.dpe(&["push", "-q", "nowhere", "docs"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(ran.stderr.contains("cannot push nowhere"), "{ran:?}");
    assert!(!ran.stderr.contains("pushing docs"), "{ran:?}");
    assert_eq!(last(&ran), "1 of 2 sources succeeded");
    let ran = place.dpe(&["push", "-q", "docs", "docs/a.md"]);
    assert_eq!((ran.code, &*ran.stderr), (Some(0), ""), "{ran:?}");
}

#[test]
fn a_quiet_push_shows_its_plan_no_more_than_anything_else() {
    let ran = place().dpe(&["push", "-qn", "docs"]);
    assert_eq!((ran.code, &*ran.stderr), (Some(0), ""), "{ran:?}");
}

#[test]
fn the_last_line_is_the_verdict_and_says_whether_another_push_helps() {
    let place = place();
    let verdict = |arguments: &[&str]| {
        let ran = place.dpe(arguments);
        (ran.code.unwrap(), last(&ran).to_owned())
    };
    let (code, said) = verdict(&["push", "docs"]);
    assert_eq!(code, 0);
    assert!(said.starts_with("pushed docs: 1 created, "), "{said}");
    // Nobody listens there.
    let (code, said) = verdict(&[
        "push",
        "docs",
        "--remote",
        "http://127.0.0.1:9",
        "--timeout",
        "1",
    ]);
    assert_eq!(code, 2);
    assert!(
        said.starts_with("gave up on docs, which may succeed later: "),
        "{said}"
    );
    let (code, said) = verdict(&["push", "nowhere"]);
    assert_eq!(code, 3);
    let expected = "gave up on nowhere, which fails until something is changed: ";
    assert!(said.starts_with(expected), "{said}");
    let (code, said) = verdict(&["push", "docs", "--prefix", "no uri"]);
    assert_eq!(code, 3);
    assert_eq!(said, "gave up before anything was pushed");
}
