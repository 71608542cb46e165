//! A hermetic place to run `dpe` in: its own home, its own folder of documents.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// The members of a report that tests look at.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Deserialize)]
pub(crate) struct Counts {
    pub(crate) created: u64,
    pub(crate) updated: u64,
    pub(crate) unchanged: u64,
    pub(crate) deleted: u64,
    pub(crate) moved: u64,
    pub(crate) failed: u64,
}

#[derive(Clone, Debug, serde::Deserialize)]
pub(crate) struct Failure {
    pub(crate) level: String,
    pub(crate) code: String,
    pub(crate) message: String,
    pub(crate) file_uri: Option<String>,
}

#[derive(Clone, Debug, serde::Deserialize)]
pub(crate) struct Report {
    pub(crate) outcome: String,
    pub(crate) cursor_persisted: bool,
    pub(crate) counts: Counts,
    pub(crate) failures: Vec<Failure>,
}

/// What one run of `dpe` came to.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

pub(crate) struct Place {
    directory: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir_all(directory.path().join("home")).unwrap();
        fs::create_dir_all(directory.path().join("docs")).unwrap();
        Self { directory }
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn docs(&self) -> PathBuf {
        self.path().join("docs")
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.path().join("home/.local/share/dpe/remote")
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.docs().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn remove(&self, name: &str) {
        fs::remove_file(self.docs().join(name)).unwrap();
    }

    pub(crate) fn rename(&self, from: &str, to: &str) {
        let to = self.docs().join(to);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::rename(self.docs().join(from), to).unwrap();
    }

    /// A command that sees nothing of the environment of the tests.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dpe"));
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.path().join("home"))
            .current_dir(self.path());
        command
    }

    pub(crate) fn dpe(&self, arguments: &[&str]) -> Run {
        run(self.command().args(arguments))
    }

    /// Pushes `docs` and returns the report.
    pub(crate) fn push(&self) -> (Report, Run) {
        self.push_with(&[])
    }

    pub(crate) fn push_with(&self, arguments: &[&str]) -> (Report, Run) {
        let run = self.dpe(&[&["push", "--json", "docs"], arguments].concat());
        let report = serde_json::from_str(run.stdout.trim_end())
            .unwrap_or_else(|error| panic!("{error}: {run:?}"));
        (report, run)
    }

    /// Pushes `docs`, which has to succeed, and returns the counts.
    pub(crate) fn pushed(&self) -> Counts {
        let (report, run) = self.push();
        assert_eq!(
            (run.code, &*report.outcome),
            (Some(0), "succeeded"),
            "{run:?}"
        );
        report.counts
    }

    /// Pushes `docs` with flags, which has to succeed, and returns the counts.
    pub(crate) fn pushed_with(&self, arguments: &[&str]) -> Counts {
        let (report, run) = self.push_with(arguments);
        assert_eq!(run.code, Some(0), "{run:?}");
        report.counts
    }

    /// What the remote holds: URI without the prefix → doc_hash.
    pub(crate) fn remote(&self) -> BTreeMap<String, String> {
        #[derive(serde::Deserialize)]
        struct Listed {
            file_uri: String,
            doc_hash: String,
        }
        let listed = self.dpe(&["ls", "--json"]);
        assert_eq!(listed.code, Some(0), "{listed:?}");
        listed
            .stdout
            .lines()
            .map(|line| serde_json::from_str::<Listed>(line).unwrap())
            .map(|listed| {
                let name = listed
                    .file_uri
                    .strip_prefix("dpe://docs/")
                    .unwrap()
                    .to_owned();
                (name, listed.doc_hash)
            })
            .collect()
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.remote().into_keys().collect()
    }

    /// Has the next push enumerate everything, as after an update of the connector.
    pub(crate) fn forget_cursor(&self) {
        let instances = self.path().join("home/.local/state/dpe/instances");
        for instance in fs::read_dir(instances).unwrap() {
            let database = instance.unwrap().path().join("state.db");
            let database = rusqlite::Connection::open(database).unwrap();
            let forget = "DELETE FROM facts WHERE name = 'cursor'";
            assert_eq!(database.execute(forget, []).unwrap(), 1);
        }
    }

    /// What a first push of the same folder to an empty remote gives: the truth to compare with.
    pub(crate) fn fresh_remote(&self) -> BTreeMap<String, String> {
        let other = Self::new();
        copy(&self.docs(), &other.docs());
        other.pushed();
        other.remote()
    }
}

pub(crate) fn run(command: &mut Command) -> Run {
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().unwrap();
    Run {
        code: status.code(),
        stdout: String::from_utf8(stdout).unwrap(),
        stderr: String::from_utf8(stderr).unwrap(),
    }
}

pub(crate) fn counts(
    created: u64,
    updated: u64,
    moved: u64,
    deleted: u64,
    unchanged: u64,
) -> Counts {
    Counts {
        created,
        updated,
        unchanged,
        deleted,
        moved,
        failed: 0,
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}
