//! Random histories: rounds that follow them lead to what a full round gives (connector contract §31,
//! criterion 3).

use dpe_connector_testing::Remote;
use proptest::prelude::{
    ProptestConfig, Strategy, prop, prop_assert, prop_assert_eq, prop_oneof, proptest,
};
use serde_json::json;

use crate::repository::{Repository, enumerated};

#[derive(Clone, Debug)]
enum Change {
    Write(&'static str, &'static str),
    Rename(&'static str, &'static str),
    Swap(&'static str, &'static str),
    Remove(&'static str),
    Link(&'static str),
}

/// What becomes of the changes.
#[derive(Clone, Copy, Debug)]
enum Step {
    Commit,
    Merge,
    /// The last commit is replaced.
    Amend,
    /// The branch is set back by a commit first.
    Reset,
}

const PATHS: [&str; 12] = [
    "a.txt",
    "b.txt",
    "c.md",
    "d",
    "d/a.txt",
    "d/e.txt",
    "d/e/f.md",
    ".dpeignore",
    "g",
    "h.md",
    "p.png",
    "d/e/p.png",
];

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let path = || prop::sample::select(PATHS.to_vec());
    let text = prop::sample::select(vec![
        "",
        "one\ntwo\n",
        "one\ntwo\nthree\n",
        "# three",
        "\0 and words that are a text all the same\n",
        "d/\n!a.txt\n",
        "*.md\n",
        "![x](p.png)",
        "<!doctype html><img src='d/e/p.png'>",
        "GIF89a one",
        "GIF89a two",
    ]);
    let change = prop_oneof![
        4 => (path(), text).prop_map(|(path, text)| Change::Write(path, text)),
        4 => (path(), path()).prop_map(|(from, to)| Change::Rename(from, to)),
        1 => (path(), path()).prop_map(|(one, other)| Change::Swap(one, other)),
        2 => path().prop_map(Change::Remove),
        1 => path().prop_map(Change::Link),
    ];
    prop::collection::vec(change, 1..6)
}

fn steps() -> impl Strategy<Value = Vec<(Vec<Change>, Step)>> {
    let step = prop::sample::select(vec![
        Step::Commit,
        Step::Commit,
        Step::Merge,
        Step::Amend,
        Step::Reset,
    ]);
    prop::collection::vec((changes(), step), 1..5)
}

/// Makes room for something at `path`: no file above it, nothing in its place.
fn clear(repository: &Repository, path: &str) {
    for (slash, _) in path.match_indices('/') {
        let above = repository.path(&path[..slash]);
        if above.is_symlink() || above.is_file() {
            repository.remove(&path[..slash]);
        }
    }
    if repository.path(path).symlink_metadata().is_ok() {
        repository.remove(path);
    }
}

fn exists(repository: &Repository, path: &str) -> bool {
    repository.path(path).symlink_metadata().is_ok()
}

fn apply(repository: &Repository, change: &Change) {
    let is_apart = |one: &str, other: &str| !one.starts_with(other) && !other.starts_with(one);
    match *change {
        Change::Write(path, text) => {
            clear(repository, path);
            repository.write(path, text);
        }
        Change::Rename(from, to) if exists(repository, from) && is_apart(from, to) => {
            clear(repository, to);
            if exists(repository, from) {
                repository.rename(from, to);
            }
        }
        Change::Swap(one, other)
            if exists(repository, one) && exists(repository, other) && is_apart(one, other) =>
        {
            repository.rename(one, "swap");
            repository.rename(other, one);
            repository.rename("swap", other);
        }
        Change::Remove(path) if exists(repository, path) => repository.remove(path),
        Change::Link(path) => {
            clear(repository, path);
            repository.write(path, "");
            repository.remove(path);
            repository.link("a.txt", path);
        }
        Change::Rename(..) | Change::Swap(..) | Change::Remove(_) => {}
    }
}

fn take(repository: &Repository, changes: &[Change], step: Step) {
    let change = || changes.iter().for_each(|change| apply(repository, change));
    match step {
        Step::Commit => {
            change();
            repository.commit();
        }
        Step::Merge => {
            repository.git(&["checkout", "-q", "-b", "side"]);
            change();
            repository.commit();
            repository.git(&["checkout", "-q", "main"]);
            repository.commit();
            repository.git(&["merge", "-q", "-m", "merge", "side"]);
            repository.git(&["branch", "-q", "-D", "side"]);
        }
        Step::Amend => {
            change();
            repository.git(&["add", "-A"]);
            repository.git(&["commit", "-q", "--amend", "--allow-empty", "-m", "amended"]);
        }
        Step::Reset => {
            if repository.git(&["rev-list", "--count", "HEAD"]) != "1" {
                repository.git(&["reset", "-q", "--hard", "HEAD~1"]);
            }
            change();
            repository.commit();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn rounds_after_any_history_converge(steps in steps()) {
        let repository = Repository::with(&[("keep.txt", "kept")]);
        repository.commit();
        let mut plugin = repository.plugin();
        let (mut remote, mut cursor) = (Remote::new(), None);
        for (changes, step) in &steps {
            let scanned = plugin.scan(cursor.as_deref());
            scanned.land(&mut remote);
            cursor = scanned.cursor;
            take(&repository, changes, *step);
        }
        let last = plugin.scan(cursor.as_deref());
        last.land(&mut remote);
        let expected = enumerated(repository.root(), json!({}));
        // All of them have the first commit in common.
        prop_assert!(last.incremental);
        prop_assert_eq!(remote, expected);
    }
}
