//! The command `dpe rm`.

use crate::error::Error;
use crate::json::Writer;
use crate::model::{FileUri, Hash};
use crate::ops::remote::RemoteClient;
use crate::ops::remove::{Removed, remove};
use crate::ops::{list, remote};
use crate::server::OpenMode;
use crate::ui::Voice;

use super::context::CommonArgs;
use super::document_uri::{base_hash, document_uri};
use super::exit::Exit;
use super::question::{Answer, ask, somebody_is_there};
use super::switch::switch;

/// So many of the documents in question are shown with it.
const SHOWN: usize = 10;

/// Delete documents from a remote
///
/// A document that is not there counts as deleted. The source is not touched: what it still has
/// comes back when it changes.
#[derive(Debug, clap::Args)]
pub(super) struct RmArgs {
    /// The documents, or with -r what their URIs begin with
    #[arg(required = true, value_name = "URI")]
    uris: Vec<String>,

    /// Delete every document whose URI begins with one of URI
    #[arg(short, long, env = "DPE_RECURSIVE", value_parser = switch())]
    recursive: bool,

    /// Do not ask before deleting recursively
    #[arg(short, long, env = "DPE_YES", value_parser = switch())]
    yes: bool,

    /// Only if the document has this doc_hash [default: the one it has now]
    #[arg(long, env = "DPE_BASE", value_name = "HASH", value_parser = base_hash, conflicts_with = "recursive")]
    base: Option<Hash>,

    /// Show what would be done, and write nothing
    #[arg(short = 'n', long, env = "DPE_DRY_RUN", value_parser = switch())]
    dry_run: bool,
}

impl RmArgs {
    /// Runs the command.
    pub(super) async fn run(self, common: &CommonArgs) -> Result<Exit, Error> {
        let voice = common.voice();
        if self.recursive && self.uris.iter().any(String::is_empty) {
            // Most likely a variable of a script that is not set.
            return Err(Error::usage(
                "an empty prefix is everything",
                "name what to delete, as in `dpe://`",
            ));
        }
        let named = self.named()?;
        let mode = if self.dry_run {
            OpenMode::ReadOnly
        } else {
            OpenMode::MustExist
        };
        let remote = remote::open(&common.remote()?, mode).await?;
        let uris = if self.recursive {
            let below = self.below(&remote.client).await?;
            match self.confirmed(voice, &below) {
                Answer::Yes => below,
                Answer::No => return Ok(Exit::Partial),
                Answer::NobodyToAsk => return Err(unconfirmed(below.len())),
            }
        } else {
            named
        };
        let mut exit = Exit::Success;
        let mut deleted = 0;
        for uri in &uris {
            let removed = remove(&remote.client, uri, self.base, self.dry_run).await?;
            self.tell(removed, uri, voice)?;
            exit = exit.max(Exit::of_removed(removed));
            deleted += usize::from(removed == Removed::Deleted);
        }
        if self.recursive {
            voice.say(&self.verdict(deleted, uris.len()));
        }
        Ok(exit)
    }

    /// Returns the closing line of a recursive call.
    fn verdict(&self, deleted: usize, found: usize) -> String {
        match (found, self.dry_run) {
            (0, _) => "there is nothing to delete".to_owned(),
            (_, true) => format!("would delete {}", documents(deleted)),
            (_, false) if deleted < found => format!("deleted {deleted} of {}", documents(found)),
            (_, false) => format!("deleted {}", documents(deleted)),
        }
    }

    /// Returns the documents that were named one by one.
    fn named(&self) -> Result<Vec<FileUri>, Error> {
        if self.recursive {
            return Ok(Vec::new());
        }
        let uris = self.uris.iter().map(|uri| document_uri(uri));
        let uris: Result<_, _> = uris.collect();
        uris.map_err(|invalid| {
            Error::usage(
                invalid,
                "see `dpe ls`; with -r, what begins with it is deleted",
            )
        })
    }

    /// Asks whether these documents are to be deleted, where that is to be asked.
    fn confirmed(&self, voice: Voice, uris: &[FileUri]) -> Answer {
        if self.dry_run || self.yes {
            Answer::Yes
        } else {
            confirmed(voice, uris)
        }
    }

    /// Returns the documents below the given prefixes, each once.
    async fn below(&self, client: &RemoteClient) -> Result<Vec<FileUri>, Error> {
        let mut uris = Vec::new();
        for prefix in &self.uris {
            list::list(client, prefix, |uri, _| {
                uris.extend(FileUri::parse(uri));
                true
            })
            .await?;
        }
        uris.sort();
        uris.dedup();
        Ok(uris)
    }

    fn tell(&self, removed: Removed, uri: &FileUri, voice: Voice) -> Result<(), Error> {
        let what = match removed {
            Removed::Deleted => "deleted",
            Removed::Absent => "absent",
            Removed::Folder => "folder",
            Removed::Refused => "refused",
        };
        if voice.json {
            let line = as_json(what, uri);
            voice.result(&line).map_err(Error::Output)?;
        }
        match removed {
            Removed::Deleted if self.dry_run => voice.say(&format!("would delete {uri}")),
            Removed::Deleted => voice.say(&format!("deleted {uri}")),
            Removed::Absent => voice.say(&format!("{uri} is not there")),
            Removed::Folder => voice.warn(&format!(
                "{uri} is no document, but there are documents below it; `dpe rm -r` deletes them"
            )),
            Removed::Refused => voice.warn(&format!(
                "{uri} has other content than expected; read it again with `dpe show`"
            )),
        }
        Ok(())
    }
}

fn as_json(what: &str, uri: &FileUri) -> String {
    let mut json = Writer::new();
    json.begin_object();
    json.name("type").string(what);
    json.name("file_uri").string(uri.as_str());
    json.end_object();
    json.into_string()
}

fn confirmed(voice: Voice, uris: &[FileUri]) -> Answer {
    if uris.is_empty() {
        return Answer::Yes;
    }
    if !somebody_is_there() {
        return Answer::NobodyToAsk;
    }
    for uri in uris.iter().take(SHOWN) {
        voice.warn(uri.as_str());
    }
    if let Some(more @ 1..) = uris.len().checked_sub(SHOWN) {
        voice.warn(&format!("… and {more} more"));
    }
    ask(voice, &format!("Delete {}?", documents(uris.len())))
}

fn unconfirmed(count: usize) -> Error {
    Error::usage(
        format!(
            "{} would be deleted, and there is no terminal to ask on",
            documents(count)
        ),
        "give --yes to delete them",
    )
}

fn documents(count: usize) -> String {
    match count {
        1 => "1 document".to_owned(),
        count => format!("{count} documents"),
    }
}
