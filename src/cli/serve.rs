//! The command `dpe serve`.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use clap::{Arg, ArgAction, ArgMatches, Command, FromArgMatches};
use futures_util::FutureExt;

use crate::error::Error;
use crate::ops::serve::{self, Access, Limits, OnIncident, Serve, ServeError};

use super::context::CommonArgs;
use super::exit::Exit;
use super::signal;
use super::switch::switch;

/// Serve the embedded remote over HTTP
///
/// Prints one JSON line on standard output when it is ready, `{"url":…}` (with `"hooks":…` if there
/// is a side channel), and nothing after it.
/// Ends on SIGTERM or SIGINT when requests in flight are answered.
#[derive(Debug, clap::Args)]
pub(super) struct ServeArgs {
    /// Address to listen on; port 0 picks a free one
    #[arg(
        long,
        env = "DPE_LISTEN",
        value_name = "ADDR",
        default_value = "127.0.0.1:7373"
    )]
    listen: String,

    // `DPE_PREFIX` is a URI prefix, of `dpe push`.
    /// Path under which the remote lives, such as `/r/1`
    #[arg(
        long,
        env = "DPE_SERVE_PREFIX",
        value_name = "PATH",
        default_value = ""
    )]
    prefix: String,

    /// URL of the remote as its callers see it [default: the one listened on]
    #[arg(long, env = "DPE_PUBLIC_URL", value_name = "URL")]
    public_url: Option<String>,

    /// Directory of the store; created if missing [default: that of the user]
    #[arg(long, env = "DPE_STORE", value_name = "DIR")]
    store: Option<PathBuf>,

    /// Hash contract to declare; repeatable [default: dpe1]
    #[arg(long, env = "DPE_CONTRACT", value_name = "NAME")]
    contract: Vec<String>,

    /// Refuse requests without an Authorization header, and with any grant those whose value no
    /// grant names
    #[arg(long, env = "DPE_REQUIRE_AUTH", value_parser = switch())]
    require_auth: bool,

    #[command(flatten)]
    grants: GrantArgs,

    /// Let the caller with this Authorization value overwrite without a condition; repeatable
    #[arg(
        long,
        env = "DPE_FORCE_GRANT",
        value_name = "AUTH",
        hide_env_values = true
    )]
    force_grant: Vec<String>,

    /// Grant what this TOML file says, too; it names where credentials are and holds none
    #[arg(long, env = "DPE_AUTH_FILE", value_name = "FILE")]
    auth_file: Option<PathBuf>,

    /// Offer the conformance side channel below this path, beside the prefix; only on a loopback
    /// address, since it asks nobody for a credential
    #[arg(long, env = "DPE_HOOKS", value_name = "PATH")]
    hooks: Option<String>,

    #[command(flatten)]
    limits: LimitArgs,
}

/// Limits to announce and to keep.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Limits")]
struct LimitArgs {
    /// Longest request body in bytes
    #[arg(long, env = "DPE_MAX_PAYLOAD_BYTES", value_name = "N", value_parser = positive(),
          default_value_t = Limits::default().max_payload_bytes)]
    max_payload_bytes: u64,

    /// Longest page object in bytes
    #[arg(long, env = "DPE_PAGE_MAX_BYTES", value_name = "N", value_parser = positive(),
          default_value_t = Limits::default().page_max_bytes)]
    page_max_bytes: u64,

    /// Lifetime of an idle staging session, at least 3600
    #[arg(long, env = "DPE_STAGING_TTL_SECONDS", value_name = "N", value_parser = positive().range(3600..),
          default_value_t = Limits::default().staging_ttl_seconds)]
    staging_ttl_seconds: u64,

    /// Longest blob in bytes
    #[arg(long, env = "DPE_BLOB_MAX_BYTES", value_name = "N", value_parser = positive(),
          default_value_t = Limits::default().blob_max_bytes)]
    blob_max_bytes: u64,

    /// Longest chunk of a page or blob in bytes
    #[arg(long, env = "DPE_BLOB_CHUNK_BYTES", value_name = "N", value_parser = positive(),
          default_value_t = Limits::default().blob_chunk_bytes)]
    blob_chunk_bytes: u64,

    /// Most URIs in one batch_head
    #[arg(long, env = "DPE_BATCH_HEAD_MAX", value_name = "N", value_parser = positive(),
          default_value_t = Limits::default().batch_head_max)]
    batch_head_max: u64,

    /// Most documents in one reply of list
    #[arg(long, env = "DPE_LIST_PAGE_MAX", value_name = "N", value_parser = positive(),
          default_value_t = Limits::default().list_page_max)]
    list_page_max: u64,
}

/// A limit that can be said in JSON: within 1 and 2^53 - 1.
fn positive() -> clap::builder::RangedU64ValueParser {
    clap::value_parser!(u64).range(1..=9_007_199_254_740_991)
}

/// `--grant AUTH PREFIX…` and `--read-grant AUTH PREFIX…`; which values belong together is more
/// than a list of them can say.
#[derive(Debug)]
struct GrantArgs {
    write: Vec<Vec<String>>,
    read: Vec<Vec<String>>,
}

impl clap::Args for GrantArgs {
    fn augment_args(command: Command) -> Command {
        let grant = |name| {
            Arg::new(name)
                .long(name)
                .value_names(["AUTH", "PREFIX"])
                .num_args(2..)
                .action(ArgAction::Append)
        };
        command
            .arg(grant("grant").help(
                "Let the caller with this Authorization value write documents below these \
                 prefixes of normalised URIs, `*` for all, and nobody else; repeatable",
            ))
            .arg(grant("read-grant").help(
                "Let the caller with this Authorization value read documents below these \
                 prefixes, `*` for all. Others then read only what they may write, and writing \
                 needs a grant; repeatable",
            ))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for GrantArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let grants = |name| {
            let occurrences = matches.get_occurrences::<String>(name);
            let grants = occurrences.into_iter().flatten();
            grants.map(|values| values.cloned().collect()).collect()
        };
        Ok(Self {
            write: grants("grant"),
            read: grants("read-grant"),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl ServeArgs {
    /// Runs the command until a signal ends it.
    pub(super) async fn run(self, common: &CommonArgs) -> Result<Exit, Error> {
        let voice = common.voice();
        let store = match &self.store {
            Some(store) => store.clone(),
            None => common.location()?.into_store()?,
        };
        let signal = signal::caught().map_err(ServeError::Signals)?;
        let ready = |line: &str| {
            voice.say(&format!("serving {}", store.display()));
            match voice.result(line) {
                // Closed from the beginning: nobody waits for the line.
                Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(()),
                written => written.map(drop),
            }
        };
        let log: OnIncident = Arc::new(move |line| voice.warn(line));
        let plan = self.plan(store.clone())?;
        serve::serve(plan, signal.map(drop), ready, log).await?;
        voice.say("ended as asked");
        Ok(Exit::Success)
    }

    fn plan(self, store: PathBuf) -> Result<Serve, ServeError> {
        let mut access = Access::default();
        if self.require_auth {
            access.require_authentication();
        }
        for (authorization, prefixes) in split(self.grants.write) {
            access.grant(&authorization, prefixes)?;
        }
        for (authorization, prefixes) in split(self.grants.read) {
            access.grant_read(&authorization, prefixes)?;
        }
        for authorization in &self.force_grant {
            access.grant_force(authorization)?;
        }
        if let Some(path) = &self.auth_file {
            let variable = |name: &str| std::env::var(name).ok();
            serve::add_from_file(&mut access, path, variable)?;
        }
        Ok(Serve {
            store,
            listen: self.listen,
            prefix: self.prefix,
            public_url: self.public_url,
            contracts: self.contract,
            limits: self.limits.into(),
            access,
            hooks: self.hooks,
        })
    }
}

/// Tells the credential of each grant from its prefixes.
fn split(grants: Vec<Vec<String>>) -> impl Iterator<Item = (String, Vec<String>)> {
    grants.into_iter().map(|mut values| {
        let prefixes = values.split_off(1);
        (values.swap_remove(0), prefixes)
    })
}

impl From<LimitArgs> for Limits {
    fn from(args: LimitArgs) -> Self {
        Self {
            max_payload_bytes: args.max_payload_bytes,
            page_max_bytes: args.page_max_bytes,
            staging_ttl_seconds: args.staging_ttl_seconds,
            blob_max_bytes: args.blob_max_bytes,
            blob_chunk_bytes: args.blob_chunk_bytes,
            batch_head_max: args.batch_head_max,
            list_page_max: args.list_page_max,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::{Args, FromArgMatches};

    use super::ServeArgs;
    use crate::ops::serve::{Limits, Serve};

    fn plan(arguments: &[&str]) -> Result<Serve, clap::Error> {
        let command = ServeArgs::augment_args(clap::Command::new("serve"));
        let matches = command.try_get_matches_from([&["serve"], arguments].concat())?;
        let args = ServeArgs::from_arg_matches(&matches)?;
        Ok(args.plan("/store".into()).unwrap())
    }

    #[test]
    fn defaults_are_those_of_the_binding() {
        let plan = plan(&[]).unwrap();
        assert_eq!(plan.listen, "127.0.0.1:7373");
        assert_eq!(plan.limits, Limits::default());
        assert!(plan.contracts.is_empty() && plan.prefix.is_empty());
    }

    #[test]
    fn values_of_repeated_grants_stay_together() {
        let arguments = [
            "--grant",
            "Bearer a",
            "x://a/",
            "x://b/",
            "--grant",
            "Bearer b",
            "*",
            "--read-grant",
            "Bearer c",
            "x://c/",
            "x://d/",
            "--force-grant",
            "Bearer b",
            "--contract",
            "dpe1",
            "--contract",
            "dpex",
        ];
        let plan = plan(&arguments).unwrap();
        assert_eq!(plan.contracts, ["dpe1", "dpex"]);
        let mut expected = crate::ops::serve::Access::default();
        let prefixes = ["x://a/", "x://b/"].map(str::to_owned);
        expected.grant("Bearer a", prefixes).unwrap();
        expected.grant("Bearer b", ["*".to_owned()]).unwrap();
        let prefixes = ["x://c/", "x://d/"].map(str::to_owned);
        expected.grant_read("Bearer c", prefixes).unwrap();
        expected.grant_force("Bearer b").unwrap();
        assert_eq!(format!("{:?}", plan.access), format!("{expected:?}"));
    }

    #[test]
    fn limits_that_no_client_accepts_are_refused() {
        for (flag, value) in [
            ("--max-payload-bytes", "0"),
            ("--staging-ttl-seconds", "3599"),
            ("--list-page-max", "9007199254740992"),
            ("--batch-head-max", "-1"),
            ("--grant", "Bearer a"),
            ("--read-grant", "Bearer a"),
        ] {
            assert!(plan(&[flag, value]).is_err(), "{flag} {value}");
        }
        let plan = plan(&["--staging-ttl-seconds", "3600", "--list-page-max", "1"]).unwrap();
        assert_eq!(
            (plan.limits.staging_ttl_seconds, plan.limits.list_page_max),
            (3600, 1)
        );
    }
}
