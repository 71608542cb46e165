//! The command `dpe commit`.

use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::json::Writer;
use crate::model::{Contract, FileUri, Hash, Violation};
use crate::ops::commit::{self, CommitError, Condition, Document, Outcome, Precondition, Source};
use crate::ops::hash_object::Input;
use crate::ops::remote::{self, OpenRemote, RemoteError};
use crate::server::{OpenMode, StoreError};
use crate::sync::ports::Refusal;
use crate::ui::Voice;

use super::context::CommonArgs;
use super::document_uri::{base_hash, document_uri};
use super::exit::Exit;
use super::switch::switch;

/// Commit one document given as JSON
///
/// FILE has the document with its pages and elements inline, as `dpe hash-object --kind expanded`
/// takes it. In place of a blob reference an element may have {"inline": BASE64} or {"file": PATH}.
///
/// Without a condition, what the document holds when the command looks is written over, and
/// nothing that somebody else writes after that.
#[derive(Debug, clap::Args)]
pub(super) struct CommitArgs {
    /// The document
    #[arg(value_parser = document_uri)]
    uri: FileUri,

    /// File to read; `-` is standard input. Paths of blobs in it are relative to it
    file: PathBuf,

    /// File with the bytes of a blob that the document refers to; repeat it for more
    #[arg(long, env = "DPE_BLOB", value_name = "FILE")]
    blob: Vec<PathBuf>,

    #[command(flatten)]
    condition: ConditionArgs,

    /// Show what would be done, and write nothing
    #[arg(short = 'n', long, env = "DPE_DRY_RUN", value_parser = switch())]
    dry_run: bool,
}

/// Without any of them: whatever the document has now must not change meanwhile.
#[derive(Debug, clap::Args)]
#[group(multiple = false)]
struct ConditionArgs {
    /// Only if there is no document yet
    #[arg(long, env = "DPE_IF_ABSENT", value_parser = switch())]
    if_absent: bool,

    /// Only if the document has this doc_hash
    #[arg(long, env = "DPE_BASE", value_name = "HASH", value_parser = base_hash)]
    base: Option<Hash>,

    /// Write over whatever is there; needs the right to do so
    #[arg(long, env = "DPE_FORCE", value_parser = switch())]
    force: bool,
}

impl CommitArgs {
    /// Runs the command.
    pub(super) async fn run(self, common: &CommonArgs) -> Result<Exit, Error> {
        let voice = common.voice();
        let source = Source {
            input: if self.file == Path::new("-") {
                Input::Stdin
            } else {
                Input::File(self.file.clone())
            },
            blobs: self.blob.clone(),
        };
        let document = match commit::read(&source, Contract::DEFAULT) {
            Ok(document) => document,
            Err(error @ CommitError::Invalid { .. }) => return rejected(voice, &error),
            Err(error) => return Err(error.into()),
        };
        for path in &document.unused {
            voice.warn(&format!("no element refers to {}", path.display()));
        }
        let outcome = self.outcome(&document, common).await?;
        self.tell(voice, outcome)
    }

    async fn outcome(&self, document: &Document, common: &CommonArgs) -> Result<Outcome, Error> {
        let condition = self.condition.value();
        if !self.dry_run {
            let remote = remote::open(&common.remote()?, OpenMode::Create).await?;
            let done = commit::commit(&remote.client, &self.uri, document, condition);
            return Ok(done.await?);
        }
        let remote = match remote::open(&common.remote()?, OpenMode::ReadOnly).await {
            Ok(remote) => Some(remote),
            Err(RemoteError::Store(StoreError::Missing { .. })) => None,
            Err(error) => return Err(error.into()),
        };
        let client = remote.as_ref().map(|OpenRemote { client, .. }| client);
        Ok(commit::imagine(client, &self.uri, document, condition).await?)
    }

    fn tell(&self, voice: Voice, outcome: Outcome) -> Result<Exit, Error> {
        let uri = &self.uri;
        if voice.json {
            voice.result(&line(uri, outcome)).map_err(Error::Output)?;
        }
        match outcome {
            Outcome::Done {
                status, doc_hash, ..
            } => {
                let would = if self.dry_run { "would be " } else { "" };
                voice.say(&format!("{would}{} {uri} {doc_hash}", status.as_str()));
                Ok(Exit::Success)
            }
            Outcome::Refused(refusal) => {
                voice.warn(&match refusal {
                    Refusal::NotFound => format!("there is no document {uri}"),
                    Refusal::AlreadyExists => format!("there is a document {uri} already"),
                    Refusal::PreconditionFailed => format!(
                        "{uri} has other content than expected; read it again with `dpe show`"
                    ),
                });
                Ok(Exit::Partial)
            }
        }
    }
}

impl ConditionArgs {
    fn value(&self) -> Condition {
        match self {
            Self { force: true, .. } => Condition::Given(Precondition::Force),
            Self {
                if_absent: true, ..
            } => Condition::Given(Precondition::IfAbsent),
            Self {
                base: Some(base), ..
            } => Condition::Given(Precondition::Base(*base)),
            _ => Condition::Fresh,
        }
    }
}

/// Says what is wrong with a document, in the words of `dpe hash-object`.
fn rejected(voice: Voice, error: &CommitError) -> Result<Exit, Error> {
    if let CommitError::Invalid { violation } = error
        && voice.json
    {
        voice.result(&verdict(violation)).map_err(Error::Output)?;
    }
    voice.explain(error);
    Ok(Exit::Partial)
}

fn verdict(violation: &Violation) -> String {
    let mut json = Writer::new();
    json.begin_object().name("error").begin_object();
    json.name("code").string(violation.code.as_str());
    json.name("path").string(&violation.pointer);
    json.end_object();
    json.end_object();
    json.into_string()
}

/// Tells a program what became of the document.
fn line(uri: &FileUri, outcome: Outcome) -> String {
    let mut json = Writer::new();
    json.begin_object();
    match outcome {
        Outcome::Done {
            status,
            doc_hash,
            delta,
        } => {
            json.name("type").string("committed");
            json.name("file_uri").string(uri.as_str());
            json.name("status").string(status.as_str());
            json.name("doc_hash").string(&doc_hash.to_string());
            if let Some(delta) = delta {
                json.name("delta").begin_object();
                json.name("added").integer(delta.added);
                json.name("removed").integer(delta.removed);
                json.name("retained").integer(delta.retained);
                json.end_object();
            }
        }
        Outcome::Refused(refusal) => {
            json.name("type").string("refused");
            json.name("file_uri").string(uri.as_str());
            json.name("code").string(refusal.code());
        }
    }
    json.end_object();
    json.into_string()
}
