//! Which files are left out, compared with git itself.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use dpe_connector::path::path_of;
use dpe_connector_testing::PREFIX;
use proptest::prelude::{
    Just, ProptestConfig, Strategy, prop, prop_assert_eq, prop_oneof, proptest,
};
use serde_json::json;

use crate::plugin::{Folder, connector};

type Bytes = Vec<u8>;

/// A folder, and what is ignored in it.
#[derive(Clone, Debug)]
struct Tree {
    files: BTreeSet<Bytes>,
    /// Folder and text of a `.gitignore`; a folder that does not exist has none.
    ignoring: Vec<(Bytes, Bytes)>,
    of_repository: Bytes,
    of_user: Bytes,
    ignores_case: bool,
    /// Which folder of the repository is the root.
    root: Bytes,
}

const NAMES: [&[u8]; 14] = [
    b"a",
    b"b",
    b"ab",
    b"A",
    b"aXb",
    b"a b",
    b"b ",
    b"[a]",
    b"!a",
    b"#a",
    b"\\a",
    b"\xc3\xa9",
    b"\xff",
    b".a",
];

const PARTS: [&[u8]; 36] = [
    b"a",
    b"a",
    b"a",
    b"b",
    b"b",
    b"X",
    b"*",
    b"*",
    b"**",
    b"**",
    b"/",
    b"/",
    b"/",
    b"/**/",
    b"**/",
    b"/**",
    b"?",
    b"[ab]",
    b"[!a]",
    b"[^b]",
    b"[a-b]",
    b"[[:alpha:]]",
    b"[]a]",
    b"[a",
    b"]",
    b"\\",
    b"\\\\",
    b" ",
    b"\\ ",
    b"!",
    b"#",
    b"{a,b}",
    b"\xc3\xa9",
    b"\xff",
    b"\r",
    b".",
];

fn path() -> impl Strategy<Value = Bytes> {
    let name = prop::sample::select(&NAMES[..]);
    prop::collection::vec(name, 1..4).prop_map(|names| names.join(&b'/'))
}

fn line() -> impl Strategy<Value = Bytes> {
    let part = prop::sample::select(&PARTS[..]);
    let made = prop::collection::vec(part, 1..6).prop_map(|parts| parts.concat());
    let begins = prop::sample::select(vec![&b""[..], b"!", b"/", b"!/"]);
    let ends = prop::sample::select(vec![&b""[..], b"/", b"/*", b" "]);
    let path =
        (begins, path(), ends).prop_map(|(begins, path, ends)| [begins, &path, ends].concat());
    prop_oneof![made, path]
}

fn text() -> impl Strategy<Value = Bytes> {
    let beginning = prop::sample::select(vec![&b""[..], b"", b"", b"\xef\xbb\xbf"]);
    let ending = prop::sample::select(vec![&b"\n"[..], b"\n", b"\r\n"]);
    (
        beginning,
        prop::collection::vec((line(), ending), 0..5),
        line(),
    )
        .prop_map(|(beginning, lines, last)| {
            let lines = lines
                .into_iter()
                .flat_map(|(line, ending)| [line, ending.to_owned()]);
            [vec![beginning.to_owned()], lines.collect(), vec![last]]
                .concat()
                .concat()
        })
}

fn trees() -> impl Strategy<Value = Tree> {
    let ignoring = prop::collection::vec((prop_oneof![Just(Bytes::new()), path()], text()), 0..5);
    let root = prop_oneof![3 => Just(Bytes::new()), 1 => path()];
    (
        prop::collection::btree_set(path(), 1..25),
        ignoring,
        text(),
        text(),
        prop::bool::weighted(0.1),
        root,
    )
        .prop_map(
            |(files, ignoring, of_repository, of_user, ignores_case, root)| Tree {
                files,
                ignoring,
                of_repository,
                of_user,
                ignores_case,
                root,
            },
        )
}

fn git(folder: &Folder, arguments: &[&str]) -> Bytes {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder.root()).args(arguments);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    output.stdout
}

impl Tree {
    /// Makes the files, as far as none of them is in the way of another one.
    fn plant(&self) -> Folder {
        let folder = Folder::new();
        git(&folder, &["init", "--quiet"]);
        let try_write = |path: &[u8], text: &[u8]| {
            let path = folder.path(path);
            let _ = fs::create_dir_all(path.parent().unwrap());
            let _ = fs::write(path, text);
        };
        for path in &self.files {
            try_write(path, b"x\n");
        }
        for (below, text) in &self.ignoring {
            if folder.path(below).is_dir() {
                try_write(&[below, &b"/.gitignore"[..]].concat(), text);
            }
        }
        try_write(b".git/info/exclude", &self.of_repository);
        try_write(b".git/of_user", &self.of_user);
        let of_user = folder.path(".git/of_user");
        git(
            &folder,
            &["config", "core.excludesFile", of_user.to_str().unwrap()],
        );
        git(
            &folder,
            &[
                "config",
                "core.ignoreCase",
                if self.ignores_case { "true" } else { "false" },
            ],
        );
        folder
    }

    /// Returns the root, or the top of the repository in its place: if it is no folder, or has a
    /// name that cannot be said in JSON, or is itself ignored. Who names a folder means it.
    fn root_in(&self, folder: &Folder) -> &[u8] {
        let is_ignored = |path: &str| {
            let mut command = Command::new("git");
            command.arg("-C").arg(folder.root()).args([
                "check-ignore",
                "--quiet",
                "--no-index",
                "--",
                path,
            ]);
            command.status().unwrap().success()
        };
        match std::str::from_utf8(&self.root) {
            Ok(path) if folder.path(path).is_dir() && !path.is_empty() && !is_ignored(path) => {
                &self.root
            }
            _ => b"",
        }
    }
}

/// Returns what git would not leave out.
fn by_git(folder: &Folder) -> BTreeSet<Bytes> {
    let listed = git(
        folder,
        &["ls-files", "--others", "--exclude-standard", "-z"],
    );
    let paths = listed
        .split(|&byte| byte == 0)
        .filter(|path| !path.is_empty());
    paths.map(<[u8]>::to_owned).collect()
}

/// Returns what the connector enumerates below `root`, as paths in the repository.
fn by_connector(folder: &Folder, root: &[u8]) -> BTreeSet<Bytes> {
    let config = json!({"hidden": true, "unsupported": "error"});
    let scanned = connector(&folder.path(root), config).scan(None);
    let path = |item: &serde_json::Value| {
        let below = path_of(PREFIX, item["file_uri"].as_str().unwrap()).unwrap();
        match root {
            b"" => below,
            root => [root, b"/", &below].concat(),
        }
    };
    scanned.items.iter().map(path).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    #[test]
    fn what_git_ignores_is_left_out_and_nothing_else(tree in trees()) {
        let folder = tree.plant();
        let root = tree.root_in(&folder);
        let mut expected = by_git(&folder);
        let begins = [root, b"/"].concat();
        expected.retain(|path| root.is_empty() || path.starts_with(&begins));
        let found = by_connector(&folder, root);
        prop_assert_eq!(found, expected);
    }
}
