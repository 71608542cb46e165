//! Which files are left out, compared with git itself.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
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

/// Compares a folder with `git ls-files`.
fn assert_as_git(folder: &Folder, case: &str) {
    assert_eq!(by_connector(folder, b""), by_git(folder), "{case}");
}

fn repository() -> Folder {
    let files = ["a.md", "b.md", "c.txt", "d/a.md", "d/e/b.md", "x.md", "a "];
    let folder = Folder::with(&files.map(|path| (path, "x\n")));
    git(&folder, &["init", "--quiet"]);
    folder
}

#[test]
fn odd_ignore_files_mean_what_they_mean_to_git() {
    let texts: [&[u8]; 22] = [
        b"a.md\0zzz\nb.md\0\n",
        b"\xef\xbb\xbfa.md\r\nb.md\r\n",
        b"\xef\xbb\xbf\xef\xbb\xbfa.md\n",
        b"\n\xef\xbb\xbfa.md\n",
        b"a.md\r",
        b"a.md\r\r\nb.md \r\n",
        b"d/\n!d/a.md\n",
        b"d/*\n!d/e\n",
        b"*\n!*/\n!*.md\n",
        b"/*\n!/d\n/d/*\n!/d/e/\n",
        b"\\\n\\\\\n a.md\n\ta.md\n",
        b"a\\ \nc.txt\\\n",
        b"a\\  \n",
        b"\\#x\n\\!y\n!!a.md\n!\n/\n//\n",
        b"**\n!**/\n!*.md",
        b"d/**/\n",
        b"**/e/**\n",
        b"d**/e\n",
        b"//a.md\nd//a.md\n./b.md\n",
        b"d\n!d/a.md\n!/d/\n",
        b"[[:alpha:]].[!t]*\n",
        b"[^a].md\n",
    ];
    for text in texts {
        let folder = repository();
        folder.write(".gitignore", text);
        assert_as_git(&folder, &text.escape_ascii().to_string());
    }
}

#[test]
fn an_ignore_file_that_is_a_folder_or_a_link_counts_as_for_git() {
    let folder = repository();
    folder.write(".gitignore/a.md", "x\n");
    assert_as_git(&folder, "a folder");
    let folder = repository();
    folder.write("rules", "a.md\n");
    symlink("rules", folder.path(".gitignore")).unwrap();
    let mut expected = by_git(&folder);
    // Git lists the link itself.
    assert!(expected.remove(&b".gitignore"[..]) && expected.contains(&b"a.md"[..]));
    assert_eq!(by_connector(&folder, b""), expected);
    let folder = repository();
    folder.write(".git/rules", "a.md\n");
    fs::remove_file(folder.path(".git/info/exclude")).unwrap();
    symlink("../rules", folder.path(".git/info/exclude")).unwrap();
    assert_as_git(&folder, "a link from .git/info/exclude");
}

#[test]
fn a_relative_excludes_file_is_looked_for_at_the_top_of_the_work_tree() {
    let folder = repository();
    folder.write("rules", "a.md\n");
    git(&folder, &["config", "core.excludesFile", "rules"]);
    assert_as_git(&folder, "at the top");
    let mut expected = by_git(&folder);
    expected.retain(|path| path.starts_with(b"d/"));
    assert_eq!(by_connector(&folder, b"d"), expected);
}

#[test]
fn a_work_tree_may_have_settings_of_its_own() {
    let folder = repository();
    let name = ["-c", "user.name=a", "-c", "user.email=a@example.net"];
    let commit = ["commit", "--quiet", "--allow-empty", "-m", "x"];
    git(&folder, &[&name[..], &commit].concat());
    let other = Folder::new();
    let at = other.path("w");
    git(
        &folder,
        &["worktree", "add", "--quiet", at.to_str().unwrap()],
    );
    git(&folder, &["config", "extensions.worktreeConfig", "true"]);
    let inside = ["-C", at.to_str().unwrap()];
    let setting = ["config", "--worktree", "core.ignoreCase", "true"];
    git(&folder, &[&inside[..], &setting].concat());
    for path in ["a.md", "b.md"] {
        other.write(format!("w/{path}"), "x\n");
    }
    other.write("w/.gitignore", "A.md\n.*\n");
    let listed = ["ls-files", "--others", "--exclude-standard", "-z"];
    assert_eq!(git(&folder, &[&inside[..], &listed].concat()), b"b.md\0");
    let config = json!({"hidden": true});
    assert_eq!(connector(&at, config).scan(None).lines(), ["+b.md"]);
}

#[test]
fn a_user_s_ignore_file_to_which_there_is_no_way_is_warned_of_and_does_not_count() {
    let folder = repository();
    // Longer than any name may be; git warns in the same way of a folder it may not enter.
    let nowhere = format!("/{}/ignore", "x".repeat(300));
    git(&folder, &["config", "core.excludesFile", &nowhere]);
    let mut plugin = connector(folder.root(), json!({}));
    assert_eq!(plugin.scan(None).items.len(), by_git(&folder).len());
    assert!(
        plugin.stderr().contains("do not count"),
        "{}",
        plugin.stderr()
    );
}

/// Git itself lists nothing there. As for other tools that search folders, whoever names a folder
/// means it; what is in it is still ignored by the rules above that speak of it.
#[test]
fn a_root_that_is_ignored_itself_is_enumerated_by_the_rules_for_what_is_in_it() {
    let folder = repository();
    folder.write(".gitignore", "/d/\nb.md\n");
    assert_eq!(
        by_connector(&folder, b"d"),
        BTreeSet::from([b"d/a.md".to_vec()])
    );
    folder.write(".gitignore", "/d/**\n");
    assert_eq!(by_connector(&folder, b"d"), BTreeSet::new());
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
