//! The tables `[source.NAME]`.

use std::path::Path;
use std::time::Duration;

use dpe_connector::manifest::is_base_environment;

use super::read::{Item, Key, Reader};
use super::values::{self, Json};
use super::{ConnectorEntry, SourceEntry};
use crate::config::credential_source::CredentialSource;
use crate::config::definition::{ConflictAction, ConflictPolicy};
use crate::model::FileUri;

pub(super) const KEYS: [&str; 11] = [
    "connector",
    "command",
    "prefix",
    "remote",
    "config",
    "conflict",
    "max_delete",
    "secrets",
    "env",
    "scan_timeout",
    "blob_timeout",
];

/// The connectors that are part of this program, and their members that are paths.
const BUNDLED: [(&str, &[&str]); 2] = [("fs", &["root"]), ("git", &["repo", "cache"])];

pub(super) fn read(
    reader: &mut Reader<'_>,
    name: &Key<'_>,
    item: &Item<'_>,
) -> Option<SourceEntry> {
    let within = format!("source.{}", name.get_ref());
    let table = reader.table(&within, item)?;
    let mut entry = SourceEntry {
        connector: ConnectorEntry::Bundled("fs".to_owned()),
        prefix: String::new(),
        remote: None,
        config: "{}".to_owned(),
        config_spans: [(String::new(), name.span())].into(),
        conflict: ConflictPolicy::default(),
        max_delete: None,
        secrets: Vec::new(),
        environment: Vec::new(),
        scan_timeout: None,
        blob_timeout: None,
        span: name.span(),
    };
    let (mut connector, mut command, mut prefix, mut config) = (None, None, None, None);
    for (key, item) in table {
        match &**key.get_ref() {
            "connector" => {
                connector = Some((reader.string("connector", item, "\"fs\"")?, item.span()))
            }
            "command" => {
                command = Some((
                    reader.strings("command", item, "[\"./wiki\"]")?,
                    item.span(),
                ))
            }
            "prefix" => prefix = Some(reader.prefix(item)?),
            "remote" => entry.remote = reader.string("remote", item, "\"origin\""),
            "config" => config = Some(item),
            "conflict" => entry.conflict = reader.conflict(item, &within).unwrap_or_default(),
            "max_delete" => entry.max_delete = reader.delete_limit("max_delete", item),
            "secrets" => entry.secrets = reader.secrets(item).unwrap_or_default(),
            "env" => entry.environment = reader.environment(item).unwrap_or_default(),
            "scan_timeout" => entry.scan_timeout = reader.duration("scan_timeout", item),
            "blob_timeout" => entry.blob_timeout = reader.duration("blob_timeout", item),
            _ => reader.unknown(key, &KEYS, &within),
        }
    }
    entry.prefix = match prefix {
        Some(prefix) => prefix,
        None => reader.own_prefix(name)?,
    };
    entry.connector = reader.connector(connector, command, name)?;
    if let Some(config) = config {
        reader.config(config, &mut entry);
    }
    Some(entry)
}

impl Reader<'_> {
    fn prefix(&mut self, item: &Item<'_>) -> Option<String> {
        let text = self.string("prefix", item, "\"dpe://handbook/\"")?;
        match FileUri::parse(&text) {
            Ok(uri) => Some(with_slash(uri.to_string())),
            Err(why) => {
                let what = format!("the prefix is no URI: {why}");
                let way_out = "write something like prefix = \"dpe://handbook/\"";
                self.note("dpe::config::prefix", what, way_out, item.span());
                None
            }
        }
    }

    fn own_prefix(&mut self, name: &Key<'_>) -> Option<String> {
        let uri = FileUri::parse(&format!("dpe://{}/", name.get_ref()));
        if uri.is_err() {
            let what = "no prefix can be made of this name";
            let way_out = "add a prefix, such as prefix = \"dpe://handbook/\"";
            self.note("dpe::config::prefix", what, way_out, name.span());
        }
        uri.ok().map(|uri| uri.to_string())
    }

    fn connector(
        &mut self,
        connector: Option<(String, std::ops::Range<usize>)>,
        command: Option<(Vec<String>, std::ops::Range<usize>)>,
        name: &Key<'_>,
    ) -> Option<ConnectorEntry> {
        let (connector, span) = connector.unwrap_or_else(|| ("fs".to_owned(), name.span()));
        let is_bundled = BUNDLED.iter().any(|(bundled, _)| *bundled == connector);
        if is_bundled {
            if let Some((_, span)) = command {
                let what =
                    format!("the connector {connector} is part of this program and has no command");
                let way_out = "leave `command` out, or name a manifest as `connector`";
                self.note("dpe::config::command", what, way_out, span);
            }
            return Some(ConnectorEntry::Bundled(connector));
        }
        self.may_start("this connector would run as you", span.clone())?;
        let Some((command, _)) = command else {
            let what =
                "this connector is not part of the program, and nothing says how to start it";
            let way_out =
                "add command = [\"program\", \"argument\"]; the bundled connectors are fs and git";
            self.note("dpe::config::command", what, way_out, span);
            return None;
        };
        let command = self.command(command);
        let is_path = connector.contains('/') || connector.ends_with(".json");
        Some(if is_path {
            let manifest = self.path(&connector);
            ConnectorEntry::Manifest { manifest, command }
        } else {
            let name = connector;
            ConnectorEntry::Installed { name, command }
        })
    }

    /// Returns a command whose program, if it is a path, begins at the file.
    fn command(&self, mut command: Vec<String>) -> Vec<String> {
        if let Some(program) = command.first_mut()
            && program.contains('/')
        {
            *program = self.path(program).to_string_lossy().into_owned();
        }
        command
    }

    /// Reads the configuration of the connector. Paths that bundled connectors want absolute begin at
    /// the file.
    fn config(&mut self, item: &Item<'_>, entry: &mut SourceEntry) {
        let Some(table) = self.table("config", item) else {
            return;
        };
        let paths = BUNDLED.iter().find_map(|(name, paths)| {
            (entry.connector == ConnectorEntry::Bundled((*name).to_owned())).then_some(*paths)
        });
        let mut json = Json::default();
        json.text.begin_object();
        for (key, value) in table {
            let name = &**key.get_ref();
            json.text.name(name);
            let text = value.get_ref().as_str();
            match text.filter(|_| paths.is_some_and(|paths| paths.contains(&name))) {
                Some(text) if !is_url(text) => {
                    json.text.string(&absolute(&self.path(text)));
                }
                _ => json.write(value, &format!("/{name}")),
            }
            json.spans.insert(format!("/{name}"), key.span());
        }
        json.text.end_object();
        json.spans.insert(String::new(), item.span());
        for (what, span) in json.foreign {
            let what = format!("a connector cannot be given {what}");
            self.note(
                "dpe::config::no_json",
                what,
                "write it as a text in quotes",
                span,
            );
        }
        (entry.config, entry.config_spans) = (json.text.into_string(), json.spans);
    }

    fn conflict(&mut self, item: &Item<'_>, within: &str) -> Option<ConflictPolicy> {
        let mut policy = ConflictPolicy::default();
        for (key, value) in self.table("conflict", item)? {
            let action = match value.get_ref().as_str() {
                Some("source_wins") => Some(ConflictAction::SourceWins),
                Some("report") => Some(ConflictAction::Report),
                _ => None,
            };
            let name = &**key.get_ref();
            let place = match name {
                "commit" => &mut policy.commit,
                "delete" => &mut policy.delete,
                _ => {
                    self.unknown(key, &["commit", "delete"], &format!("{within}.conflict"));
                    continue;
                }
            };
            let wanted = "\"source_wins\" or \"report\"";
            *place = self.or_wrong(action, name, value, wanted, "\"report\"")?;
        }
        Some(policy)
    }

    fn secrets(&mut self, item: &Item<'_>) -> Option<Vec<(String, CredentialSource)>> {
        let mut secrets = Vec::new();
        for (key, value) in self.table("secrets", item)? {
            let table = value.get_ref().as_table().filter(|table| table.len() == 1);
            let only = table.and_then(|table| table.iter().next());
            let place = only.and_then(|(kind, place)| {
                let text = place.get_ref().as_str().filter(|text| !text.is_empty())?;
                match &**kind.get_ref() {
                    "env" => Some(CredentialSource::Env(text.to_owned())),
                    "file" => Some(CredentialSource::File(self.path(text))),
                    _ => None,
                }
            });
            let (wanted, example) = ("where the secret is", "{ env = \"WIKI_TOKEN\" }");
            let place = self.or_wrong(place, key.get_ref(), value, wanted, example);
            secrets.extend(place.map(|place| (key.get_ref().to_string(), place)));
        }
        Some(secrets)
    }

    fn environment(&mut self, item: &Item<'_>) -> Option<Vec<(String, String)>> {
        let mut environment = Vec::new();
        for (key, value) in self.table("env", item)? {
            let name = &**key.get_ref();
            if name.starts_with("DPE_") || is_base_environment(name) || name.contains(['=', '\0']) {
                let what = "a connector cannot be given a variable of this name";
                let way_out =
                    "names that begin with DPE_, and PATH, HOME and their like, are not free";
                self.note("dpe::config::variable", what, way_out, key.span());
                continue;
            }
            let text = self.string(name, value, "\"en\"");
            environment.extend(text.map(|text| (name.to_owned(), text)));
        }
        Some(environment)
    }

    fn duration(&mut self, key: &str, item: &Item<'_>) -> Option<Duration> {
        let seconds = values::integer(item.get_ref());
        let seconds = seconds.and_then(|seconds| u32::try_from(seconds).ok());
        let seconds = seconds.filter(|seconds| *seconds > 0);
        let seconds = self.or_wrong(seconds, key, item, "a number of seconds above 0", "600")?;
        Some(Duration::from_secs(seconds.into()))
    }
}

fn with_slash(mut prefix: String) -> String {
    if !prefix.ends_with('/') {
        prefix.push('/');
    }
    prefix
}

/// Returns whether it is the URL of a repository rather than a path: `scheme://…`, or `user@host:path`.
fn is_url(text: &str) -> bool {
    let host = text.split('/').next().unwrap_or_default();
    text.contains("://") || host.contains('@') && host.contains(':')
}

/// Returns the path without `.` and `..` where that is certain.
fn absolute(path: &Path) -> String {
    let resolved = path.canonicalize();
    resolved
        .as_deref()
        .unwrap_or(path)
        .to_string_lossy()
        .into_owned()
}
