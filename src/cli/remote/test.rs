//! The command `dpe remote test`.

use crate::cli::context::CommonArgs;
use crate::cli::document_uri::document_uri;
use crate::cli::exit::Exit;
use crate::error::Error;
use crate::json::Writer;
use crate::model::FileUri;
use crate::ops::probe::{Access, Probed, probe};
use crate::ops::remote;
use crate::server::OpenMode;

/// Beyond so many seconds a clock is wrong.
const CLOCK_TOLERANCE: i64 = 5;

/// Try a remote out: what it can do, what it lets you do, how far away it is
///
/// Nothing is written. Whether documents may be written below a prefix is found out by a request that
/// cannot succeed, because its condition does not hold. Exits with 1 if something is not allowed.
#[derive(Debug, clap::Args)]
pub(super) struct TestArgs {
    /// Its name, its URL, or its directory [default: the usual remote]
    #[arg(value_name = "NAME|URL|PATH")]
    remote: Option<String>,

    /// Find out what is allowed below this prefix
    #[arg(long, env = "DPE_PREFIX", value_name = "URI", value_parser = document_uri)]
    prefix: Option<FileUri>,
}

impl TestArgs {
    /// Runs the command.
    pub(super) async fn run(self, common: &CommonArgs) -> Result<Exit, Error> {
        let layers = common.layers()?;
        let named = match &self.remote {
            Some(text) => layers.named(text)?,
            None => layers.remote(None)?,
        };
        let opened = remote::open(&named.remote, OpenMode::ReadOnly).await?;
        // Who may open an embedded remote may write to it; nobody else is asked.
        let prefix = self.prefix.as_ref().filter(|_| opened.store.is_none());
        let mut probed = probe(&opened.client, prefix).await?;
        if opened.store.is_some() {
            let writable = remote::open(&named.remote, OpenMode::Create).await;
            probed.write = Some(match writable {
                Ok(_) => Access::Allowed,
                Err(error) => Access::Denied(error.to_string()),
            });
        }
        let capabilities = opened.client.capabilities();
        let contracts = capabilities.hash_contracts.join(", ");
        let voice = common.voice();
        if voice.json {
            let line = to_json(&named.remote.location.describe(), &contracts, &probed);
            voice.result(&line).map_err(Error::Output)?;
        } else {
            for line in self.lines(&named.remote.location.describe(), &contracts, &probed) {
                voice.result(&line).map_err(Error::Output)?;
            }
        }
        let is_allowed = |access: &Access| *access == Access::Allowed;
        Ok(
            if is_allowed(&probed.read) && probed.write.as_ref().is_none_or(is_allowed) {
                Exit::Success
            } else {
                Exit::Partial
            },
        )
    }

    fn lines(&self, place: &str, contracts: &str, probed: &Probed) -> Vec<String> {
        let prefix = self.prefix.as_ref().map_or("", FileUri::as_str);
        let mut lines = vec![
            format!("remote     {place}"),
            format!("contracts  {contracts}"),
            format!("reading    {}", said(&probed.read)),
        ];
        lines.push(match &probed.write {
            Some(access) if prefix.is_empty() => format!("writing    {}", said(access)),
            Some(access) => format!("writing    {} below {prefix}", said(access)),
            None => "writing    not tried; give --prefix URI to find out".to_owned(),
        });
        lines.push(format!(
            "latency    {:.1} ms",
            probed.latency.as_secs_f64() * 1e3
        ));
        lines.push(match probed.clock_ahead {
            None => "clock      not told".to_owned(),
            Some(ahead) if ahead.abs() <= CLOCK_TOLERANCE => "clock      as ours".to_owned(),
            Some(ahead) if ahead > 0 => format!("clock      {ahead} s ahead of ours"),
            Some(ahead) => format!("clock      {} s behind ours", -ahead),
        });
        lines
    }
}

fn said(access: &Access) -> String {
    match access {
        Access::Allowed => "allowed".to_owned(),
        Access::Denied(why) => format!("denied ({why})"),
        Access::Unknown(why) => format!("not known ({why})"),
    }
}

fn to_json(place: &str, contracts: &str, probed: &Probed) -> String {
    let word = |access: &Access| match access {
        Access::Allowed => "allowed",
        Access::Denied(_) => "denied",
        Access::Unknown(_) => "unknown",
    };
    let mut json = Writer::new();
    json.begin_object();
    json.name("type").string("remote_test");
    json.name("location").string(place);
    json.name("contracts").string(contracts);
    json.name("read").string(word(&probed.read));
    match &probed.write {
        Some(access) => json.name("write").string(word(access)),
        None => json.name("write").null(),
    };
    let micros = i64::try_from(probed.latency.as_micros()).unwrap_or(i64::MAX);
    json.name("latency_us").integer(micros);
    match probed.clock_ahead {
        Some(ahead) => json.name("clock_ahead_s").integer(ahead),
        None => json.name("clock_ahead_s").null(),
    };
    json.end_object();
    json.into_string()
}
