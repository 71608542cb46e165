//! What is examined, from what somebody said about it.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use dpe_connector::manifest::Manifest;
use serde_json::value::RawValue;

use crate::config::Mask;
use crate::host::{
    Deadlines, OnProcess, ProcessEvent, bundled, config_violation, plugin_environment,
};
use crate::json::Text;
use crate::json::canonical::{self, Nowhere};
use crate::model::FileUri;
use crate::ops::connector::error::ConnectorError;
use crate::ops::connector::list;
use crate::ops::connector::secret::{self, SecretSource};

/// Deepest nesting of a configuration, which is part of a definition (connector contract §6).
const MAX_DEPTH: usize = 64;

/// What somebody wants to have examined.
#[derive(Clone, Debug)]
pub struct Asked {
    /// How it is started.
    pub command: Command,
    /// Its manifest, if it is not bundled.
    pub manifest: Option<PathBuf>,
    /// URI prefix of its documents.
    pub prefix: String,
    /// A configuration it can work with: JSON, or `@` and the path of a file.
    pub config: String,
    /// A configuration it has to refuse, in the same form.
    pub bad_config: Option<String>,
    /// Where its secrets are.
    pub secrets: Vec<SecretSource>,
    /// How long an answer may take, and an enumeration as a whole; `None` for the usual times.
    pub patience: Option<Duration>,
}

/// How a connector is started.
#[derive(Clone, Debug)]
pub enum Command {
    /// It is part of this program, under this name.
    Bundled(String),
    /// A program and its arguments.
    Program(PathBuf, Vec<OsString>),
}

/// What is examined.
pub struct Subject {
    pub(super) program: PathBuf,
    pub(super) args: Vec<OsString>,
    /// The whole environment.
    pub(super) environment: Vec<(OsString, OsString)>,
    /// The manifest, or why that is none; nothing if nobody said where it is.
    pub(super) manifest: Option<Result<Manifest, String>>,
    /// Valid and normalised.
    pub(super) uri_prefix: String,
    pub(super) config: Box<RawValue>,
    pub(super) bad_config: Option<Box<RawValue>>,
    /// Hides secrets in what the connector says.
    pub(super) mask: Mask,
    pub(super) deadlines: Deadlines,
    /// Told what becomes of processes.
    pub(super) on_event: OnProcess,
}

impl Subject {
    /// Gathers what is needed. `on_line` gets every line the connector writes for people, without
    /// its secrets.
    ///
    /// # Errors
    ///
    /// When something is missing or of no use. A manifest that is not valid is no error, but a
    /// broken rule.
    pub fn gather(
        asked: Asked,
        on_line: impl Fn(&str) + Send + Sync + 'static,
    ) -> Result<Self, ConnectorError> {
        let own = asked.manifest.as_deref().map(list::manifest);
        let (program, args, manifest) = match asked.command {
            Command::Program(program, args) => (program, args, own),
            Command::Bundled(name) => {
                let bundled = bundled(&name).ok_or(ConnectorError::Unknown { name })?;
                let program = std::env::current_exe().map_err(ConnectorError::Executable)?;
                let args = bundled.args.map(OsString::from).to_vec();
                (program, args, Some(Ok(bundled.manifest)))
            }
        };
        let valid = manifest
            .as_ref()
            .and_then(|manifest| manifest.as_ref().ok());
        let config = config(&asked.config)?;
        check_config(&config, valid)?;
        let secrets = secret::resolve(&asked.secrets, valid)?;
        Ok(Self {
            program,
            args,
            environment: plugin_environment(secret::variables(&secrets)),
            uri_prefix: prefix(asked.prefix)?,
            config,
            bad_config: asked.bad_config.as_deref().map(self::config).transpose()?,
            mask: Mask::of_instance(secrets.into_iter().map(|(_, secret)| secret), None),
            manifest,
            deadlines: deadlines(asked.patience),
            on_event: Arc::new(move |event| {
                if let ProcessEvent::Stderr(line) = event {
                    on_line(&line.line);
                }
            }),
        })
    }

    pub(super) fn manifest(&self) -> Option<&Manifest> {
        self.manifest.as_ref()?.as_ref().ok()
    }
}

fn deadlines(patience: Option<Duration>) -> Deadlines {
    let usual = Deadlines::default();
    let Some(patience) = patience else {
        return usual;
    };
    Deadlines {
        initialize: patience,
        scan: patience,
        blob: patience,
        grace: usual.grace.min(patience),
    }
}

fn config(given: &str) -> Result<Box<RawValue>, ConnectorError> {
    let text = match given.strip_prefix('@') {
        None => given.to_owned(),
        Some(path) => fs::read_to_string(path).map_err(|source| ConnectorError::Read {
            path: path.into(),
            source,
        })?,
    };
    // A message is one line.
    let text = text.replace(['\n', '\r'], " ");
    RawValue::from_string(text).map_err(|why| ConnectorError::Config {
        why: why.to_string(),
    })
}

fn check_config(config: &RawValue, manifest: Option<&Manifest>) -> Result<(), ConnectorError> {
    let wrong = |why: String| ConnectorError::Config { why };
    let text = Text::parse(config.get().as_bytes()).map_err(|why| wrong(why.to_string()))?;
    if !text.root().is_object() {
        return Err(wrong("it is no object".to_owned()));
    }
    if text.root().depth_bound() > MAX_DEPTH {
        return Err(wrong(format!("it is nested deeper than {MAX_DEPTH}")));
    }
    canonical::write(text.root(), &mut Nowhere).map_err(|why| wrong(why.to_string()))?;
    match manifest.and_then(|manifest| config_violation(manifest, text.root())) {
        Some(violation) => Err(ConnectorError::ConfigSchema { violation }),
        None => Ok(()),
    }
}

fn prefix(prefix: String) -> Result<String, ConnectorError> {
    match FileUri::parse(&prefix) {
        Ok(uri) if uri.as_str() == prefix => Ok(prefix),
        Ok(_) => Err(ConnectorError::Prefix {
            prefix,
            source: None,
        }),
        Err(source) => Err(ConnectorError::Prefix {
            prefix,
            source: Some(source),
        }),
    }
}
