//! `dpe check-ignore` names what a push leaves out, with the rule; for what git knows, in the very words of git.

use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use super::place::{Place, Run, run};
use super::repositories::git;
use crate::convergence::random::Chance;
use crate::convergence::seeds;

/// A repository `docs` without files.
fn repository() -> Place {
    let place = Place::new();
    git(&place.docs(), &["init", "-q", "-b", "main"]);
    place
}

/// Runs a command in `docs` that is told `paths` by NUL, and returns what it said and how it ended.
fn asked(mut command: Command, place: &Place, paths: &[String]) -> (String, Option<i32>) {
    let mut child = command
        .current_dir(place.docs())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let text: String = paths.iter().map(|path| format!("{path}\0")).collect();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.stderr.is_empty(), "{output:?}");
    (
        String::from_utf8(output.stdout).unwrap(),
        output.status.code(),
    )
}

fn by_git(place: &Place, paths: &[String]) -> (String, Option<i32>) {
    let mut command = Command::new("git");
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", place.path().join("home"))
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .args(["check-ignore", "--no-index", "-v", "-n", "-z", "--stdin"]);
    asked(command, place, paths)
}

fn by_us(place: &Place, paths: &[String]) -> (String, Option<i32>) {
    let mut command = place.command();
    command.args(["check-ignore", "-v", "-n", "-z", "--stdin"]);
    asked(command, place, paths)
}

const NAMES: [&str; 6] = ["a", "b", "ab", "A", "a b", "é"];

const LINES: [&str; 22] = [
    "a", "b/", "/a", "!a", "!b/", "*", "!*", "a*", "*b", "/a/b", "a/**", "**/b", "!/a", "# a", "",
    "a\\ b", "[ab]", "  ", "!a/b", "/*/", "é", "a b  ",
];

fn rules(chance: &mut Chance) -> String {
    (0..chance.of(0..5))
        .map(|_| format!("{}\n", chance.one(&LINES)))
        .collect()
}

#[test]
fn it_says_what_git_says_of_random_rules_line_by_line() {
    for seed in seeds(0..12) {
        let mut chance = Chance::new(seed);
        let place = repository();
        let mut paths = Vec::new();
        for _ in 0..12 {
            let depth = chance.of(1..4);
            let path: Vec<_> = (0..depth).map(|_| *chance.one(&NAMES)).collect();
            let path = path.join("/");
            let file = place.docs().join(&path);
            if fs::create_dir_all(file.parent().unwrap()).is_ok() && !file.exists() {
                fs::write(&file, "x").unwrap();
            }
            paths.push(path);
        }
        for folder in ["", "a", "a/b"] {
            if place.docs().join(folder).is_dir() {
                fs::write(
                    place.docs().join(folder).join(".gitignore"),
                    rules(&mut chance),
                )
                .unwrap();
            }
        }
        fs::create_dir_all(place.docs().join(".git/info")).unwrap();
        fs::write(place.docs().join(".git/info/exclude"), rules(&mut chance)).unwrap();
        fs::create_dir_all(place.path().join("home/.config/git")).unwrap();
        fs::write(
            place.path().join("home/.config/git/ignore"),
            rules(&mut chance),
        )
        .unwrap();
        // Where a file is in the way, git and we are asked about what cannot be there.
        paths.retain(|path| {
            Path::new(path)
                .ancestors()
                .skip(1)
                .all(|above| !place.docs().join(above).is_file())
        });
        paths.sort();
        paths.dedup();
        let (ours, _) = by_us(&place, &paths);
        let (gits, _) = by_git(&place, &paths);
        assert_eq!(ours, gits, "seed {seed}");
    }
}

fn told(place: &Place, arguments: &[&str]) -> Run {
    run(place
        .command()
        .current_dir(place.docs())
        .arg("check-ignore")
        .args(arguments))
}

#[test]
fn what_is_left_out_is_named_and_the_exit_code_says_whether_anything_is() {
    let place = repository();
    place.write(".gitignore", "*.log\nbuild/\n!keep.log\n");
    place.write(".dpeignore", "# of ours\n/drafts\n");
    place.write("sub/.ignore", "secret.md\n");
    place.write("build/x.md", "x");
    let left_out = told(
        &place,
        &[
            "a.log",
            "keep.log",
            "a.md",
            "build/x.md",
            "drafts/new.md",
            "sub/secret.md",
        ],
    );
    assert_eq!(left_out.code, Some(0), "{left_out:?}");
    assert_eq!(
        left_out.stdout,
        "a.log\nbuild/x.md\ndrafts/new.md\nsub/secret.md\n"
    );
    let why = told(
        &place,
        &[
            "-v",
            "a.log",
            "keep.log",
            "a.md",
            "build/x.md",
            "drafts/new.md",
            "sub/secret.md",
        ],
    );
    assert_eq!(
        why.stdout,
        ".gitignore:1:*.log\ta.log\n.gitignore:3:!keep.log\tkeep.log\n.gitignore:2:build/\tbuild/x.md\n\
         .dpeignore:2:/drafts\tdrafts/new.md\nsub/.ignore:1:secret.md\tsub/secret.md\n"
    );
    for nothing in [&["a.md"][..], &["keep.log"], &["-v", "keep.log"]] {
        assert_eq!(told(&place, nothing).code, Some(1), "{nothing:?}");
    }
    assert_eq!(told(&place, &["-v", "-n", "a.md"]).stdout, "::\ta.md\n");
    assert_eq!(told(&place, &[]).code, Some(64));
}

#[test]
fn what_no_file_leaves_out_has_its_reason_in_place_of_the_file() {
    let place = Place::new();
    place.write("a.md", "x");
    place.write(".hidden/a.md", "x");
    fs::create_dir_all(place.docs().join(".git")).unwrap();
    symlink("a.md", place.docs().join("link.md")).unwrap();
    symlink(".", place.docs().join("folder")).unwrap();
    let fifo = place.docs().join("pipe");
    assert!(
        Command::new("mkfifo")
            .arg(&fifo)
            .status()
            .unwrap()
            .success()
    );
    let ran = told(
        &place,
        &[
            "-v",
            ".hidden/a.md",
            ".git/config",
            "link.md",
            "folder/a.md",
            "pipe",
            "a.md",
        ],
    );
    assert_eq!(
        ran.stdout,
        "<hidden>::\t.hidden/a.md\n<git>::\t.git/config\n<link>::\tlink.md\n<link>::\tfolder/a.md\n<special>::\tpipe\n"
    );
    let json = told(&place, &["--json", "a.md"]);
    let line: serde_json::Value = serde_json::from_str(json.stdout.trim_end()).unwrap();
    assert_eq!(
        (&line["path"], &line["ignored"]),
        (&"a.md".into(), &false.into())
    );
}

#[test]
fn it_agrees_with_the_push() {
    let place = repository();
    place.write(".gitignore", "*.txt\n/sub/\n");
    for name in ["a.md", "b.txt", "sub/c.md", "other/d.md", "other/e.txt"] {
        place.write(name, "# Text\n");
    }
    place.pushed();
    let pushed = place.names();
    for name in ["a.md", "b.txt", "sub/c.md", "other/d.md", "other/e.txt"] {
        let is_left_out = told(&place, &[name]).code == Some(0);
        assert_eq!(!is_left_out, pushed.contains(&name.to_owned()), "{name}");
    }
}

#[test]
fn what_cannot_be_told_is_an_error_and_the_others_are_told() {
    let place = Place::new();
    place.write("a.md", "x");
    place.write("sub/b.md", "x");
    fs::File::create(place.docs().join("sub/.gitignore"))
        .unwrap()
        .set_len(101 << 20)
        .unwrap();
    let ran = told(&place, &["-v", "-n", "sub/b.md", "../elsewhere", "a.md"]);
    assert_eq!((ran.code, &*ran.stdout), (Some(3), "::\ta.md\n"), "{ran:?}");
    assert!(ran.stderr.contains("is not below"), "{ran:?}");
    let ran = told(&place, &["--source", "nowhere", "a.md"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
}
