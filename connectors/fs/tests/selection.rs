//! Which files are enumerated.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use serde_json::{Value, json};

use crate::plugin::{Folder, connector};

fn lines(folder: &Folder, config: Value) -> Vec<String> {
    connector(folder.root(), config).scan(None).lines()
}

#[test]
fn ignore_files_count_also_outside_a_repository() {
    let folder = Folder::with(&[
        (".gitignore", "*.log\n/build/\n"),
        (".ignore", "b.txt\n"),
        (".dpeignore", "c.txt\n"),
        ("a.txt", "a"),
        ("b.txt", "b"),
        ("c.txt", "c"),
        ("x.log", "x"),
        ("build/out.txt", "o"),
        ("sub/.gitignore", "!y.log\nz.txt\n"),
        ("sub/y.log", "y"),
        ("sub/z.txt", "z"),
    ]);
    assert_eq!(lines(&folder, json!({})), ["+a.txt", "+sub/y.log"]);
}

#[test]
fn ignore_files_above_the_root_count_only_inside_a_repository() {
    let outer = Folder::with(&[
        (".gitignore", "b.txt\n"),
        ("docs/a.txt", "a"),
        ("docs/b.txt", "b"),
    ]);
    let docs = outer.path("docs");
    let scan = || connector(&docs, json!({})).scan(None).lines();
    assert_eq!(scan(), ["+a.txt", "+b.txt"]);
    outer.write(".git/HEAD", "ref: refs/heads/main\n");
    assert_eq!(scan(), ["+a.txt"]);
}

#[test]
fn a_repository_within_goes_by_its_own_rules() {
    let folder = Folder::with(&[
        (".gitignore", "*.log\n"),
        (".ignore", "*.tmp.txt\n"),
        ("inner/.git/info/exclude", "b.txt\n"),
        ("inner/a.log", "a"),
        ("inner/b.txt", "b"),
        ("inner/c.tmp.txt", "c"),
        ("inner/deep/b.txt", "b"),
        ("b.txt", "b"),
        ("b.log", "b"),
    ]);
    // Only `.ignore` and `.dpeignore` have nothing to do with repositories.
    assert_eq!(lines(&folder, json!({})), ["+b.txt", "+inner/a.log"]);
}

#[test]
fn a_gitignore_that_is_a_link_does_not_count_as_for_git() {
    let folder = Folder::with(&[("rules", "a.txt\n"), ("a.txt", "a"), ("d/a.txt", "a")]);
    symlink("rules", folder.path(".gitignore")).unwrap();
    symlink("../rules", folder.path("d/.dpeignore")).unwrap();
    assert_eq!(lines(&folder, json!({})), ["+a.txt", "+rules"]);
}

#[test]
fn nothing_waits_for_an_ignore_file_that_is_a_pipe() {
    let folder = Folder::with(&[("a.txt", "a"), ("d/b.txt", "b")]);
    fs::create_dir(folder.path(".ignore")).unwrap();
    for name in [".gitignore", "d/.dpeignore"] {
        let made = Command::new("mkfifo").arg(folder.path(name)).status();
        assert!(made.unwrap().success());
    }
    assert_eq!(lines(&folder, json!({})), ["!- source_unavailable"]);
}

#[test]
fn hidden_files_are_enumerated_on_request_and_git_s_own_never() {
    let folder = Folder::with(&[
        (".hidden.txt", "h"),
        (".config/a.txt", "c"),
        (".git/config", "[core]\n"),
        ("sub/.git", "gitdir: elsewhere\n"),
        ("a.txt", "a"),
    ]);
    assert_eq!(lines(&folder, json!({})), ["+a.txt"]);
    let hidden = lines(&folder, json!({"hidden": true}));
    assert_eq!(hidden, ["+.config/a.txt", "+.hidden.txt", "+a.txt"]);
}

#[test]
fn include_and_exclude_narrow_the_selection() {
    let folder = Folder::with(&[
        (".gitignore", "ignored.md\n"),
        ("ignored.md", "i"),
        ("a.md", "a"),
        ("a.txt", "a"),
        ("drafts/b.md", "b"),
        ("notes/c.md", "c"),
    ]);
    let config = json!({"include": ["*.md"], "exclude": ["drafts/"]});
    assert_eq!(lines(&folder, config), ["+a.md", "+notes/c.md"]);
    let config = json!({"include": ["/notes"]});
    assert_eq!(lines(&folder, config), ["+notes/c.md"]);
}

#[test]
fn links_are_passed_over_by_default_and_said() {
    let folder = Folder::with(&[("a.txt", "a")]);
    symlink(folder.path("a.txt"), folder.path("link.txt")).unwrap();
    let mut plugin = connector(folder.root(), json!({}));
    assert_eq!(plugin.scan(None).lines(), ["+a.txt"]);
    assert_eq!(plugin.stderr(), "skipped 1 symbolic link: link.txt\n");
}

#[test]
fn followed_links_never_leave_the_root_nor_run_in_circles() {
    let outside = Folder::with(&[("secret.txt", "s")]);
    let folder = Folder::with(&[("d/a.txt", "a")]);
    symlink(folder.path("d"), folder.path("e")).unwrap();
    symlink(folder.path("d/a.txt"), folder.path("f.txt")).unwrap();
    symlink(folder.root(), folder.path("d/loop")).unwrap();
    symlink(outside.root(), folder.path("out")).unwrap();
    symlink(outside.path("secret.txt"), folder.path("out.txt")).unwrap();
    symlink("nowhere", folder.path("dangling")).unwrap();
    let mut plugin = connector(folder.root(), json!({"follow_links": true}));
    let scanned = plugin.scan(None);
    assert_eq!(scanned.lines(), ["+d/a.txt", "+e/a.txt", "+f.txt"]);
    for name in ["out", "out.txt", "dangling", "d/loop"] {
        assert!(
            plugin.stderr().contains(name),
            "{name}: {}",
            plugin.stderr()
        );
    }
}

#[test]
fn folders_that_are_linked_to_each_other_are_not_gone_through_in_every_order() {
    let folder = Folder::new();
    let names: Vec<String> = (0..7).map(|number| format!("d{number}")).collect();
    for one in &names {
        folder.write(format!("{one}/a.txt"), "a");
        for other in names.iter().filter(|other| *other != one) {
            symlink(format!("../{other}"), folder.path(format!("{one}/{other}"))).unwrap();
        }
    }
    let found = lines(&folder, json!({"follow_links": true}));
    // Over no link, over one, over two, over three; never back to a folder on the way.
    assert_eq!(found.len(), 7 + 7 * 6 + 7 * 6 * 5 + 7 * 6 * 5 * 4);
    assert!(found.contains(&"+d0/d1/d2/d3/a.txt".to_owned()));
}

#[test]
fn special_files_are_passed_over_and_said() {
    let folder = Folder::with(&[("a.txt", "a")]);
    let status = Command::new("mkfifo").arg(folder.path("pipe.txt")).status();
    assert!(status.unwrap().success());
    let mut plugin = connector(folder.root(), json!({}));
    assert_eq!(plugin.scan(None).lines(), ["+a.txt"]);
    assert_eq!(plugin.stderr(), "skipped 1 special file: pipe.txt\n");
}

#[test]
fn unsupported_files_are_summed_up_each_round_or_reported() {
    let folder = Folder::with(&[("a.txt", "a"), ("b.mp3", "ID3"), ("c.mp3", "ID3")]);
    folder.write("d.bin", b"\0\x01\x02");
    let mut plugin = connector(folder.root(), json!({}));
    let first = plugin.scan(None);
    assert_eq!(first.lines(), ["+a.txt"]);
    let line = "skipped 3 files of unsupported formats: 2 .mp3, 1 .bin\n";
    assert_eq!(plugin.stderr(), line);
    plugin.scan(first.cursor.as_deref());
    assert_eq!(plugin.stderr(), line.repeat(2));
    let strict = lines(&folder, json!({"unsupported": "error"}));
    let errors = ["!b.mp3", "!c.mp3", "!d.bin"].map(|uri| format!("{uri} content_invalid"));
    assert_eq!(strict[1..], errors);
}

#[test]
fn named_files_are_enumerated_alone_and_in_spite_of_ignore_rules() {
    let folder = Folder::with(&[
        (".gitignore", "*.txt\n"),
        (".dot.txt", "d"),
        ("a.txt", "a"),
        ("b.txt", "b"),
        ("real.md", "r"),
        (".git/config", "c"),
        ("c.pdf", "%PDF"),
    ]);
    symlink("real.md", folder.path("link.md")).unwrap();
    let named = json!({"only": ["b.txt", "./link.md", ".dot.txt", "b.txt"]});
    let expected = ["+.dot.txt", "+b.txt", "+link.md"];
    assert_eq!(lines(&folder, named), expected);
    let named = json!({"only": ["a.txt", "missing.txt", ".git/config", "c.pdf"]});
    let expected = [
        "!.git/config source_unavailable",
        "!missing.txt source_unavailable",
        "+a.txt",
        "!c.pdf content_invalid",
    ];
    assert_eq!(lines(&folder, named), expected);
}

#[test]
fn what_is_passed_over_is_said_by_name_to_whoever_asks_and_the_cursor_stays_the_same() {
    let folder = Folder::with(&[("a.txt", "a"), ("b.bin", "\0\u{1}"), ("sub/c.mp3", "\0")]);
    let first = connector(folder.root(), json!({})).scan(None);
    let looking = json!({"say_skipped": true});
    let looked = connector(folder.root(), looking).scan(first.cursor.as_deref());
    assert!(looked.incremental);
    let expected = ["!b.bin content_invalid", "!sub/c.mp3 content_invalid"];
    assert_eq!(looked.lines(), expected);
    for item in &looked.items {
        assert_eq!(item["message"], "skipped: unsupported_format");
    }
    let again = connector(folder.root(), json!({})).scan(looked.cursor.as_deref());
    assert!(again.incremental);
    assert_eq!(again.lines(), Vec::<String>::new());
}
