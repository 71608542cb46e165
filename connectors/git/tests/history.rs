//! History mode: repositories as documents, months as pages, commits as elements.

use std::fs;
use std::path::Path;

use dpe_connector_testing::{Plugin, Remote, Scanned};
use serde_json::{Value, json};

use crate::repository::{Repository, configured, enumerated, git, plugin, run};

const DAY: u64 = 24 * 3600;

fn history() -> Value {
    json!({"mode": "history"})
}

fn scanned(repo: impl AsRef<Path>) -> Scanned {
    plugin(repo, history()).scan(None)
}

/// Title of every page with the first lines of its elements.
fn told(item: &Value) -> Vec<(String, Vec<String>)> {
    let text = |element: &Value| {
        element["text"]
            .as_str()
            .unwrap()
            .lines()
            .next()
            .unwrap_or("")
            .to_owned()
    };
    let page = |page: &Value| {
        let elements = page["elements"].as_array().unwrap();
        (
            page["title"].as_str().unwrap().to_owned(),
            elements.iter().map(text).collect(),
        )
    };
    item["pages"].as_array().unwrap().iter().map(page).collect()
}

fn pages(expected: &[(&str, &[&str])]) -> Vec<(String, Vec<String>)> {
    let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    expected
        .iter()
        .map(|(title, texts)| ((*title).to_owned(), owned(texts)))
        .collect()
}

#[test]
fn commits_are_elements_of_the_page_of_their_month() {
    // The clock of a test repository begins on 2023-11-14.
    let repository = Repository::new();
    let first = repository.commit_saying("one\n\nwith a body");
    repository.wait(20 * DAY);
    repository.commit_saying("two");
    repository.wait(40 * DAY);
    repository.commit_saying("three");
    let scanned = scanned(repository.root());
    assert_eq!(scanned.lines(), ["+work"]);
    let item = &scanned.items[0];
    let expected: &[(&str, &[&str])] = &[
        ("2023-11", &["one"]),
        ("2023-12", &["two"]),
        ("2024-01", &["three"]),
    ];
    assert_eq!(told(item), pages(expected));
    assert_eq!(item["document"], json!({"file_type": "git_history"}));
    assert_eq!(
        item["pages"][0]["elements"][0],
        json!({
            "category": "NarrativeText",
            "text": "one\n\nwith a body",
            "metadata": {
                "commit": first,
                "parents": [],
                "author_name": "A U Thor",
                "author_email": "author@example.com",
                "author_date": "2023-11-14T22:14:20+00:00",
            },
        })
    );
    assert_eq!(
        item["pages"][1]["elements"][0]["metadata"]["parents"],
        json!([first])
    );
}

#[test]
fn a_new_commit_changes_the_last_page_only() {
    let repository = Repository::new();
    for number in 0..450 {
        let mut command = git(repository.root(), &["commit", "-q", "--allow-empty", "-m"]);
        command.arg(number.to_string());
        for who in ["AUTHOR", "COMMITTER"] {
            // All in one second: their parents tell the order.
            command.env(format!("GIT_{who}_DATE"), "1700000000 +0000");
        }
        run(&mut command);
    }
    let before = scanned(repository.root());
    let titles: Vec<String> = told(&before.items[0])
        .into_iter()
        .map(|(title, _)| title)
        .collect();
    assert_eq!(titles, ["2023-11", "2023-11 (2)", "2023-11 (3)"]);
    let numbers: Vec<String> = told(&before.items[0])
        .into_iter()
        .flat_map(|(_, texts)| texts)
        .collect();
    assert_eq!(
        numbers,
        (0..450)
            .map(|number| number.to_string())
            .collect::<Vec<_>>()
    );
    repository.commit_saying("new");
    let after = plugin(repository.root(), history()).scan(before.cursor.as_deref());
    assert!(after.incremental);
    let page = |scanned: &Scanned, index: usize| scanned.items[0]["pages"][index].clone();
    assert_eq!(
        (page(&after, 0), page(&after, 1)),
        (page(&before, 0), page(&before, 1))
    );
    assert_eq!(page(&after, 2)["elements"].as_array().unwrap().len(), 51);
    let third = plugin(repository.root(), history()).scan(after.cursor.as_deref());
    assert_eq!((third.lines(), third.incremental), (Vec::new(), true));
}

#[test]
fn messages_are_decoded_by_the_encoding_they_name() {
    let repository = Repository::new();
    let commit = |encoding: &str, message: &[u8]| {
        repository.wait(60);
        repository.write("message", message);
        let encoding = format!("i18n.commitEncoding={encoding}");
        repository.git(&[
            "-c",
            &encoding,
            "commit",
            "-q",
            "--allow-empty",
            "-F",
            "message",
        ]);
    };
    commit("ISO-8859-1", b"caf\xe9");
    commit("Shift_JIS", b"\x93\xfa\x96\x7b");
    // Git itself would mend this one.
    let (tree, parent) = (
        repository.git(&["rev-parse", "HEAD^{tree}"]),
        repository.git(&["rev-parse", "HEAD"]),
    );
    let who = "A U Thor <author@example.com> 1700001000 +0000";
    let head = format!("tree {tree}\nparent {parent}\nauthor {who}\ncommitter {who}\n\n");
    repository.write("raw", [head.as_bytes(), b"caf\xe9"].concat());
    let raw = repository.git(&["hash-object", "-t", "commit", "-w", "--literally", "raw"]);
    repository.git(&["update-ref", "HEAD", &raw]);
    let scanned = scanned(repository.root());
    let elements = scanned.items[0]["pages"][0]["elements"].as_array().unwrap();
    let texts: Vec<&str> = elements
        .iter()
        .map(|element| element["text"].as_str().unwrap())
        .collect();
    assert_eq!(texts, ["café", "日本", "caf\u{fffd}"]);
    let marks: Vec<&Value> = elements
        .iter()
        .map(|element| &element["metadata"]["undecodable"])
        .collect();
    assert_eq!(marks, [&Value::Null, &Value::Null, &json!(true)]);
}

#[test]
fn merged_branches_are_told_by_time() {
    let repository = Repository::new();
    repository.commit_saying("base");
    repository.git(&["checkout", "-q", "-b", "side"]);
    repository.commit_saying("side");
    repository.git(&["checkout", "-q", "main"]);
    repository.commit_saying("main");
    repository.wait(60);
    repository.git(&["merge", "-q", "-m", "merge", "side"]);
    let scanned = scanned(repository.root());
    assert_eq!(
        told(&scanned.items[0]),
        pages(&[("2023-11", &["base", "side", "main", "merge"])])
    );
}

#[test]
fn a_shallow_repository_ends_where_it_was_cut() {
    let repository = Repository::new();
    for message in ["one", "two", "three"] {
        repository.commit_saying(message);
    }
    let shallow = repository.beside("shallow");
    let from = format!("file://{}", repository.root().display());
    run(&mut git(
        repository.root(),
        &["clone", "-q", "--depth=2", &from, shallow.to_str().unwrap()],
    ));
    let mut cut = plugin(&shallow, history());
    let first = cut.scan(None);
    assert_eq!(
        told(&first.items[0]),
        pages(&[("2023-11", &["two", "three"])])
    );
    assert!(cut.stderr().contains("git fetch --unshallow"));
    run(&mut git(&shallow, &["fetch", "-q", "--unshallow"]));
    let second = plugin(&shallow, history()).scan(first.cursor.as_deref());
    assert_eq!(
        told(&second.items[0]),
        pages(&[("2023-11", &["one", "two", "three"])])
    );
}

#[test]
fn a_repository_without_commits_gives_no_document() {
    let repository = Repository::new();
    let mut plugin = plugin(repository.root(), history());
    assert_eq!(plugin.scan(None).lines(), Vec::<String>::new());
    assert_eq!(
        plugin.stderr(),
        "skipped 1 repository without commits: work\n"
    );
}

#[test]
fn a_repository_whose_head_has_no_commit_for_a_while_keeps_its_document() {
    let place = many();
    let one = place.path().join("one");
    let first = scanned(place.path());
    run(&mut git(&one, &["checkout", "-q", "--orphan", "new"]));
    let second = plugin(place.path(), history()).scan(first.cursor.as_deref());
    assert_eq!(second.lines(), Vec::<String>::new());
    run(&mut git(&one, &["checkout", "-q", "-f", "main"]));
    commit(&one, "more");
    let third = plugin(place.path(), history()).scan(second.cursor.as_deref());
    assert_eq!(third.lines(), ["+one"]);
}

#[test]
fn a_new_repository_around_all_others_deletes_none_of_them() {
    let place = many();
    let first = scanned(place.path());
    run(&mut git(place.path(), &["init", "-q", "-b", "main"]));
    let error = plugin(place.path(), history()).failing_scan(first.cursor.as_deref());
    assert_eq!(error["code"], -32003, "{error}");
}

/// Repositories of several kinds below one folder.
fn many() -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    for name in [
        "one",
        "group/two",
        "group/deep/three",
        ".hidden",
        "group/both",
    ] {
        fs::create_dir_all(at(name)).unwrap();
        run(&mut git(&at(name), &["init", "-q", "-b", "main"]));
        commit(&at(name), name);
    }
    let clone = |args: &[&str]| run(&mut git(place.path(), args));
    clone(&["clone", "-q", "--bare", "one", "bare.git"]);
    clone(&["clone", "-q", "--bare", "one", "group/both.git"]);
    run(&mut git(
        &at("one"),
        &["worktree", "add", "-q", "--detach", "../again"],
    ));
    // Neither a repository in a work tree nor a folder of other things is one of them.
    fs::create_dir_all(at("one/inner")).unwrap();
    run(&mut git(&at("one/inner"), &["init", "-q"]));
    fs::create_dir_all(at("notes/objects")).unwrap();
    place
}

fn commit(folder: &Path, message: &str) {
    let mut command = git(folder, &["commit", "-q", "--allow-empty", "-m", message]);
    for who in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{who}_DATE"), "1700000000 +0000");
    }
    run(&mut command);
}

#[test]
fn repositories_below_a_folder_are_found_once_each() {
    let place = many();
    let expected = [
        "+bare",
        "+group/both",
        "+group/both.git",
        "+group/deep/three",
        "+group/two",
        "+one",
    ];
    assert_eq!(scanned(place.path()).lines(), expected);
    let some = json!({"mode": "history", "include": ["group/"], "exclude": ["deep"]});
    let scanned = plugin(place.path(), some).scan(None);
    assert_eq!(
        scanned.lines(),
        ["+group/both", "+group/both.git", "+group/two"]
    );
}

#[test]
fn repositories_come_go_and_change_their_names() {
    let place = many();
    let at = |name: &str| place.path().join(name);
    let mut remote = Remote::new();
    let first = scanned(place.path());
    first.land(&mut remote);
    commit(&at("group/two"), "more");
    fs::rename(at("group/deep/three"), at("three")).unwrap();
    fs::remove_dir_all(at("bare.git")).unwrap();
    fs::create_dir_all(at("new")).unwrap();
    run(&mut git(&at("new"), &["init", "-q", "-b", "main"]));
    commit(&at("new"), "new");
    let second = plugin(place.path(), history()).scan(first.cursor.as_deref());
    assert_eq!(
        second.lines(),
        [
            "group/deep/three>three",
            "-bare",
            "+group/two",
            "+new",
            "+three"
        ]
    );
    second.land(&mut remote);
    assert_eq!(remote, enumerated(place.path(), history()));
}

#[test]
fn what_cannot_be_read_is_an_error_and_keeps_its_document() {
    let place = many();
    let at = |name: &str| place.path().join(name);
    let first = scanned(place.path());
    fs::write(at("one/.git/HEAD"), "nonsense").unwrap();
    let second = plugin(place.path(), history()).scan(first.cursor.as_deref());
    let lines = second.lines();
    assert!(
        lines.contains(&"!one source_unavailable".to_owned()),
        "{lines:?}"
    );
    assert!(!lines.contains(&"-one".to_owned()), "{lines:?}");
}

#[test]
fn a_folder_without_repositories_is_a_failure_and_deletes_nothing() {
    let place = many();
    let first = scanned(place.path());
    for entry in fs::read_dir(place.path()).unwrap() {
        fs::remove_dir_all(entry.unwrap().path()).unwrap();
    }
    let error = plugin(place.path(), history()).failing_scan(first.cursor.as_deref());
    assert_eq!(error["code"], -32003);
}

#[test]
fn a_long_history_is_said_in_segments_within_the_limit() {
    let repository = Repository::new();
    for number in 0..40 {
        repository.commit_saying(&format!("{number}\n\n{}", "word ".repeat(1000)));
        repository.wait(30 * DAY);
    }
    let config = configured(repository.root(), history());
    let mut plugin = Plugin::start_limited(dpe_connector_git::main, &config, 16 << 10);
    let scanned = plugin.scan(None);
    assert!(scanned.items.len() > 10);
    let mut remote = Remote::new();
    scanned.land(&mut remote);
    assert_eq!(remote, enumerated(repository.root(), history()));
}

#[test]
fn a_history_with_a_page_too_long_for_a_message_is_one_error() {
    let repository = Repository::new();
    // More than is read before the first segment is said.
    let letters = "x".repeat(120 << 10);
    for _ in 0..40 {
        repository.commit_saying(&letters);
        repository.wait(40 * DAY);
    }
    // In JSON every one of these is six letters long.
    repository.commit_saying(&"\u{1}".repeat(120 << 10));
    repository.wait(40 * DAY);
    repository.commit_saying("last");
    let config = configured(repository.root(), history());
    let mut plugin = Plugin::start_limited(dpe_connector_git::main, &config, 512 << 10);
    let scanned = plugin.scan(None);
    assert_eq!(scanned.lines(), ["!work content_invalid"]);
    assert_eq!(scanned.items[0]["retryable"], false);
    let whole = self::scanned(repository.root());
    assert!(whole.lines().iter().all(|line| line == "+work"));
}
