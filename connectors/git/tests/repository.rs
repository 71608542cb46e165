//! A temporary repository, made by the `git` program, and the connector on it.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use dpe_connector_testing::{Plugin, Remote, Scanned};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A repository with a work tree.
pub(crate) struct Repository {
    place: TempDir,
    root: PathBuf,
    /// Seconds since 1970; grows with every commit.
    now: std::cell::Cell<u64>,
}

/// Returns git, deaf to everything the user and the system have set.
pub(crate) fn git(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new("git");
    command
        .current_dir(folder)
        .args(args)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env_remove("GIT_DIR")
        .env_remove("GIT_WORK_TREE")
        .env_remove("GIT_INDEX_FILE");
    for who in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{who}_NAME"), "A U Thor");
        command.env(format!("GIT_{who}_EMAIL"), "author@example.com");
    }
    command
}

/// Runs git, which has to succeed, and returns what it wrote.
pub(crate) fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {stderr}");
    String::from_utf8(output.stdout)
        .unwrap()
        .trim_end()
        .to_owned()
}

impl Repository {
    /// Makes a repository without commits.
    pub(crate) fn new() -> Self {
        Self::made(&["init", "-q", "-b", "main"])
    }

    /// Makes one with these options of `git init`.
    pub(crate) fn made(args: &[&str]) -> Self {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("work");
        fs::create_dir(&root).unwrap();
        run(&mut git(&root, args));
        Self {
            place,
            root,
            now: std::cell::Cell::new(1_700_000_000),
        }
    }

    /// Makes a repository with one commit of these files.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let repository = Self::new();
        for (path, text) in files {
            repository.write(path, text);
        }
        repository.commit();
        repository
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns a place beside the work tree.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    pub(crate) fn path(&self, path: impl AsRef<[u8]>) -> PathBuf {
        self.root.join(OsStr::from_bytes(path.as_ref()))
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        let date = format!("{} +0000", self.now.get());
        let mut command = git(&self.root, args);
        command.env("GIT_AUTHOR_DATE", &date);
        command.env("GIT_COMMITTER_DATE", &date);
        run(&mut command)
    }

    pub(crate) fn write(&self, path: impl AsRef<[u8]>, text: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn link(&self, target: &str, path: &str) {
        symlink(target, self.path(path)).unwrap();
    }

    pub(crate) fn rename(&self, from: &str, to: &str) {
        fs::create_dir_all(self.path(to).parent().unwrap()).unwrap();
        fs::rename(self.path(from), self.path(to)).unwrap();
    }

    pub(crate) fn remove(&self, path: &str) {
        let path = self.path(path);
        if path.is_dir() {
            fs::remove_dir_all(path).unwrap();
        } else {
            fs::remove_file(path).unwrap();
        }
    }

    /// Commits the work tree as it is, and returns the commit.
    pub(crate) fn commit(&self) -> String {
        self.commit_saying("x")
    }

    pub(crate) fn commit_saying(&self, message: &str) -> String {
        self.now.set(self.now.get() + 60);
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", message]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// Lets time pass, in seconds.
    pub(crate) fn wait(&self, seconds: u64) {
        self.now.set(self.now.get() + seconds);
    }

    /// Starts the connector on it.
    pub(crate) fn plugin(&self) -> Plugin {
        plugin(self.root(), json!({}))
    }

    /// Runs a full round, changes the repository, and runs an incremental one with a new process,
    /// which has to lead to what a full round gives.
    pub(crate) fn changed(&self, change: impl FnOnce(&Self)) -> Scanned {
        self.changed_with(&json!({}), change)
    }

    pub(crate) fn changed_with(&self, config: &Value, change: impl FnOnce(&Self)) -> Scanned {
        let mut remote = Remote::new();
        let first = plugin(self.root(), config.clone()).scan(None);
        first.land(&mut remote);
        change(self);
        let second = plugin(self.root(), config.clone()).scan(first.cursor.as_deref());
        assert!(second.incremental);
        second.land(&mut remote);
        assert_eq!(remote, enumerated(self.root(), config.clone()));
        second
    }
}

/// Starts the connector on a repository with `config` besides.
pub(crate) fn plugin(repo: impl AsRef<Path>, config: Value) -> Plugin {
    Plugin::start(dpe_connector_git::main, &configured(repo, config))
}

pub(crate) fn configured(repo: impl AsRef<Path>, mut config: Value) -> Value {
    config["repo"] = json!(repo.as_ref());
    config
}

/// Returns what a full round of a new connector gives.
pub(crate) fn enumerated(repo: impl AsRef<Path>, config: Value) -> Remote {
    let mut remote = Remote::new();
    plugin(repo, config).scan(None).land(&mut remote);
    remote
}
