//! The command `dpe show`.

use crate::error::Error;
use crate::model::FileUri;
use crate::ops::{remote, show};
use crate::server::OpenMode;
use crate::ui::document;

use super::context::CommonArgs;
use super::document_uri::document_uri;
use super::exit::Exit;

/// Show one document: its pages, and its elements where the remote is embedded
#[derive(Debug, clap::Args)]
pub(super) struct ShowArgs {
    /// The document
    #[arg(value_parser = document_uri)]
    uri: FileUri,
}

impl ShowArgs {
    /// Runs the command.
    pub(super) async fn run(self, common: &CommonArgs) -> Result<Exit, Error> {
        let voice = common.voice();
        let remote = remote::open(&common.remote()?, OpenMode::ReadOnly).await?;
        let Some(shown) = show::show(&remote, &self.uri).await? else {
            voice.warn(&format!("there is no document {}", self.uri));
            return Ok(Exit::Partial);
        };
        let text = if voice.json {
            document::to_json(&self.uri, &shown)
        } else {
            document::to_text(&self.uri, &shown)
        };
        voice.result(&text).map_err(Error::Output)?;
        Ok(Exit::Success)
    }
}
