//! Writes the first configuration file of a project, and what leaves out that nobody wants to push.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use dpe_connector_git::Place;

use crate::config::{ConfigFile, Owner, Places, RemoteLocation};
use crate::model::FileUri;

use super::error::ConfigError;
use super::judge::judge;
use super::load::FILE_NAME;

/// Name of the file with our own ignore rules.
const IGNORE_NAME: &str = ".dpeignore";

/// Folders that hold what others have made, and what beside them says that it is so.
const UNWANTED: [(&str, &[&str]); 8] = [
    ("node_modules", &[]),
    ("bower_components", &[]),
    ("__pycache__", &[]),
    ("venv", &[]),
    (".venv", &[]),
    ("target", &["Cargo.toml", "pom.xml"]),
    ("dist", &["package.json", "pyproject.toml", "setup.py"]),
    (
        "build",
        &["package.json", "pyproject.toml", "setup.py", "build.gradle"],
    ),
];

/// What somebody wants to begin with.
#[derive(Clone, Debug, Default)]
pub struct Init {
    /// URL of the remote, or directory of its store; the user's embedded one if nothing is given.
    pub remote: Option<RemoteLocation>,
    /// URI prefix; that of the repository's or the directory's name if nothing is given.
    pub prefix: Option<String>,
    /// `fs` or `git`.
    pub connector: Option<String>,
}

/// Files to be written: none of them is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// The files and their texts.
    pub files: Vec<(PathBuf, String)>,
    /// Name of the source.
    pub source: String,
}

/// Returns what to write into a directory.
///
/// # Errors
///
/// When there is a configuration file already, or what is asked for does not load.
pub fn propose(directory: &Path, init: &Init) -> Result<Proposal, ConfigError> {
    let path = directory.join(FILE_NAME);
    if path.symlink_metadata().is_ok() {
        return Err(ConfigError::Exists {
            what: format!("a file {}", path.display()),
            way_out: "`dpe source add` and `dpe remote add` add to it".to_owned(),
        });
    }
    let source = name(directory);
    let text = text(directory, init, &source);
    judge(&[ConfigFile::parse(&text, &path, Owner::Trusted)?])?;
    let mut files = vec![(path, text)];
    let unwanted = unwanted(directory);
    let ignore = directory.join(IGNORE_NAME);
    if !unwanted.is_empty() && ignore.symlink_metadata().is_err() {
        let mut rules = "# What dpe leaves out. The rules are those of .gitignore.\n".to_owned();
        for name in unwanted {
            rules += &format!("{name}/\n");
        }
        files.push((ignore, rules));
    }
    Ok(Proposal { files, source })
}

impl Proposal {
    /// Writes the files.
    ///
    /// # Errors
    ///
    /// When one cannot be written, or has come into being meanwhile.
    pub fn write(&self) -> Result<(), ConfigError> {
        for (path, text) in &self.files {
            let write = || -> io::Result<()> {
                let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
                file.write_all(text.as_bytes())
            };
            write().map_err(|source| ConfigError::unwritable(path, source))?;
        }
        Ok(())
    }
}

fn text(directory: &Path, init: &Init, source: &str) -> String {
    let place = match &init.remote {
        Some(RemoteLocation::Url(url)) => format!(
            "url = {:?}\n# or {{ file = \"…\" }}, or {{ command = [\"…\"] }}; never the value itself\ncredential = {{ env = \"DPE_AUTHORIZATION\" }}",
            url.as_str()
        ),
        Some(RemoteLocation::Store(store)) => format!("store = {:?}", store.display().to_string()),
        None => format!(
            "# An embedded remote; one behind a URL has url = \"https://…\" in place of this.\nstore = {:?}",
            own_store()
        ),
    };
    let is_repository = directory
        .ancestors()
        .any(|above| above.join(".git").exists());
    let connector = init.connector.as_deref().unwrap_or("fs");
    let root = if connector == "git" { "repo" } else { "root" };
    let hint = match (is_repository, connector) {
        (true, "fs") if is_tracked(directory) => {
            "# \"git\" with config = { repo = \".\" } pushes what is committed, not what lies here.\n"
        }
        _ => "",
    };
    let prefix = match &init.prefix {
        Some(prefix) => prefix.clone(),
        None => format!("dpe://{source}/"),
    };
    format!(
        "# What `dpe push` delivers where. `dpe config list --show-origin` shows what counts.

[remote.origin]
{place}

[source.{source}]
{hint}connector = {connector:?}
# The URIs of all documents begin with it.
prefix = {prefix:?}
remote = \"origin\"
config = {{ {root} = \".\", exclude = [\"/{FILE_NAME}\"] }}
"
    )
}

/// Returns the place of the user's embedded remote as a person would write it.
fn own_store() -> String {
    let Ok(store) = Places::default_store() else {
        return ".dpe/remote".to_owned();
    };
    let below = etcetera::home_dir().ok().and_then(|home| {
        let below = store.strip_prefix(home).ok()?;
        Some(format!("~/{}", below.display()))
    });
    below.unwrap_or_else(|| store.display().to_string())
}

/// Returns a name for the source: that of the repository, or that of the directory.
fn name(directory: &Path) -> String {
    let url = git(directory, &["config", "--get", "remote.origin.url"]);
    let of_url = url.and_then(|url| Some(Place::parse(url.trim()).ok()?.name()));
    let of_url = of_url.filter(|_| directory.join(".git").exists());
    let own = directory.file_name().unwrap_or_default().as_encoded_bytes();
    let name = String::from_utf8_lossy(of_url.as_deref().unwrap_or(own)).to_lowercase();
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || c == '_' {
            c
        } else {
            '-'
        }
    };
    let name: String = name.chars().map(plain).collect();
    let name = name.trim_matches('-');
    let is_prefix = FileUri::parse(&format!("dpe://{name}/")).is_ok();
    if name.is_empty() || !is_prefix {
        "docs".to_owned()
    } else {
        name.to_owned()
    }
}

/// Returns whether git knows files of the directory.
fn is_tracked(directory: &Path) -> bool {
    git(directory, &["ls-files", "--", "."]).is_some_and(|files| !files.is_empty())
}

/// Returns what git says, if it is there and has something to say.
fn git(directory: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git")
        .args(arguments)
        .current_dir(directory)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output();
    let output = output.ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Returns the folders here that nobody wants to push and no ignore file names.
fn unwanted(directory: &Path) -> Vec<&'static str> {
    let rules = [".gitignore", ".ignore", IGNORE_NAME]
        .map(|name| fs::read_to_string(directory.join(name)).unwrap_or_default());
    let is_covered = |name: &str| {
        let mut lines = rules.iter().flat_map(|rules| rules.lines());
        lines.any(|line| line.trim().trim_matches('/') == name)
    };
    let is_made =
        |signs: &[&str]| signs.is_empty() || signs.iter().any(|sign| directory.join(sign).exists());
    let unwanted = UNWANTED.iter().filter(|(name, signs)| {
        directory.join(name).is_dir() && is_made(signs) && !is_covered(name)
    });
    unwanted.map(|(name, _)| *name).collect()
}
