//! The command `dpe ls`.

use crate::error::Error;
use crate::json::Writer;
use crate::model::Hash;
use crate::ops::{list, remote};
use crate::server::OpenMode;

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
        list::list(&remote.client, &self.prefix, |uri, doc_hash| {
            let line = match (voice.json, self.long) {
                (true, _) => as_json(uri, doc_hash),
                (false, true) => format!("{doc_hash}  {uri}"),
                (false, false) => uri.to_owned(),
            };
            written = voice.result(&line);
            matches!(written, Ok(true))
        })
        .await?;
        written.map_err(Error::Output)?;
        Ok(Exit::Success)
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
