//! A source as a configuration file describes it.

use std::path::Path;

use crate::config::{ConfigFile, ConflictAction, ConflictPolicy, ConnectorEntry, SourceEntry};
use crate::host::Deadlines;
use crate::json::Text;
use crate::sync::decision::{Policies, Policy};

use super::connector::Connector;
use super::error::SourceError;
use super::folder::FolderSource;
use super::repository::RepositoryOptions;
use super::root::Root;
use super::{foreign, repository};

/// An entry of a file, and its name.
pub(super) struct Named<'a> {
    pub(super) file: &'a ConfigFile,
    pub(super) name: &'a str,
    pub(super) entry: &'a SourceEntry,
}

impl Named<'_> {
    /// Returns what is enumerated, and by which connector.
    pub(super) fn root(
        &self,
        only: Option<Vec<String>>,
        reference: Option<String>,
    ) -> Result<(Root, Connector), SourceError> {
        let Self { file, name, entry } = self;
        let config = Text::parse(entry.config.as_bytes()).expect("the writer writes JSON");
        match &entry.connector {
            ConnectorEntry::Bundled(connector) if connector == dpe_connector_fs::NAME => {
                let connector = Connector::bundled(dpe_connector_fs::NAME)?;
                Ok((self.folder(&config, only)?, connector))
            }
            ConnectorEntry::Bundled(_) => {
                let connector = Connector::bundled(dpe_connector_git::NAME)?;
                Ok((self.repository(&config, reference)?, connector))
            }
            _ => {
                let (source, connector) = foreign::resolve(name, entry, &file.path)?;
                Ok((Root::Foreign(source), connector))
            }
        }
    }

    fn folder(&self, config: &Text<'_>, only: Option<Vec<String>>) -> Result<Root, SourceError> {
        let root = text(config, "root");
        let root = Path::new(&root);
        let resolved = root.canonicalize().map_err(|source| SourceError::Source {
            name: format!("{} ({})", self.name, root.display()),
            source,
        })?;
        Ok(Root::Folder(FolderSource {
            name: match only.as_deref() {
                Some([one]) => format!("{one} of {}", self.name),
                Some(many) => format!("{} files of {}", many.len(), self.name),
                None => self.name.to_owned(),
            },
            root: resolved,
            only,
            uri_prefix: self.entry.prefix.clone(),
            settings: self.entry.config.clone(),
        }))
    }

    fn repository(
        &self,
        config: &Text<'_>,
        reference: Option<String>,
    ) -> Result<Root, SourceError> {
        let mut options = RepositoryOptions::of_config(config);
        options.reference = reference.or(options.reference);
        let repo = text(config, "repo");
        let prefix = Some(&*self.entry.prefix);
        let source = repository::resolve(Path::new(&repo), &options, prefix);
        let mut source = source.map_err(|(_, error)| *error)?;
        if let Some(subdir) = config
            .root()
            .member("subdir")
            .and_then(|member| member.as_str())
        {
            source.below(&subdir);
        }
        source.settings.clone_from(&self.entry.config);
        source.name = self.name.to_owned();
        Ok(Root::Repository(source))
    }
}

/// Returns the deadlines of the connector of a source.
pub(super) fn deadlines(entry: &SourceEntry) -> Deadlines {
    let usual = Deadlines::default();
    Deadlines {
        scan: entry.scan_timeout.unwrap_or(usual.scan),
        blob: entry.blob_timeout.unwrap_or(usual.blob),
        ..usual
    }
}

/// Returns the policies of a round.
pub(super) fn policies(conflict: ConflictPolicy) -> Policies {
    let policy = |action| match action {
        ConflictAction::SourceWins => Policy::SourceWins,
        ConflictAction::Report => Policy::Report,
    };
    Policies {
        commit: policy(conflict.commit),
        delete: policy(conflict.delete),
    }
}

/// Returns a member that the manifest of the connector demands.
fn text(config: &Text<'_>, name: &str) -> String {
    let member = config.root().member(name);
    let text = member.and_then(|member| member.as_str());
    text.map(|text| text.into_owned()).unwrap_or_default()
}
