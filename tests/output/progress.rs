//! Progress, on a terminal and where there is none.

use std::fs::File;
use std::io::Read;
use std::process::Stdio;

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::over_http::served::Served;
use crate::push::place::{Place, run};

fn place() -> Place {
    let place = Place::new();
    for number in 0..150 {
        place.write(&format!("{number}.md"), format!("# Number {number}\n"));
    }
    place
}

/// Runs a push whose stderr is a terminal, and returns all that the terminal was sent.
fn on_a_terminal(place: &Place, arguments: &[&str], variables: &[(&str, &str)]) -> String {
    let served = Served::start(&place.path().join("store"), &[]);
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap();
    let slave = rustix::fs::open(name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
    let size = Winsize {
        ws_row: 20,
        ws_col: 80,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(&slave, size).unwrap();
    let mut command = place.command();
    command
        .args([
            "push",
            "docs",
            "--remote",
            &served.url,
            "--limit-upload",
            "20K",
        ])
        .args(arguments)
        .env("TERM", "xterm")
        .envs(variables.iter().copied())
        .stderr(Stdio::from(slave));
    let mut child = command.spawn().unwrap();
    drop(command);
    let reader = std::thread::spawn(move || {
        let mut said = Vec::new();
        // Linux answers with an error once nobody has the other end any more.
        let _ = File::from(master).read_to_end(&mut said);
        String::from_utf8(said).unwrap()
    });
    assert_eq!(child.wait().unwrap().code(), Some(0));
    reader.join().unwrap()
}

/// What a person sees in the end, line by line.
fn seen(said: &str) -> Vec<String> {
    let mut terminal = vt100::Parser::new(400.try_into().unwrap(), 80.try_into().unwrap(), 0);
    terminal.process(said.as_bytes());
    let contents = terminal.screen().contents();
    contents
        .lines()
        .map(|line| line.trim_end().to_owned())
        .collect()
}

#[test]
fn progress_is_painted_on_a_terminal_and_leaves_nothing_but_the_lines() {
    let place = place();
    let said = on_a_terminal(&place, &[], &[("LANG", "C.UTF-8")]);
    for part in ["scanned", "of 150 written", "/s", "left"] {
        assert!(said.contains(part), "{part}: {said:?}");
    }
    let seen = seen(&said);
    assert!(seen[0].starts_with("pushing docs as "), "{seen:?}");
    assert!(seen[1].starts_with("pushed docs: 150 created"), "{seen:?}");
    assert_eq!(seen.len(), 2, "{seen:?}");
}

#[test]
fn lines_of_a_talkative_push_stand_above_the_progress() {
    let place = place();
    let said = on_a_terminal(&place, &["-v"], &[]);
    let seen = seen(&said);
    let created = seen
        .iter()
        .filter(|line| line.starts_with("created  dpe://docs/"));
    assert_eq!(created.count(), 150, "{seen:?}");
    assert_eq!(seen.len(), 152, "{seen:?}");
    // A terminal of the C locale gets nothing but ASCII.
    assert!(said.is_ascii(), "{said:?}");
}

#[test]
fn no_progress_is_painted_where_nobody_wants_it() {
    for (arguments, variables) in [
        (&["--progress", "none"][..], &[][..]),
        (&[], &[("TERM", "dumb")]),
        (&[], &[("CI", "true")]),
        (&[], &[("DPE_PROGRESS", "none")]),
    ] {
        let said = on_a_terminal(&place(), arguments, variables);
        assert!(!said.contains('\u{1b}'), "{said:?}");
        assert_eq!(said.lines().count(), 2, "{said:?}");
    }
    assert_eq!(on_a_terminal(&place(), &["-q"], &[]), "");
}

#[test]
fn plain_progress_is_lines_without_control_characters() {
    let place = place();
    let ran = run(place
        .command()
        .args(["push", "docs", "--progress", "plain"]));
    assert_eq!(ran.code, Some(0));
    let lines: Vec<&str> = ran.stderr.lines().collect();
    let [_, scanned, _] = lines[..] else {
        panic!("{ran:?}");
    };
    assert!(
        scanned.starts_with("docs: all 150 scanned in "),
        "{scanned}"
    );
    assert!(!ran.stderr.contains(['\r', '\u{1b}']), "{ran:?}");
    // In a pipe there is none unless somebody asks for it.
    let ran = place.dpe(&["push", "docs"]);
    assert_eq!(ran.stderr.lines().count(), 2, "{ran:?}");
    let ran = place.dpe(&["push", "docs", "--progress", "fancy"]);
    assert_eq!(ran.code, Some(64));
}
