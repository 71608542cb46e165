//! A repository with a history: the changes of a folder, committed, and what else becomes of
//! commits. The first one stays, so that all others have it in common.

use std::path::{Path, PathBuf};

use crate::push::repositories::git;

use super::History;
use super::folder::Folder;
use super::random::Chance;

/// A repository and its work tree.
pub(super) struct Repository {
    root: PathBuf,
    work_tree: Folder,
    /// How many commits lead to the one at hand.
    commits: usize,
}

impl History for Repository {
    fn begin(folder: &Path, chance: &mut Chance) -> Self {
        git(folder, &["init", "-q", "-b", "main"]);
        let mut this = Self {
            root: folder.to_owned(),
            work_tree: Folder::begin(folder, chance),
            commits: 0,
        };
        this.commit();
        this
    }

    fn change(&mut self, chance: &mut Chance) -> String {
        if self.commits > 1 && chance.in_thousand(150) {
            git(&self.root, &["reset", "-q", "--hard", "HEAD~1"]);
            self.commits -= 1;
            return "the last commit is taken back".to_owned();
        }
        let said = self.work_tree.change(chance);
        match chance.of(0..5) {
            0 => return format!("{said}, not committed yet"),
            1 if self.commits > 1 => {
                git(&self.root, &["add", "-A"]);
                let amend = ["commit", "-q", "--amend", "--allow-empty", "-m", "amended"];
                git(&self.root, &amend);
                return format!("{said}, as if it had been in the last commit");
            }
            2 => git(&self.root, &["gc", "-q", "--prune=now"]),
            _ => {}
        }
        self.commit();
        said
    }

    fn set_broken(&mut self, is_broken: bool) {
        self.work_tree.set_broken(is_broken);
        self.commit();
    }

    fn connector(&self) -> &'static str {
        dpe_connector_git::NAME
    }

    fn manifest(&self) -> &'static str {
        dpe_connector_git::MANIFEST
    }

    fn config(&self) -> serde_json::Value {
        serde_json::json!({"repo": self.root})
    }

    fn push_arguments(&self) -> Vec<String> {
        let root = self.root.to_str().unwrap().to_owned();
        vec!["--connector".to_owned(), "git".to_owned(), root]
    }
}

impl Repository {
    fn commit(&mut self) {
        git(&self.root, &["add", "-A"]);
        git(&self.root, &["commit", "-q", "--allow-empty", "-m", "x"]);
        self.commits += 1;
    }
}
