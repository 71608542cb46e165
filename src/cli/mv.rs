//! The command `dpe mv`.

use crate::error::Error;
use crate::json::Writer;
use crate::model::{FileUri, Hash};
use crate::ops::{remote, rename};
use crate::server::OpenMode;
use crate::sync::ports::Refusal;
use crate::ui::Voice;

use super::context::CommonArgs;
use super::document_uri::{base_hash, document_uri};
use super::exit::Exit;
use super::switch::switch;

/// Rename a document on a remote; what was learnt from it stays
#[derive(Debug, clap::Args)]
pub(super) struct MvArgs {
    /// The document
    #[arg(value_parser = document_uri)]
    from: FileUri,

    /// Its new URI, which must be free
    #[arg(value_parser = document_uri)]
    to: FileUri,

    /// Only if the document has this doc_hash [default: the one it has now]
    #[arg(long, env = "DPE_BASE", value_name = "HASH", value_parser = base_hash)]
    base: Option<Hash>,

    /// Show what would be done, and write nothing
    #[arg(short = 'n', long, env = "DPE_DRY_RUN", value_parser = switch())]
    dry_run: bool,
}

impl MvArgs {
    /// Runs the command.
    pub(super) async fn run(self, common: &CommonArgs) -> Result<Exit, Error> {
        let voice = common.voice();
        let Self {
            from,
            to,
            base,
            dry_run,
        } = self;
        let mode = if dry_run {
            OpenMode::ReadOnly
        } else {
            OpenMode::MustExist
        };
        let remote = remote::open(&common.remote()?, mode).await?;
        let refusal = match rename::rename(&remote.client, &from, &to, base, dry_run).await? {
            rename::Renamed::Moved(doc_hash) => {
                let verb = if dry_run { "would move" } else { "moved" };
                voice.say(&format!("{verb} {from} -> {to}"));
                answer(voice, "moved", &from, &to, Some(doc_hash))?;
                return Ok(Exit::Success);
            }
            rename::Renamed::Refused(refusal) => refusal,
        };
        answer(voice, "refused", &from, &to, None)?;
        voice.warn(&match refusal {
            Refusal::NotFound => format!("there is no document {from}"),
            Refusal::AlreadyExists => format!("there is a document {to} already"),
            Refusal::PreconditionFailed => {
                format!("{from} has other content than expected; read it again with `dpe show`")
            }
        });
        Ok(Exit::Partial)
    }
}

/// Tells a program what became of the document.
fn answer(
    voice: Voice,
    what: &str,
    from: &FileUri,
    to: &FileUri,
    doc_hash: Option<Hash>,
) -> Result<(), Error> {
    if !voice.json {
        return Ok(());
    }
    let mut json = Writer::new();
    json.begin_object();
    json.name("type").string(what);
    json.name("from_uri").string(from.as_str());
    json.name("to_uri").string(to.as_str());
    if let Some(doc_hash) = doc_hash {
        json.name("doc_hash").string(&doc_hash.to_string());
    }
    json.end_object();
    voice.result(&json.into_string()).map_err(Error::Output)?;
    Ok(())
}
