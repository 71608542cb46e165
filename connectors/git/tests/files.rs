//! Files mode: which files, and exactly what changed between two commits.

use std::fs;
use std::io::{PipeReader, PipeWriter};
use std::path::Path;

use dpe_connector_files::Program;
use dpe_connector_testing::{Plugin, Remote, Stderr};
use serde_json::{Value, json};

use crate::repository::{Repository, configured, enumerated, git, plugin, run};

/// The pointer file of git-lfs's specification.
const POINTER: &str = "version https://git-lfs.github.com/spec/v1\n\
    oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n";

fn lines(repository: &Repository, config: Value) -> Vec<String> {
    plugin(repository.root(), config).scan(None).lines()
}

#[test]
fn the_committed_tree_counts_and_not_the_work_tree() {
    let repository = Repository::with(&[("a.md", "# one"), ("d/b.txt", "b"), ("c.txt", "c")]);
    repository.write("a.md", "# two");
    repository.write("untracked.txt", "u");
    repository.remove("c.txt");
    let scanned = repository.plugin().scan(None);
    assert_eq!(scanned.lines(), ["+a.md", "+c.txt", "+d/b.txt"]);
    assert!(!scanned.incremental);
    assert_eq!(scanned.items[0]["pages"][0]["elements"][0]["text"], "one");
}

#[test]
fn no_change_is_no_item() {
    let repository = Repository::with(&[("a.txt", "a")]);
    let scanned = repository.changed(|repository| repository.write("a.txt", "not committed"));
    assert_eq!(scanned.lines(), Vec::<String>::new());
}

#[test]
fn added_edited_and_deleted_files_are_exactly_that() {
    let repository = Repository::with(&[("a.txt", "a"), ("b.txt", "b"), ("c.txt", "c")]);
    let scanned = repository.changed(|repository| {
        repository.write("a.txt", "A");
        repository.remove("b.txt");
        repository.write("d/new.txt", "d");
        repository.commit();
    });
    assert_eq!(scanned.lines(), ["-b.txt", "+a.txt", "+d/new.txt"]);
}

#[test]
fn a_rename_is_a_move_and_its_document_whether_edited_or_not() {
    let long = "one\ntwo\nthree\nfour\n";
    let repository = Repository::with(&[("a.txt", "a"), ("b.txt", long), ("e.txt", "")]);
    let scanned = repository.changed(|repository| {
        repository.rename("a.txt", "d/e/f.txt");
        repository.rename("b.txt", "b.md");
        repository.write("b.md", format!("{long}five\n"));
        repository.rename("e.txt", "empty.txt");
        repository.commit();
    });
    let expected = [
        "a.txt>d/e/f.txt",
        "e.txt>empty.txt",
        "b.txt>b.md",
        "+b.md",
        "+d/e/f.txt",
        "+empty.txt",
    ];
    assert_eq!(scanned.lines(), expected);
}

#[test]
fn a_renamed_folder_is_a_move_and_a_document_for_each_file() {
    let repository =
        Repository::with(&[("d/a.txt", "same"), ("d/b.txt", "same"), ("d/c.txt", "c")]);
    let scanned = repository.changed(|repository| {
        repository.rename("d", "e");
        repository.commit();
    });
    let expected = [
        "d/a.txt>e/a.txt",
        "d/b.txt>e/b.txt",
        "d/c.txt>e/c.txt",
        "+e/a.txt",
        "+e/b.txt",
        "+e/c.txt",
    ];
    assert_eq!(scanned.lines(), expected);
}

#[test]
fn a_chain_of_renames_is_said_from_its_end_and_a_swap_is_two_documents() {
    let repository = Repository::with(&[
        ("a.txt", "1"),
        ("b.txt", "2"),
        ("c.txt", "3"),
        ("d.txt", "4"),
    ]);
    let scanned = repository.changed(|repository| {
        repository.rename("b.txt", "x.txt");
        repository.rename("a.txt", "b.txt");
        repository.rename("c.txt", "t");
        repository.rename("d.txt", "c.txt");
        repository.rename("t", "d.txt");
        repository.commit();
    });
    assert_eq!(
        scanned.lines(),
        [
            "b.txt>x.txt",
            "a.txt>b.txt",
            "+b.txt",
            "+c.txt",
            "+d.txt",
            "+x.txt"
        ]
    );
}

#[test]
fn a_rename_that_changes_the_format_is_a_move_and_a_document() {
    let repository = Repository::with(&[("a.txt", "# a")]);
    let scanned = repository.changed(|repository| {
        repository.rename("a.txt", "a.md");
        repository.commit();
    });
    assert_eq!(scanned.lines(), ["a.txt>a.md", "+a.md"]);
}

#[test]
fn files_and_folders_and_links_take_each_other_s_places() {
    let repository = Repository::with(&[
        ("a", "text"),
        ("b/x.txt", "x"),
        ("c.txt", "c"),
        ("e.txt", "e"),
        ("mode.sh", "echo"),
    ]);
    let scanned = repository.changed(|repository| {
        repository.remove("a");
        repository.write("a/y.txt", "y");
        repository.remove("b");
        repository.write("b", "now a file");
        repository.remove("c.txt");
        repository.link("e.txt", "c.txt");
        repository.git(&["update-index", "--chmod=+x", "mode.sh"]);
        repository.commit();
    });
    assert_eq!(
        scanned.lines(),
        ["-a", "-b/x.txt", "-c.txt", "+a/y.txt", "+b"]
    );
    let back = repository.changed(|repository| {
        repository.git(&["revert", "--no-edit", "HEAD"]);
    });
    assert_eq!(back.lines(), ["-a/y.txt", "-b", "+a", "+b/x.txt", "+c.txt"]);
}

#[test]
fn what_can_be_no_document_is_left_alone_and_reported() {
    let repository = Repository::with(&[("a.txt", "a"), ("big.png", POINTER), ("data.bin", "\0")]);
    repository.link("a.txt", "link.txt");
    let other = Repository::with(&[("x.txt", "x")]);
    let other = other.root().to_str().unwrap();
    repository.git(&[
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        other,
        "sub",
    ]);
    repository.commit();
    let mut plugin = repository.plugin();
    assert_eq!(plugin.scan(None).lines(), ["+a.txt"]);
    let expected = "skipped 1 file of an unsupported format: 1 .bin\n\
        skipped 1 git-lfs pointer: big.png\n\
        skipped 1 submodule: sub\n\
        skipped 1 symbolic link: link.txt\n";
    assert_eq!(plugin.stderr(), expected);
}

#[test]
fn a_document_that_becomes_a_pointer_a_submodule_or_a_stranger_is_deleted() {
    let repository =
        Repository::with(&[("a.txt", "a"), ("b", "text"), ("s", "sub"), ("k.txt", "k")]);
    let scanned = repository.changed(|repository| {
        repository.write("a.txt", POINTER);
        repository.write("b", b"\0\x01\x02");
        repository.remove("s");
        let head = repository.git(&["rev-parse", "HEAD"]);
        repository.git(&["add", "-A"]);
        repository.git(&[
            "update-index",
            "--add",
            "--cacheinfo",
            &format!("160000,{head},s"),
        ]);
        repository.git(&["commit", "-q", "-m", "x"]);
    });
    assert_eq!(scanned.lines(), ["-s", "-a.txt", "-b"]);
    // What never was a document is not deleted when it goes.
    let gone = repository.changed(|repository| {
        for path in ["a.txt", "b"] {
            repository.remove(path);
        }
        repository.git(&["rm", "-q", "--cached", "s"]);
        repository.commit();
    });
    assert_eq!(gone.lines(), Vec::<String>::new());
}

#[test]
fn configuration_selects_paths() {
    let files = [
        ("README.md", "r"),
        (".hidden.md", "h"),
        ("docs/a.md", "a"),
        ("docs/b.txt", "b"),
        ("docs/deep/c.md", "c"),
        ("docs/.dpeignore", "b.txt\n"),
        (".gitignore", "README.md\n"),
        // What a rule takes back stays hidden, as in a folder.
        (".dpeignore", "/docs/deep/\n!.hidden.md\n"),
    ];
    let repository = Repository::new();
    for (path, text) in files {
        repository.write(path, text);
    }
    repository.git(&["add", "-Af"]);
    repository.git(&["commit", "-q", "-m", "x"]);
    assert_eq!(lines(&repository, json!({})), ["+README.md", "+docs/a.md"]);
    let exclude = json!({"exclude": ["docs/"]});
    assert_eq!(lines(&repository, exclude), ["+README.md"]);
    let subdir = json!({"subdir": "docs/", "include": ["*.md"]});
    assert_eq!(lines(&repository, subdir), ["+a.md"]);
    let hidden = json!({"hidden": true, "include": ["/.hidden.md"]});
    assert_eq!(lines(&repository, hidden), ["+.hidden.md"]);
    let missing = plugin(repository.root(), json!({"subdir": "dosc"})).failing_scan(None);
    assert_eq!(missing["code"], -32003);
    assert!(missing["message"].as_str().unwrap().contains("dosc"));
}

#[test]
fn changed_rules_add_and_delete_what_itself_did_not_change() {
    let repository = Repository::with(&[("d/a.txt", "a"), ("d/b.txt", "b"), ("c.txt", "c")]);
    let scanned = repository.changed(|repository| {
        repository.write("d/.dpeignore", "b.txt");
        repository.write(".dpeignore", "c.txt");
        repository.commit();
    });
    assert_eq!(scanned.lines(), ["-c.txt", "-d/b.txt"]);
    let back = repository.changed(|repository| {
        repository.remove("d/.dpeignore");
        repository.write(".dpeignore", "/d/a.*");
        repository.commit();
    });
    assert_eq!(back.lines(), ["-d/a.txt", "+c.txt", "+d/b.txt"]);
}

#[test]
fn names_may_be_any_bytes_and_differ_in_case_only() {
    let repository = Repository::new();
    for (name, text) in [
        (&b"A.txt"[..], "1"),
        (b"a.txt", "2"),
        (b"\xff\xe9 #%.txt", "3"),
        (b"n\nl.txt", "4"),
    ] {
        repository.write(name, text);
    }
    repository.commit();
    let expected = ["+A.txt", "+a.txt", "+n%0Al.txt", "+%FF%E9%20%23%25.txt"];
    assert_eq!(lines(&repository, json!({})), expected);
}

#[test]
fn a_file_that_grows_too_large_is_an_error_whatever_claims_its_format() {
    let repository = Repository::with(&[("Makefile", "a"), ("dump.sql", "a"), ("noext", "a")]);
    let config = json!({"max_file_bytes": 4});
    let scanned = plugin(repository.root(), config.clone()).scan(None);
    for name in ["Makefile", "dump.sql"] {
        repository.write(name, "12345");
    }
    repository.commit();
    let next = plugin(repository.root(), config).scan(scanned.cursor.as_deref());
    let errors = ["!Makefile content_invalid", "!dump.sql content_invalid"];
    assert_eq!(next.lines(), errors);
}

#[test]
fn too_large_and_broken_files_are_errors() {
    let repository = Repository::with(&[
        ("a.txt", "12345"),
        ("b.json", "\0\u{1}"),
        ("c.dat", "123456"),
    ]);
    let scanned = plugin(repository.root(), json!({"max_file_bytes": 4})).scan(None);
    assert_eq!(
        scanned.lines(),
        ["!a.txt content_invalid", "!b.json content_invalid"]
    );
    assert_eq!(scanned.items[0]["retryable"], false);
    let strict = plugin(
        repository.root(),
        json!({"unsupported": "error", "max_file_bytes": 4}),
    );
    let scanned = { strict }.scan(None);
    assert_eq!(scanned.lines()[2], "!c.dat content_invalid");
}

#[test]
fn large_images_are_read_in_pieces_from_any_offset() {
    let repository = Repository::new();
    let mut image = b"GIF89a\x01\0\x01\0\0\0\0".to_vec();
    image.extend((0..200_000_u32).map(|n| (n / 999) as u8));
    repository.write("small.gif", &image[..100]);
    repository.write("large.gif", &image);
    repository.commit();
    let mut plugin = repository.plugin();
    let scanned = plugin.scan(None);
    let blob = |index: usize| &scanned.items[index]["pages"][0]["elements"][0]["blob"];
    assert!(blob(1)["inline"].is_string());
    assert_eq!(blob(0)["size"], image.len());
    let handle = blob(0)["handle"].as_str().unwrap();
    let mut read = |offset: usize, most: usize| {
        let params = json!({"handle": handle, "offset": offset, "max_bytes": most});
        plugin.call("read_blob", params)["result"].clone()
    };
    use base64::Engine as _;
    let engine = base64::engine::general_purpose::STANDARD;
    for (offset, most) in [
        (0, 1000),
        (150_000, 100_000),
        (3, 5),
        (200_013, 1),
        (1 << 40, 1),
    ] {
        let start = offset.min(image.len());
        let end = (start + most).min(image.len());
        let expected =
            json!({"data": engine.encode(&image[start..end]), "eof": end == image.len()});
        assert_eq!(read(offset, most), expected);
    }
    let old = handle.to_owned();
    plugin.scan(None);
    let unknown = plugin.call("read_blob", json!({"handle": old, "max_bytes": 1}));
    assert_eq!(unknown["error"]["code"], -32002);
}

#[test]
fn references_of_every_kind_lead_to_their_commit() {
    let repository = Repository::with(&[("a.txt", "1")]);
    let first = repository.git(&["rev-parse", "HEAD"]);
    repository.git(&["tag", "-a", "v1", "-m", "one"]);
    repository.git(&["branch", "old"]);
    repository.write("a.txt", "2");
    repository.commit();
    repository.git(&["pack-refs", "--all"]);
    for reference in [
        "v1",
        "refs/tags/v1",
        "old",
        "heads/old",
        &first,
        &first[..9],
        "HEAD~1",
    ] {
        let scanned = plugin(repository.root(), json!({"ref": reference})).scan(None);
        assert_eq!(
            scanned.items[0]["pages"][0]["elements"][0]["text"], "1",
            "{reference}"
        );
    }
    repository.git(&["checkout", "-q", "--detach", "old"]);
    let scanned = repository.plugin().scan(None);
    assert_eq!(scanned.items[0]["pages"][0]["elements"][0]["text"], "1");
    for reference in ["nope", "HEAD:a.txt", "HEAD^{tree}"] {
        let error = plugin(repository.root(), json!({"ref": reference})).failing_scan(None);
        assert_eq!(error["code"], -32003, "{reference}");
        assert_eq!(error.get("data"), None, "{reference}");
    }
}

#[test]
fn a_repository_without_commits_is_empty_and_no_error() {
    let repository = Repository::new();
    let scanned = repository.plugin().scan(None);
    assert_eq!((scanned.lines(), scanned.incremental), (Vec::new(), false));
    repository.write("a.txt", "a");
    repository.commit();
    let second = repository.plugin().scan(scanned.cursor.as_deref());
    assert_eq!(
        (second.lines(), second.incremental),
        (vec!["+a.txt".to_owned()], true)
    );
    repository.git(&["checkout", "-q", "--orphan", "new"]);
    let third = repository.plugin().scan(second.cursor.as_deref());
    assert_eq!((third.lines(), third.incremental), (Vec::new(), false));
}

#[test]
fn what_went_while_there_was_no_commit_is_deleted_afterwards() {
    let repository = Repository::with(&[("a.txt", "a"), ("b.txt", "b")]);
    let first = repository.plugin().scan(None);
    repository.git(&["checkout", "-q", "--orphan", "new"]);
    let unborn = repository.plugin().scan(first.cursor.as_deref());
    // The runner keeps the cursor it has (connector contract §16).
    assert_eq!(unborn.cursor, None);
    repository.git(&["checkout", "-q", "-f", "main"]);
    repository.remove("a.txt");
    repository.commit();
    let third = repository.plugin().scan(first.cursor.as_deref());
    assert_eq!(third.lines(), ["-a.txt"]);
}

#[test]
fn what_is_no_repository_is_a_failure_that_does_not_pass_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    for path in [folder.path().to_owned(), folder.path().join("missing")] {
        let error = plugin(path, json!({})).failing_scan(None);
        assert_eq!((&error["code"], error.get("data")), (&json!(-32003), None));
    }
}

#[test]
fn bare_shallow_linked_and_borrowing_repositories_are_read() {
    let repository = Repository::with(&[("a.txt", "1")]);
    repository.write("a.txt", "2");
    repository.commit();
    let expected = crate::repository::enumerated(repository.root(), json!({}));
    let from = format!("file://{}", repository.root().display());
    let clone = |args: &[&str], name: &str| {
        let to = repository.beside(name);
        let mut all = vec!["clone", "-q"];
        all.extend(args);
        all.extend([from.as_str(), to.to_str().unwrap()]);
        run(&mut git(repository.root(), &all));
        to
    };
    let local = repository.root().to_str().unwrap().to_owned();
    let reference = format!("--reference={local}");
    let places = [
        clone(&["--bare"], "bare.git"),
        clone(&["--depth=1"], "shallow"),
        clone(&[&reference], "borrowing"),
        {
            let tree = repository.beside("tree");
            repository.git(&["worktree", "add", "-q", "--detach", tree.to_str().unwrap()]);
            tree
        },
        repository.path(".git"),
    ];
    for place in places {
        assert_eq!(
            crate::repository::enumerated(&place, json!({})),
            expected,
            "{place:?}"
        );
    }
}

#[test]
fn a_repository_with_sha256_is_read() {
    let repository = Repository::made(&["init", "-q", "-b", "main", "--object-format=sha256"]);
    repository.write("a.txt", "a");
    repository.commit();
    let scanned = repository.changed(|repository| {
        repository.rename("a.txt", "b.txt");
        repository.commit();
    });
    assert_eq!(scanned.lines(), ["a.txt>b.txt", "+b.txt"]);
}

#[test]
fn references_that_cannot_be_read_are_refused_and_not_taken_for_none() {
    let repository = Repository::with(&[("a.txt", "a")]);
    // By hand, since not every git knows the format.
    let format = "[core]\n\trepositoryformatversion = 1\n[extensions]\n\trefStorage = reftable\n";
    repository.write(".git/config", format);
    let error = repository.plugin().failing_scan(None);
    assert!(
        error["message"].as_str().unwrap().contains("reftable"),
        "{error}"
    );
}

#[test]
fn an_object_counts_as_it_is_and_not_as_it_was_replaced() {
    let repository = Repository::with(&[("a.txt", "true")]);
    repository.write("b.txt", "false");
    let blob = |path| repository.git(&["hash-object", "-w", path]);
    repository.git(&["replace", &blob("a.txt"), &blob("b.txt")]);
    let scanned = repository.plugin().scan(None);
    assert_eq!(scanned.items[0]["pages"][0]["elements"][0]["text"], "true");
}

#[test]
fn neither_hooks_nor_filters_run() {
    let repository = Repository::with(&[("a.txt", "a")]);
    let ran = repository.beside("ran");
    let touch = format!("touch {}", ran.display());
    for (key, value) in [
        ("filter.f.smudge", &touch),
        ("filter.f.clean", &touch),
        ("core.fsmonitor", &touch),
    ] {
        repository.git(&["config", key, value]);
    }
    repository.write(".git/info/attributes", "* filter=f diff=f\n");
    let scanned = repository.plugin().scan(None);
    assert_eq!(scanned.lines(), ["+a.txt"]);
    assert!(!ran.exists());
}

#[test]
fn a_rewritten_history_is_told_as_what_changed_as_long_as_there_is_a_common_past() {
    let repository = Repository::with(&[("a.txt", "a")]);
    repository.write("b.txt", "b");
    repository.commit();
    let scanned = repository.changed(|repository| {
        repository.git(&["reset", "-q", "--hard", "HEAD~1"]);
        repository.write("c.txt", "c");
        repository.commit();
    });
    assert_eq!(scanned.lines(), ["-b.txt", "+c.txt"]);
}

#[test]
fn an_unrelated_commit_leads_to_a_full_round_that_says_what_has_gone() {
    let repository = Repository::with(&[
        ("a.txt", "a"),
        ("b.txt", "b"),
        ("c.md", "# c"),
        ("d.txt", "d"),
        ("e.bin", "\0"),
        ("same.txt", "d"),
    ]);
    let mut remote = Remote::new();
    let first = repository.plugin().scan(None);
    first.land(&mut remote);
    repository.git(&["checkout", "-q", "--orphan", "other"]);
    repository.remove("b.txt");
    repository.remove("e.bin");
    repository.rename("d.txt", "f.txt");
    // No document any more.
    repository.write(
        "c.md",
        "version https://git-lfs.github.com/spec/v1\noid x\nsize 1\n",
    );
    repository.commit();
    let mut plugin = repository.plugin();
    let second = plugin.scan(first.cursor.as_deref());
    assert_eq!(
        second.lines(),
        ["-b.txt", "-d.txt", "+a.txt", "-c.md", "+f.txt", "+same.txt"]
    );
    assert!(!second.incremental);
    assert!(plugin.stderr().contains("anew"), "{}", plugin.stderr());
    second.land(&mut remote);
    assert_eq!(remote, enumerated(repository.root(), json!({})));
    let same = repository.plugin().scan(second.cursor.as_deref());
    assert_eq!((same.lines(), same.incremental), (Vec::new(), true));
}

#[test]
fn a_vanished_commit_leads_to_a_full_round_that_says_so() {
    let repository = Repository::with(&[("a.txt", "a"), ("b.txt", "b")]);
    let first = repository.plugin().scan(None);
    repository.git(&["checkout", "-q", "--orphan", "other"]);
    repository.remove("b.txt");
    repository.commit();
    repository.git(&["branch", "-q", "-D", "main"]);
    repository.git(&["reflog", "expire", "--expire=now", "--all"]);
    repository.git(&["gc", "-q", "--prune=now"]);
    let mut plugin = repository.plugin();
    let second = plugin.scan(first.cursor.as_deref());
    assert_eq!(
        (second.lines(), second.incremental),
        (vec!["+a.txt".to_owned()], false)
    );
    let said = plugin.stderr();
    assert!(said.contains("not what has gone"), "{said}");
}

#[test]
fn cursors_of_others_lead_to_a_full_round() {
    let repository = Repository::with(&[("a.txt", "a")]);
    let cursor = repository.plugin().scan(None).cursor.unwrap();
    let other = plugin(repository.root(), json!({"hidden": true}))
        .scan(None)
        .cursor;
    for text in [
        "",
        "r-118",
        &cursor[..cursor.len() - 3],
        other.as_deref().unwrap(),
    ] {
        assert!(!repository.plugin().scan(Some(text)).incremental, "{text}");
    }
    assert!(repository.plugin().scan(Some(&cursor)).incremental);
}

#[test]
fn a_missing_blob_is_an_error_item_that_may_pass() {
    let repository = Repository::with(&[("a.txt", "a"), ("b.txt", "b")]);
    let blob = repository.git(&["rev-parse", "HEAD:a.txt"]);
    let object = format!(".git/objects/{}/{}", &blob[..2], &blob[2..]);
    fs::remove_file(repository.path(object)).unwrap();
    let scanned = repository.plugin().scan(None);
    assert_eq!(scanned.lines(), ["!a.txt source_unavailable", "+b.txt"]);
    assert_eq!(scanned.items[0]["retryable"], true);
}

#[test]
fn messages_keep_their_limit() {
    let repository = Repository::new();
    for number in 0..50 {
        repository.write(format!("{number}.txt"), "word ".repeat(100));
    }
    repository.commit();
    let config = configured(repository.root(), json!({}));
    let mut plugin = Plugin::start_limited(dpe_connector_git::main, &config, 4096);
    let scanned = plugin.scan_by(None, 7);
    assert!(scanned.batches > 7);
    let mut remote = Remote::new();
    scanned.land(&mut remote);
    assert_eq!(remote.len(), 50);
    plugin.shut_down();
}

#[test]
fn a_hung_up_connector_ends() {
    let repository = Repository::with(&[("a.txt", "a")]);
    repository.plugin().hang_up();
}

#[test]
fn what_is_refused_for_a_reason_to_be_skipped_is_counted() {
    let repository = Repository::with(&[("a.json", "\0\u{1}"), ("b.txt", "b")]);
    let config = json!({"on_refused": {"damaged": "skip"}});
    let mut plugin = plugin(repository.root(), config);
    let lines = plugin.scan(None).lines();
    assert!(lines.contains(&"+b.txt".to_owned()), "{lines:?}");
    assert!(!lines.iter().any(|line| line.starts_with('!')), "{lines:?}");
    assert!(plugin.stderr().contains("skipped 1 damaged file: a.json"));
}

/// The connector with workers that do what the files say.
fn with_hostile_workers(stdin: PipeReader, stdout: PipeWriter, stderr: Stderr) -> u8 {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../files/tests/workers/worker.py");
    let program = Program {
        path: "/usr/bin/env".into(),
        args: ["python3".into(), tests.into()].into(),
    };
    dpe_connector_git::main_with(program, stdin, stdout, stderr)
}

#[test]
fn what_was_passed_over_for_its_time_is_looked_at_in_every_round() {
    // With a byte that makes it no text, whatever it is called.
    let order = |order: &str| format!("{order} {{\\rtf1 a\0}}");
    let (slow, fine) = (order("loop"), order("fine"));
    let repository = Repository::with(&[("d/slow.rtf", &slow), ("a.txt", "a")]);
    let config = json!({
        "repo": repository.root(),
        "on_refused": {"timeout": "skip"},
        "limits": {"seconds": 1},
    });
    let mut plugin = Plugin::start(with_hostile_workers, &config);
    let first = plugin.scan(None);
    assert_eq!(first.lines(), ["+a.txt"]);
    let second = plugin.scan(first.cursor.as_deref());
    assert!(second.incremental && second.lines().is_empty());
    assert_eq!(second.cursor, first.cursor);
    let lines = plugin.stderr();
    assert_eq!(lines.matches("d/slow.rtf").count(), 2, "{lines}");
    repository.write("d/slow.rtf", &fine);
    repository.commit();
    let third = plugin.scan(second.cursor.as_deref());
    assert!(third.lines().contains(&"+d/slow.rtf".to_owned()));
    let fourth = plugin.scan(third.cursor.as_deref());
    assert!(fourth.lines().is_empty());
    assert_eq!(plugin.stderr().matches("d/slow.rtf").count(), 2);
    plugin.shut_down();
}

#[test]
fn what_is_passed_over_is_said_by_name_to_whoever_asks_and_the_cursor_stays_the_same() {
    let repository = Repository::with(&[("a.txt", "a"), ("b.bin", "\0\u{1}"), ("p.md", POINTER)]);
    repository.link("a.txt", "link.txt");
    repository.commit();
    let first = repository.plugin().scan(None);
    repository.write("new.bin", "\0\u{2}");
    repository.commit();
    let looking = json!({"say_skipped": true});
    let looked = plugin(repository.root(), looking).scan(first.cursor.as_deref());
    assert!(looked.incremental);
    let mut lines = looked.lines();
    lines.sort();
    let expected = ["b.bin", "link.txt", "new.bin", "p.md"];
    assert_eq!(
        lines,
        expected.map(|name| format!("!{name} content_invalid"))
    );
    let again = repository.plugin().scan(looked.cursor.as_deref());
    assert!(again.incremental);
    assert_eq!(again.lines(), Vec::<String>::new());
}
