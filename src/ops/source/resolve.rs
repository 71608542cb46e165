//! Turns what was named into sources: names of configuration files, folders, files, repositories.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::config::{ConfigFile, ConnectorEntry, Layers, NamedRemote, SourceEntry, nearest};
use crate::json::Text;
use crate::sync::guard::DeleteLimit;

use super::error::SourceError;
use super::repository::{RepositoryMode, RepositoryOptions};
use super::{NoSource, Root, Source, SourceKind, Unresolved, entry, folder, naming, repository};

/// What somebody wants to work on, and what holds for all of it.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Names of sources, paths, or URLs of repositories. None are all sources of the configuration file.
    pub named: Vec<PathBuf>,
    /// What paths are; with it, nothing that is named is a name of a source.
    pub kind: Option<SourceKind>,
    /// Of repositories: what of them is pushed, in place of what the configuration file says.
    pub reference: Option<String>,
    /// URI prefix of paths; by default that of the folder's name. With it, nothing that is named is a
    /// name of a source.
    pub prefix: Option<String>,
    /// When deletes are too many, in place of what anybody else says.
    pub delete_limit: Option<DeleteLimit>,
    /// What the configuration says.
    pub layers: Arc<Layers>,
}

/// What is named: a source of a configuration file, or something else.
enum Meant<'w> {
    /// A source; of a folder perhaps some files only.
    Entry {
        file: &'w ConfigFile,
        name: &'w str,
        entry: &'w SourceEntry,
        /// Relative to the folder.
        only: Option<String>,
        note: Option<String>,
    },
    /// A path or a URL.
    Place(PathBuf),
    /// Nothing there is.
    Nothing(SourceError),
}

/// Turns what was named into sources.
///
/// # Errors
///
/// When there is no connector or no remote, or the prefix is not a URI. What is no source is told for
/// itself.
pub fn resolve(wanted: &Wanted) -> Result<Vec<Result<Source, NoSource>>, SourceError> {
    if wanted.named.is_empty() {
        let file = wanted.layers.file_of_sources();
        let all = file.into_iter().flat_map(|file| {
            let entries = file.sources.iter();
            entries.map(move |(name, entry)| (file, name, entry))
        });
        return all
            .map(|(file, name, entry)| wanted.entry(file, name, entry, None, None))
            .collect();
    }
    let (mut sources, mut places) = (Vec::new(), Vec::new());
    let mut files: BTreeMap<&str, (usize, Vec<String>)> = BTreeMap::new();
    for named in &wanted.named {
        match wanted.meant(named) {
            Meant::Place(path) => places.push(path),
            Meant::Nothing(error) => sources.push(Err(wanted.nothing(named, error)?)),
            Meant::Entry {
                file,
                name,
                entry,
                only,
                note,
            } => {
                // Files of one source are one round.
                let Some(path) = only else {
                    sources.push(wanted.entry(file, name, entry, None, note)?);
                    continue;
                };
                let (index, only) = files.entry(name).or_insert((sources.len(), Vec::new()));
                only.push(path);
                let source = wanted.entry(file, name, entry, Some(only.clone()), note)?;
                match sources.get_mut(*index) {
                    Some(known) => *known = source,
                    None => sources.push(source),
                }
            }
        }
    }
    sources.extend(wanted.places(&places)?);
    Ok(sources)
}

impl Wanted {
    /// Finds out what somebody means.
    fn meant(&self, named: &Path) -> Meant<'_> {
        let is_place = self.kind.is_some() || self.prefix.is_some();
        if is_place {
            return Meant::Place(named.to_owned());
        }
        if let Some((name, file, entry)) = self.name(named) {
            let note = self.other_folder(named, entry).map(|folder| {
                format!(
                    "{name} is the source of {}; the folder is {}",
                    file.path.display(),
                    folder.display()
                )
            });
            return Meant::Entry {
                file,
                name,
                entry,
                only: None,
                note,
            };
        }
        if let Some(inside) = self.inside(named) {
            return inside;
        }
        let names = self.layers.source_names();
        match named.to_str() {
            Some(text) if !names.is_empty() && is_word(text) && !named.exists() => {
                Meant::Nothing(SourceError::Unknown {
                    name: text.to_owned(),
                    way_out: way_out(text, &names),
                })
            }
            _ => Meant::Place(named.to_owned()),
        }
    }

    /// Returns the source of this name.
    fn name(&self, named: &Path) -> Option<(&str, &ConfigFile, &SourceEntry)> {
        let text = named.to_str()?;
        self.layers.files.iter().find_map(|file| {
            let (name, entry) = file.sources.get_key_value(text)?;
            Some((name.as_str(), file, entry))
        })
    }

    /// Returns the folder of the same name, if it is not that of the source.
    fn other_folder(&self, named: &Path, entry: &SourceEntry) -> Option<PathBuf> {
        let folder = named.canonicalize().ok()?;
        (place(entry).as_deref() != Some(&*folder)).then(|| Path::new(".").join(named))
    }

    /// Returns the source in whose folder a path lies: the deepest.
    fn inside(&self, named: &Path) -> Option<Meant<'_>> {
        let path = named.canonicalize().ok()?;
        let sources = self.layers.files.iter().flat_map(|file| {
            let sources = file.sources.iter();
            sources.map(move |(name, entry)| (file, name, entry))
        });
        let (file, name, entry, root) = sources
            .filter_map(|(file, name, entry)| Some((file, name, entry, place(entry)?)))
            .filter(|(.., root)| path.starts_with(root))
            .max_by_key(|(.., root)| root.components().count())?;
        let below = path.strip_prefix(&root).ok()?;
        let is_folder = entry.connector == ConnectorEntry::Bundled("fs".to_owned());
        let only = (is_folder && path.is_file()).then(|| below.to_str().map(str::to_owned));
        let is_part = only.is_none() && !below.as_os_str().is_empty();
        Some(Meant::Entry {
            file,
            name,
            entry,
            only: only.flatten(),
            note: is_part.then(|| {
                format!(
                    "{} is a part of the source {name}, which is taken as a whole",
                    named.display()
                )
            }),
        })
    }

    fn nothing(&self, named: &Path, error: SourceError) -> Result<NoSource, SourceError> {
        Ok(NoSource {
            name: naming::shown(named),
            remote: Box::new(self.layers.remote(None)?.remote),
            error: Box::new(error),
        })
    }

    /// Returns a source of a configuration file.
    fn entry(
        &self,
        file: &ConfigFile,
        name: &str,
        entry: &SourceEntry,
        only: Option<Vec<String>>,
        note: Option<String>,
    ) -> Result<Result<Source, NoSource>, SourceError> {
        let NamedRemote { remote, .. } = self.layers.remote(entry.remote.as_deref())?;
        let named = entry::Named { file, name, entry };
        let reference = self.reference.clone();
        let root = named.root(only, reference);
        Ok(match root {
            Ok((root, connector)) => Ok(Source {
                root,
                connector,
                remote,
                policies: entry::policies(entry.conflict),
                delete_limit: self.delete_limit(entry.max_delete.as_deref()),
                deadlines: entry::deadlines(entry),
                note,
            }),
            Err(error) => Err(NoSource {
                name: name.to_owned(),
                remote: Box::new(remote),
                error: Box::new(error),
            }),
        })
    }

    /// Returns the sources of paths and URLs.
    fn places(&self, places: &[PathBuf]) -> Result<Vec<Result<Source, NoSource>>, SourceError> {
        if places.is_empty() {
            return Ok(Vec::new());
        }
        let kind = self.kind.clone().unwrap_or_default();
        let connector = kind.connector()?;
        let NamedRemote { remote, .. } = self.layers.remote(None)?;
        let source = |root| Source {
            root,
            connector: connector.clone(),
            remote: remote.clone(),
            policies: entry::policies(Default::default()),
            delete_limit: self.delete_limit(None),
            deadlines: Default::default(),
            note: None,
        };
        let no_source = |(name, error): Unresolved| NoSource {
            name,
            remote: Box::new(remote.clone()),
            error,
        };
        let roots = self.roots(places, &kind)?.into_iter();
        Ok(roots
            .map(|root| root.map(source).map_err(no_source))
            .collect())
    }

    fn roots(
        &self,
        places: &[PathBuf],
        kind: &SourceKind,
    ) -> Result<Vec<Result<Root, Unresolved>>, SourceError> {
        let prefix = self.prefix.as_deref().map(naming::normal_prefix);
        let prefix = prefix.transpose()?;
        let prefix = prefix.as_deref();
        Ok(match kind {
            SourceKind::Folders => {
                let folders = folder::resolve(places, prefix).into_iter();
                folders.map(|folder| folder.map(Root::Folder)).collect()
            }
            SourceKind::Repositories(options) => {
                let options = RepositoryOptions {
                    reference: self.reference.clone().or_else(|| options.reference.clone()),
                    ..options.clone()
                };
                places
                    .iter()
                    .map(|named| repository::resolve(named, &options, prefix).map(Root::Repository))
                    .collect()
            }
        })
    }

    /// What is said for this call, for this source, for all.
    fn delete_limit(&self, own: Option<&str>) -> DeleteLimit {
        let own = own.and_then(|own| own.parse().ok());
        self.delete_limit
            .or(own)
            .or_else(|| self.layers.value("max_delete"))
            .unwrap_or(DeleteLimit::Usual)
    }
}

impl RepositoryOptions {
    /// Reads what the configuration of the connector says.
    pub(super) fn of_config(config: &Text<'_>) -> Self {
        let member = |name| {
            let member = config.root().member(name)?;
            Some(member.as_str()?.into_owned())
        };
        Self {
            reference: member("ref"),
            mode: match member("mode").as_deref() {
                Some("history") => RepositoryMode::History,
                _ => RepositoryMode::Files,
            },
        }
    }
}

/// Returns where a source of a bundled connector is on this machine.
fn place(entry: &SourceEntry) -> Option<PathBuf> {
    let member = match &entry.connector {
        ConnectorEntry::Bundled(name) if name == "fs" => "root",
        ConnectorEntry::Bundled(_) => "repo",
        _ => return None,
    };
    let config = Text::parse(entry.config.as_bytes()).ok()?;
    let path = config.root().member(member)?.as_str()?.into_owned();
    Path::new(&path).canonicalize().ok()
}

fn is_word(text: &str) -> bool {
    !text.contains(['/', ':', '@']) && !text.starts_with('.')
}

fn way_out(name: &str, names: &[&str]) -> String {
    let near = nearest(name, names).map(|near| format!("do you mean `{near}`? "));
    format!(
        "{}The sources here are {}",
        near.unwrap_or_default(),
        names.join(", ")
    )
}
