//! What a repository and its user have set down about ignoring: where the files with the rules
//! are that lie in no folder of the source, and whether case matters.
//!
//! A connector has no other variable that leads there than `HOME` (connector contract §7.2). No git
//! is run.

use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use dpe_connector_files::Case;
use gix_config::file::{Metadata, includes, init};
use gix_config::path::interpolate;
use gix_config::{File, Source};
use gix_ref::FullName;

use crate::door::open;

/// Name of what makes a folder the top of a repository.
pub(crate) const DIRECTORY: &str = ".git";

/// Configuration of all users of this machine.
const OF_SYSTEM: &str = "/etc/gitconfig";

/// A file that says where a repository is has one line.
const POINTER_BYTES: u64 = 64 << 10;

/// What git is told to do about ignoring.
#[derive(Debug)]
pub(crate) struct Settings {
    /// `core.excludesFile`, or its default.
    pub(crate) excludes_file: Option<PathBuf>,
    /// `core.ignoreCase`.
    pub(crate) case: Case,
}

impl Settings {
    /// Reads the configuration of system, user and, if there is one, the repository with its top
    /// at `repository`. What cannot be understood counts for nothing, and is told to `notes`.
    pub(crate) fn of(
        home: Option<&Path>,
        repository: Option<&Path>,
        notes: &mut Vec<String>,
    ) -> Self {
        let config = config(home, repository).unwrap_or_else(|why| {
            notes.push(format!(
                "git's configuration was left out of account: {why}"
            ));
            File::default()
        });
        let context = interpolate::Context {
            home_dir: home,
            ..interpolate::Context::default()
        };
        let excludes_file = match config.path("core.excludesFile") {
            // Git works at the top of the work tree.
            Some(path) => match path.interpolate(context).ok() {
                Some(path) if path.is_relative() => repository.map(|top| top.join(path)),
                path => path,
            },
            None => home.map(|home| home.join(".config/git/ignore")),
        };
        let ignores_case = config.boolean("core.ignoreCase").ok().flatten();
        Self {
            excludes_file,
            case: match ignores_case {
                Some(true) => Case::Fold,
                _ => Case::Sensitive,
            },
        }
    }
}

fn config(home: Option<&Path>, repository: Option<&Path>) -> Result<File, String> {
    let own = repository.map(own_directory);
    let branch = own.as_deref().and_then(branch);
    let of_user = |name| home.map(|home| home.join(name));
    let of_repository = own
        .as_deref()
        .map(|own| common_directory(own).join("config"));
    let mut places = vec![
        (Source::System, Some(PathBuf::from(OF_SYSTEM))),
        (Source::Git, of_user(".config/git/config")),
        (Source::User, of_user(".gitconfig")),
        (Source::Local, of_repository),
    ];
    let read = |places: &[(Source, Option<PathBuf>)]| {
        let mut files = places.iter().filter_map(|(source, path)| {
            let path = path.as_ref().filter(|path| path.is_file())?;
            Some(Metadata::from(*source).at(path.clone()))
        });
        let mut follow = includes::Options::follow_without_conditional(home);
        follow.conditional.git_dir = own.as_deref();
        follow.conditional.branch_name = branch.as_ref().map(FullName::as_ref);
        let options = init::Options {
            includes: follow,
            lossy: true,
            ignore_io_errors: true,
        };
        File::from_paths_metadata_buf(&mut files, &mut Vec::new(), false, options)
            .map(Option::unwrap_or_default)
            .map_err(|why| why.to_string())
    };
    let config = read(&places)?;
    let has_own = config.boolean("extensions.worktreeConfig").ok().flatten();
    let of_work_tree = own.as_ref().map(|own| own.join("config.worktree"));
    if has_own != Some(true) || of_work_tree.is_none() {
        return Ok(config);
    }
    places.push((Source::Worktree, of_work_tree));
    read(&places)
}

/// Returns where the rules are that belong to the repository with its top at `folder`.
pub(crate) fn exclude_file(folder: &Path) -> PathBuf {
    common_directory(&own_directory(folder)).join("info/exclude")
}

/// Returns the directory of git's that belongs to the work tree with its top at `top`.
fn own_directory(top: &Path) -> PathBuf {
    let directory = top.join(DIRECTORY);
    // In a further work tree, and in a submodule, it is a file that leads there.
    let Some(line) = line_of(&directory) else {
        return directory;
    };
    let leads_to = line.strip_prefix(b"gitdir: ").unwrap_or(b"");
    top.join(std::ffi::OsStr::from_bytes(leads_to))
}

/// Returns the branch that is checked out, born or not.
fn branch(own: &Path) -> Option<FullName> {
    let line = line_of(&own.join("HEAD"))?;
    let name = std::str::from_utf8(line.strip_prefix(b"ref:")?).ok()?;
    FullName::try_from(name.trim()).ok()
}

/// Returns the directory in which the repository keeps what all its work trees share.
fn common_directory(own: &Path) -> PathBuf {
    match line_of(&own.join("commondir")) {
        Some(common) => own.join(std::ffi::OsStr::from_bytes(&common)),
        None => own.to_owned(),
    }
}

/// Returns the text of a file without the line ends behind it, if it is a file and readable.
fn line_of(path: &Path) -> Option<Vec<u8>> {
    if !fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut text = Vec::new();
    let file = open(path, true).ok()?;
    file.take(POINTER_BYTES).read_to_end(&mut text).ok()?;
    while text.pop_if(|byte| matches!(byte, b'\n' | b'\r')).is_some() {}
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(home: &Path, repository: Option<&Path>) -> (Settings, Vec<String>) {
        let mut notes = Vec::new();
        let settings = Settings::of(Some(home), repository, &mut notes);
        (settings, notes)
    }

    #[test]
    fn the_user_s_rules_are_found_through_the_home_folder() {
        let home = tempfile::tempdir().unwrap();
        let (found, _) = settings(home.path(), None);
        let default = home.path().join(".config/git/ignore");
        assert_eq!(found.excludes_file, Some(default));
        let config = "[include]\n\tpath = more\n[core]\n\texcludesFile = \"~/my rules\" ; mine\n";
        fs::write(home.path().join(".gitconfig"), config).unwrap();
        fs::write(home.path().join("more"), "[core]\nignoreCase\n").unwrap();
        let (found, notes) = settings(home.path(), None);
        assert_eq!(found.excludes_file, Some(home.path().join("my rules")));
        assert_eq!(found.case, Case::Fold);
        assert_eq!(notes, Vec::<String>::new());
    }

    #[test]
    fn a_branch_may_have_settings_of_its_own() {
        let home = tempfile::tempdir().unwrap();
        let top = home.path().join("repository");
        fs::create_dir_all(top.join(".git")).unwrap();
        let config = "[includeIf \"onbranch:feature/\"]\n\tpath = more\n";
        fs::write(home.path().join(".gitconfig"), config).unwrap();
        fs::write(home.path().join("more"), "[core]\nignoreCase\n").unwrap();
        for (branch, case) in [("feature/one", Case::Fold), ("main", Case::Sensitive)] {
            let head = format!("ref: refs/heads/{branch}\n");
            fs::write(top.join(".git/HEAD"), head).unwrap();
            assert_eq!(settings(home.path(), Some(&top)).0.case, case, "{branch}");
        }
    }

    #[test]
    fn a_repository_has_the_last_word_and_a_broken_file_none() {
        let home = tempfile::tempdir().unwrap();
        let top = home.path().join("repository");
        fs::create_dir_all(top.join(".git")).unwrap();
        fs::write(top.join(".git/config"), "[core]\nexcludesFile = /of/it\n").unwrap();
        fs::write(
            home.path().join(".gitconfig"),
            "[core]\nexcludesFile = /of/user\n",
        )
        .unwrap();
        let (found, _) = settings(home.path(), Some(&top));
        assert_eq!(found.excludes_file, Some("/of/it".into()));
        fs::write(home.path().join(".gitconfig"), "[core\nexcludesFile").unwrap();
        let (found, notes) = settings(home.path(), None);
        assert_eq!(found.case, Case::Sensitive);
        assert_eq!(notes.len(), 1);
    }

    #[test]
    fn a_further_work_tree_has_the_rules_of_its_repository() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        fs::create_dir_all(at("main/.git/worktrees/w")).unwrap();
        fs::create_dir_all(at("w")).unwrap();
        fs::write(at("main/.git/worktrees/w/commondir"), "../..\n").unwrap();
        fs::write(at("w/.git"), "gitdir: ../main/.git/worktrees/w\n").unwrap();
        fs::create_dir_all(at("main/.git/info")).unwrap();
        fs::write(at("main/.git/info/exclude"), "x").unwrap();
        assert_eq!(fs::read(exclude_file(&at("w"))).unwrap(), b"x");
        assert_eq!(fs::read(exclude_file(&at("main"))).unwrap(), b"x");
    }
}
