//! The command `dpe ls`.

use crate::error::Error;
use crate::json::Writer;
use crate::model::{FileUri, Hash};
use crate::ops::{list, remote};
use crate::server::OpenMode;
use crate::ui::printable;

use super::context::CommonArgs;
use super::exit::Exit;
use super::switch::switch;

/// List the documents of a remote
#[derive(Debug, clap::Args)]
pub(super) struct LsArgs {
    /// Only documents whose URI begins with PREFIX, taken literally
    #[arg(default_value = "")]
    prefix: String,

    /// Show the doc_hash of each document too
    #[arg(short, long, env = "DPE_LONG", value_parser = switch())]
    long: bool,
}

impl LsArgs {
    /// Runs the command.
    pub(super) async fn run(self, common: &CommonArgs) -> Result<Exit, Error> {
        let voice = common.voice();
        let remote = remote::open(&common.remote()?, OpenMode::ReadOnly).await?;
        let mut written = Ok(true);
        let mut is_empty = true;
        list::list(&remote.client, &self.prefix, |uri, doc_hash| {
            let line = match (voice.json, self.long) {
                (true, _) => as_json(uri, doc_hash),
                (false, true) => format!("{doc_hash}  {uri}"),
                (false, false) => uri.to_owned(),
            };
            is_empty = false;
            written = voice.result(&line);
            matches!(written, Ok(true))
        })
        .await?;
        written.map_err(Error::Output)?;
        if let Some(normal) = self.other_spelling().filter(|_| is_empty) {
            voice.say(&format!(
                "nothing begins with {}; URIs are normalised, try {normal}",
                printable(&self.prefix)
            ));
        }
        Ok(Exit::Success)
    }
}

impl LsArgs {
    /// Returns the prefix as URIs are written, if that is not how it was given.
    fn other_spelling(&self) -> Option<FileUri> {
        let normal = FileUri::parse(&self.prefix).ok()?;
        (normal.as_str() != self.prefix).then_some(normal)
    }
}

fn as_json(uri: &str, doc_hash: Hash) -> String {
    let mut json = Writer::new();
    json.begin_object();
    json.name("type").string("document");
    json.name("file_uri").string(uri);
    json.name("doc_hash").string(&doc_hash.to_string());
    json.end_object();
    json.into_string()
}
