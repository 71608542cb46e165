//! `dpe push --connector git`: repositories, as a git user has them.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::place::{Place, Report, run};
use crate::host::plugin::python;

/// Runs git, deaf to what the user has set; it has to succeed.
pub(crate) fn git(folder: &Path, arguments: &[&str]) {
    let mut command = Command::new("git");
    command
        .current_dir(folder)
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env_remove("GIT_DIR");
    for who in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{who}_NAME"), "A U Thor");
        command.env(format!("GIT_{who}_EMAIL"), "author@example.com");
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// Makes `docs` a repository with these files.
fn repository(files: &[(&str, &str)]) -> Place {
    let place = Place::new();
    git(&place.docs(), &["init", "-q", "-b", "main"]);
    for (name, text) in files {
        place.write(name, text);
    }
    commit(&place);
    place
}

fn commit(place: &Place) {
    git(&place.docs(), &["add", "-A"]);
    git(&place.docs(), &["commit", "-q", "-m", "x"]);
}

/// Pushes and returns created, updated, deleted and moved.
fn pushed(place: &Place, arguments: &[&str]) -> [u64; 4] {
    let command = ["push", "--json", "--connector", "git"];
    let run = place.dpe(&[&command, arguments].concat());
    assert_eq!(run.code, Some(0), "{run:?}");
    let report: Report = serde_json::from_str(run.stdout.trim_end()).unwrap();
    let counts = report.counts;
    [counts.created, counts.updated, counts.deleted, counts.moved]
}

fn names(place: &Place) -> Vec<String> {
    place.remote().into_keys().collect()
}

#[test]
fn a_repository_is_pushed_as_it_is_committed() {
    let place = repository(&[("a.md", "# a"), ("b.md", "# b"), ("c.md", "# c")]);
    place.write("untracked.md", "u");
    assert_eq!(pushed(&place, &["docs"]), [3, 0, 0, 0]);
    assert_eq!(pushed(&place, &["docs"]), [0, 0, 0, 0]);
    place.rename("a.md", "d.md");
    place.remove("b.md");
    place.remove("untracked.md");
    place.write("c.md", "# other");
    assert_eq!(pushed(&place, &["docs"]), [0, 0, 0, 0]);
    commit(&place);
    assert_eq!(pushed(&place, &["docs"]), [0, 1, 1, 1]);
    assert_eq!(names(&place), ["c.md", "d.md"]);
}

#[test]
fn another_reference_is_a_change_like_any_other() {
    let place = repository(&[("a.md", "# a"), ("b.md", "# b")]);
    git(&place.docs(), &["tag", "v1"]);
    place.rename("a.md", "c.md");
    place.remove("b.md");
    commit(&place);
    assert_eq!(pushed(&place, &["docs"]), [1, 0, 0, 0]);
    assert_eq!(pushed(&place, &["docs", "--ref", "v1"]), [1, 0, 0, 1]);
    assert_eq!(names(&place), ["a.md", "b.md"]);
    assert_eq!(pushed(&place, &["docs", "--ref=main"]), [0, 0, 1, 1]);
    assert_eq!(names(&place), ["c.md"]);
}

#[test]
fn a_folder_in_a_work_tree_is_pushed_alone() {
    let place = repository(&[("docs/a.md", "# a"), ("src/b.md", "# b")]);
    assert_eq!(pushed(&place, &["docs/docs"]), [1, 0, 0, 0]);
    assert_eq!(names(&place), ["a.md"]);
}

#[test]
fn a_url_is_fetched_and_pushed() {
    let place = repository(&[("a.md", "# a")]);
    let url = format!("file://{}", place.docs().display());
    assert_eq!(pushed(&place, &[&url]), [1, 0, 0, 0]);
    assert_eq!(pushed(&place, &[&url]), [0, 0, 0, 0]);
    fs::remove_dir_all(place.path().join("home/.cache/dpe/git")).unwrap();
    place.write("b.md", "# b");
    commit(&place);
    assert_eq!(pushed(&place, &[&url]), [1, 0, 0, 0]);
    assert_eq!(names(&place), ["a.md", "b.md"]);
}

#[test]
fn an_unrelated_history_leaves_nothing_of_the_one_before() {
    let place = repository(&[("a.md", "# a"), ("b.md", "# b"), ("c.md", "# c")]);
    let url = format!("file://{}", place.docs().display());
    for (source, prefix) in [("docs", "dpe://docs/"), (&url, "dpe://other/")] {
        assert_eq!(pushed(&place, &[source, "--prefix", prefix]), [3, 0, 0, 0]);
    }
    git(&place.docs(), &["checkout", "-q", "--orphan", "other"]);
    place.remove("b.md");
    place.rename("c.md", "d.md");
    commit(&place);
    git(&place.docs(), &["branch", "-M", "main"]);
    fs::remove_dir_all(place.path().join("home/.cache/dpe/git")).unwrap();
    for (source, prefix) in [("docs", "dpe://docs/"), (&url, "dpe://other/")] {
        assert_eq!(pushed(&place, &[source, "--prefix", prefix]), [1, 0, 2, 0]);
        let listed = place.dpe(&["ls", prefix]).stdout;
        let names = listed.lines().map(|line| line.rsplit('/').next().unwrap());
        assert_eq!(names.collect::<Vec<_>>(), ["a.md", "d.md"]);
    }
}

#[test]
fn a_history_is_one_document_for_each_repository() {
    let place = repository(&[("a.md", "# a")]);
    git(
        place.path(),
        &["clone", "-q", "--bare", "docs", "all/one.git"],
    );
    git(place.path(), &["clone", "-q", "docs", "all/deep/two"]);
    let arguments = ["all", "--mode", "history", "--prefix", "dpe://docs/"];
    assert_eq!(pushed(&place, &arguments), [2, 0, 0, 0]);
    assert_eq!(names(&place), ["deep/two", "one"]);
}

#[test]
fn what_is_no_repository_fails_and_deletes_nothing() {
    let place = repository(&[("a.md", "# a")]);
    assert_eq!(pushed(&place, &["docs"]), [1, 0, 0, 0]);
    fs::rename(place.docs().join(".git"), place.path().join("away")).unwrap();
    let run = place.dpe(&["push", "--connector", "git", "docs"]);
    assert_ne!(run.code, Some(0));
    assert!(run.stderr.contains("source_failed"), "{run:?}");
    let run = place.dpe(&["push", "--connector", "git", "missing"]);
    assert_eq!(run.code, Some(3), "{run:?}");
    assert_eq!(names(&place), ["a.md"]);
}

#[test]
fn what_turned_out_to_be_no_repository_leaves_its_prefix_to_others() {
    let place = Place::new();
    place.write("a.md", "# a");
    let refused = place.dpe(&["push", "--connector", "git", "docs"]);
    assert_eq!(refused.code, Some(3), "{refused:?}");
    let run = place.dpe(&["push", "docs"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    // What has documents keeps it.
    let refused = place.dpe(&["push", "--connector", "git", "docs"]);
    assert!(
        refused.stderr.contains("dpe://docs/ is taken"),
        "{refused:?}"
    );
    assert_eq!(names(&place), ["a.md"]);
}

#[test]
fn what_is_wrong_with_a_source_is_said_once_with_what_to_do() {
    let place = repository(&[("a.md", "# a")]);
    let away = place.path().join("plain");
    fs::create_dir(&away).unwrap();
    let said = |arguments: &[&str]| {
        let mut command = place.command();
        let ssh = "echo 'ssh: Could not resolve hostname nowhere' >&2; exit 255; :";
        command.args(["push", "--connector", "git"]).args(arguments);
        let said = run(command.env("GIT_SSH_COMMAND", ssh));
        assert_ne!(said.code, Some(0), "{said:?}");
        // As if the terminal were endless.
        let words: Vec<&str> = said.stderr.split(['\n', ' ', '│']).collect();
        words
            .into_iter()
            .filter(|word| !word.is_empty())
            .collect::<Vec<_>>()
            .join(" ")
    };
    for mode in ["files", "history"] {
        let prefix = format!("--prefix=dpe://{mode}/");
        let plain = said(&["plain", "--mode", mode, &prefix]);
        assert!(plain.contains("plain is not a git repository"), "{plain}");
    }
    let missing = format!("file://{}/nowhere", place.path().display());
    let missing = said(&[&missing]);
    assert_eq!(
        missing.matches("does not appear to be").count(),
        1,
        "{missing}"
    );
    assert!(missing.contains("check the URL"), "{missing}");
    let ssh = said(&["ssh://nowhere/docs"]);
    assert_eq!(ssh.matches("Could not resolve").count(), 1, "{ssh}");
    assert!(
        ssh.contains("read from remote repository: ssh: Could"),
        "{ssh}"
    );
    let docs = format!("file://{}", place.docs().display());
    let local = said(&["docs", "--ref", "nope", "--prefix=dpe://local/"]);
    let unknown = said(&[&docs, "--ref", "nope", "--prefix=dpe://ref/"]);
    for said in [&local, &unknown] {
        assert!(said.contains("docs: there is no nope in it"), "{said}");
        assert!(said.contains("--ref"), "{said}");
        assert!(!said.contains("input="), "{said}");
    }
    assert!(!unknown.contains("mounted"), "{unknown}");
}

#[test]
fn flags_of_repositories_are_refused_for_folders() {
    let place = repository(&[("a.md", "# a")]);
    for flag in ["--ref=main", "--mode=history"] {
        let run = place.dpe(&["push", flag, "docs"]);
        assert_eq!(run.code, Some(64), "{run:?}");
        assert!(run.stderr.contains("--connector git"), "{run:?}");
    }
}

/// Serves HTTP that wants a credential and takes none, and returns its address.
fn refusing_server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut buffer = [0; 4096];
            let _ = stream.read(&mut buffer);
            let answer = "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"\r\n\
                Content-Length: 0\r\nConnection: close\r\n\r\n";
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    address
}

/// Puts a git before the one there is, which first does something else, and returns the PATH.
fn git_after(place: &Place, before: &str) -> String {
    let bin = place.path().join("bin");
    fs::create_dir_all(&bin).unwrap();
    let path = std::env::var("PATH").unwrap();
    let script = format!("#!/bin/sh\n{before}\nPATH='{path}' exec git \"$@\"\n");
    fs::write(bin.join("git"), script).unwrap();
    fs::set_permissions(bin.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    format!("{}:{path}", bin.display())
}

#[test]
fn who_holds_on_to_what_git_writes_makes_no_repository_empty() {
    let place = repository(&[("a.md", "# a")]);
    let url = format!("file://{}", place.docs().display());
    let push = |before: &str| {
        let mut command = place.command();
        command.args(["push", "--connector", "git", &url]);
        run(command.env("PATH", git_after(&place, before)))
    };
    // It leaves the group, so that nobody can end it but itself.
    let gone = place.path().join("gone");
    let gone = gone.display();
    let refused = push(&format!(
        "python3 -c 'import os, time; os.setsid(); open(\"{gone}\", \"w\"); time.sleep(20)' &\n\
         while ! test -e '{gone}'; do sleep 0.05; done"
    ));
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("did not end"), "{refused:?}");
    for stays in ["sleep 20 &", "(trap '' TERM; sleep 20; :) &"] {
        let pushed = push(stays);
        assert_eq!(pushed.code, Some(0), "{pushed:?}");
        assert_eq!(names(&place), ["a.md"], "{pushed:?}");
        let remove = ["rm", "dpe://docs/a.md"];
        assert_eq!(place.dpe(&remove).code, Some(0));
    }
}

#[test]
fn a_cache_that_is_always_deleted_is_made_once_more_and_no_further() {
    let place = repository(&[("a.md", "# a")]);
    let cache = place.path().join("home/.cache/dpe/git");
    let asked = place.path().join("asked");
    let path = git_after(
        &place,
        &format!(
            "echo \"$1\" >>'{}'; rm -rf '{}'; exit 1",
            asked.display(),
            cache.display()
        ),
    );
    let mut command = place.command();
    let url = format!("file://{}", place.docs().display());
    command.args(["push", "--connector", "git", &url]);
    let refused = run(command.env("PATH", path));
    assert_eq!(refused.code, Some(2), "{refused:?}");
    let asked = fs::read_to_string(asked).unwrap();
    assert_eq!(asked, "ls-remote\nls-remote\n", "{refused:?}");
}

#[test]
fn nothing_of_a_credential_in_a_url_is_shown_or_given_as_an_argument() {
    let place = Place::new();
    let address = refusing_server();
    let arguments = place.path().join("arguments");
    let path = git_after(
        &place,
        &format!("printf '%s\\n' \"$@\" >>'{}'", arguments.display()),
    );
    for userinfo in [
        "s3cretS3cret",
        "s3cretS3cret:",
        "me:s3cretS3cret",
        "s3c",
        "s3c:x-oauth",
    ] {
        let url = format!("http://{userinfo}@{address}/docs");
        let mut command = place.command();
        let command = command
            .args(["push", "--connector", "git", "-vv", &url])
            .env("PATH", &path);
        let run = run(command);
        assert_eq!(run.code, Some(2), "{run:?}");
        assert!(run.stderr.contains(&address), "{run:?}");
        assert!(!run.stderr.contains("s3c"), "{run:?}");
    }
    let arguments = fs::read_to_string(arguments).unwrap();
    assert!(arguments.contains(&address), "{arguments}");
    assert!(!arguments.contains("s3c"), "{arguments}");
}

#[test]
fn a_url_that_is_not_understood_is_shown_without_its_credential() {
    let place = Place::new();
    for (url, is_shown) in [
        ("HTTP://u:s3cret@h/p", "HTTP://***@h/p"),
        ("ftp://u:s3cret@h/p", "ftp://***@h/p"),
        ("http://u:s3cret@h:99999/p", "http://***@h:99999/p"),
        ("http://u:s3 cret@h/p", "http://***@h/p"),
        ("file://u:s3cret@h/p", "file://***@h/p"),
        ("u:s3cret@h:p", "***@h:p"),
    ] {
        for connector in ["fs", "git"] {
            let run = place.dpe(&["push", "--json", "--connector", connector, url]);
            assert_eq!(run.code, Some(3), "{run:?}");
            assert!(run.stderr.contains(is_shown), "{run:?}");
            assert!(!format!("{run:?}").contains("cret"), "{run:?}");
            assert!(!run.stderr.contains("os error") || !url.contains("://"));
        }
    }
}

/// Waits until a process is gone.
fn is_soon_gone(process: &str) -> bool {
    for _ in 0..500 {
        let found = Command::new("kill").args(["-0", process]).output().unwrap();
        if !found.status.success() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    false
}

/// Returns a command that is ended by SIGINT, even if these tests run in the background of a shell, where
/// that is ignored.
fn hearing_interrupts(place: &Place) -> Command {
    const SCRIPT: &str = "import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])";
    let whole = place.command();
    let mut command = Command::new(python());
    command
        .args(["-c", SCRIPT])
        .arg(whole.get_program())
        .args(whole.get_args())
        .current_dir(whole.get_current_dir().unwrap_or(place.path()))
        .env_clear();
    for (name, value) in whole.get_envs() {
        command.env(name, value.unwrap_or_default());
    }
    command
}

#[test]
fn what_git_has_started_ends_with_the_push_however_that_ends() {
    for signal in ["-INT", "-TERM", "-KILL"] {
        let place = Place::new();
        let started = place.path().join("started");
        // It waits for a host, and listens to nobody.
        let ssh = format!(
            "trap '' TERM; echo $$ >'{0}.new'; mv '{0}.new' '{0}'; while :; do sleep 1; done; :",
            started.display()
        );
        let mut push = hearing_interrupts(&place)
            .args(["push", "--connector", "git", "ssh://nowhere/docs"])
            .env("GIT_SSH_COMMAND", ssh)
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let process = loop {
            if let Ok(process) = fs::read_to_string(&started) {
                break process.trim().to_owned();
            }
            assert!(push.try_wait().unwrap().is_none());
            std::thread::sleep(Duration::from_millis(10));
        };
        let id = push.id().to_string();
        Command::new("kill").args([signal, &id]).status().unwrap();
        push.wait().unwrap();
        assert!(is_soon_gone(&process), "{signal}");
    }
}
