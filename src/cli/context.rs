//! The flags that every command shares, turned into values once.

use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;

use crate::config::{Credential, Network, PlaceError, Places, Rate, Remote, RemoteLocation};
use crate::error::Error;
use crate::ui::{Color, Voice};

use super::switch::switch;

/// Flags common to all commands.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Common options")]
pub(super) struct CommonArgs {
    /// Run as if started in DIR
    #[arg(short = 'C', value_name = "DIR", global = true)]
    pub(super) directory: Option<PathBuf>,

    /// Remote to work on: a URL, or the directory of an embedded remote [default: that of the user]
    #[arg(
        long,
        env = "DPE_REMOTE",
        value_name = "URL|PATH",
        hide_env_values = true,
        global = true
    )]
    pub(super) remote: Option<String>,

    /// Where the state of pushes is kept [default: that of the user]
    #[arg(long, env = "DPE_STATE_DIR", value_name = "DIR", global = true)]
    pub(super) state_dir: Option<PathBuf>,

    /// Print results as JSON on stdout
    #[arg(long, env = "DPE_JSON", global = true, value_parser = switch())]
    pub(super) json: bool,

    /// Say nothing when all is well
    #[arg(short, long, env = "DPE_QUIET", global = true, value_parser = switch())]
    pub(super) quiet: bool,

    /// Say what happens to each document; twice, also how pages of errors began that were no answer of a remote
    #[arg(short, long, env = "DPE_VERBOSE", action = clap::ArgAction::Count, global = true)]
    pub(super) verbose: u8,

    /// Where colours are used: auto is on terminals, unless NO_COLOR is set
    #[arg(
        long,
        env = "DPE_COLOR",
        value_name = "auto|always|never",
        global = true,
        hide_possible_values = true
    )]
    pub(super) color: Option<ColorArg>,

    #[command(flatten)]
    network: NetworkArgs,
}

/// When colours are used.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum ColorArg {
    /// On terminals.
    Auto,
    /// In pipes and files too.
    Always,
    /// Nowhere.
    Never,
}

impl ColorArg {
    /// Returns the same for `ui`.
    fn color(self) -> Color {
        match self {
            Self::Auto => Color::Auto,
            Self::Always => Color::Always,
            Self::Never => Color::Never,
        }
    }
}

/// How a remote behind a URL is reached. Its credential comes from the environment alone:
/// command lines can be read by others.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Network options")]
struct NetworkArgs {
    /// Give up when nothing happens for so many seconds; 0 waits for ever [default: 30]
    #[arg(
        long,
        env = "DPE_TIMEOUT",
        value_name = "SECONDS",
        global = true,
        hide_short_help = true
    )]
    timeout: Option<u32>,

    /// Send at most RATE bytes a second, such as 500000, 512K or 1.5M
    #[arg(
        long,
        env = "DPE_LIMIT_UPLOAD",
        value_name = "RATE",
        global = true,
        hide_short_help = true
    )]
    limit_upload: Option<Rate>,

    /// Trust the certificate authorities in this PEM file too
    #[arg(
        long,
        env = "DPE_CACERT",
        value_name = "FILE",
        global = true,
        hide_short_help = true
    )]
    cacert: Option<PathBuf>,

    /// Show the remote the certificate in this PEM file, which also holds its key
    #[arg(
        long,
        env = "DPE_CLIENT_CERT",
        value_name = "FILE",
        global = true,
        hide_short_help = true
    )]
    client_cert: Option<PathBuf>,
}

impl CommonArgs {
    /// Returns how to speak.
    pub(super) fn voice(&self) -> Voice {
        Voice {
            json: self.json,
            quiet: self.quiet,
            verbose: self.verbose,
            color: self.color.map_or(Color::Auto, ColorArg::color),
        }
    }

    /// Returns the remote, and how to reach it.
    ///
    /// # Errors
    ///
    /// As [`CommonArgs::location`], or when the environment names two credentials.
    pub(super) fn remote(&self) -> Result<Remote, Error> {
        let location = self.location()?;
        // A store may turn out to be served, and is then reached over the network too.
        let credential = Credential::from_environment(|name| std::env::var_os(name))?;
        let network = self.network(credential);
        Ok(Remote { location, network })
    }

    /// Returns how a remote is reached over the network.
    pub(super) fn network(&self, credential: Option<Credential>) -> Network {
        let usual = Network::default();
        let seconds = |seconds| Duration::from_secs(u64::from(seconds));
        Network {
            timeout: match self.network.timeout {
                None => usual.timeout,
                Some(0) => None,
                Some(given) => Some(seconds(given)),
            },
            upload_limit: self.network.limit_upload,
            authorities: self.network.cacert.clone(),
            client_certificate: self.network.client_cert.clone(),
            credential,
        }
    }

    /// Returns where the remote is.
    ///
    /// # Errors
    ///
    /// When it is not given and the user has no home, or what is given is no location.
    pub(super) fn location(&self) -> Result<RemoteLocation, Error> {
        match &self.remote {
            Some(text) => Ok(RemoteLocation::parse(text)?),
            None => Ok(RemoteLocation::Store(Places::default_store()?)),
        }
    }

    /// Returns where state is kept.
    ///
    /// # Errors
    ///
    /// When it is not given and the user has no home.
    pub(super) fn state_dir(&self) -> Result<PathBuf, PlaceError> {
        match &self.state_dir {
            Some(path) => Ok(path.clone()),
            None => Places::default_state(),
        }
    }
}
