//! The flags that every command shares, turned into values once.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use clap::ValueEnum;

use crate::config::{
    Credential, Layers, Network, Origin, PlaceError, Places, Rate, Remote, RemoteLocation,
    SETTINGS, Setting,
};
use crate::error::Error;
use crate::ops::config;
use crate::ui::{Color, LogFile, LogFormat, Progress, Voice};

use super::switch::switch;

/// Flags common to all commands.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Common options")]
pub(super) struct CommonArgs {
    /// Run as if started in DIR
    #[arg(short = 'C', value_name = "DIR", global = true)]
    pub(super) directory: Option<PathBuf>,

    /// Configuration file of the project [default: the dpe.toml here or above]
    #[arg(long, env = "DPE_CONFIG", value_name = "FILE", global = true)]
    pub(super) config: Option<OsString>,

    /// Remote to work on: a name, a URL, or the directory of an embedded remote
    #[arg(
        long,
        env = "DPE_REMOTE",
        value_name = "NAME|URL|PATH",
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

    /// How progress is shown: auto paints a line on terminals, plain writes one every 30 seconds and when
    /// all is scanned
    #[arg(
        long,
        env = "DPE_PROGRESS",
        value_name = "auto|plain|none",
        global = true,
        hide_possible_values = true
    )]
    pub(super) progress: Option<ProgressArg>,

    #[command(flatten)]
    log: LogArgs,

    #[command(flatten)]
    network: NetworkArgs,

    /// What was read from configuration files.
    #[arg(skip)]
    layers: OnceLock<Arc<Layers>>,
}

/// How progress is shown.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum ProgressArg {
    /// A line that is painted over, on terminals.
    Auto,
    /// Lines that stay.
    Plain,
    /// Not at all.
    None,
}

impl ProgressArg {
    /// Returns the same for `ui`.
    fn progress(self) -> Progress {
        match self {
            Self::Auto => Progress::Auto,
            Self::Plain => Progress::Plain,
            Self::None => Progress::None,
        }
    }
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

/// What a push or a look is kept in, besides what stderr shows.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Log options")]
struct LogArgs {
    /// Append what push and status say to FILE too, -q or not
    #[arg(
        long,
        env = "DPE_LOG_FILE",
        value_name = "FILE",
        global = true,
        hide_short_help = true
    )]
    log_file: Option<PathBuf>,

    /// text has the lines of stderr with their time, json one object for each event of a round [default: text]
    #[arg(
        long,
        env = "DPE_LOG_FORMAT",
        value_name = "text|json",
        global = true,
        hide_short_help = true,
        hide_possible_values = true
    )]
    log_format: Option<LogFormatArg>,

    /// Turn the log over before it gets longer than so many MiB [default: 10]
    #[arg(
        long,
        env = "DPE_LOG_MAX_SIZE",
        value_name = "MIB",
        global = true,
        hide_short_help = true
    )]
    log_max_size: Option<NonZeroU32>,

    /// Keep so many logs that were turned over, as FILE.1 and so on [default: 5]
    #[arg(
        long,
        env = "DPE_LOG_KEEP",
        value_name = "N",
        global = true,
        hide_short_help = true
    )]
    log_keep: Option<u16>,
}

/// How the lines of a log look.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum LogFormatArg {
    Text,
    Json,
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
    /// Opens the log, where one is wanted, and keeps in it what is said from now on.
    ///
    /// # Errors
    ///
    /// When it cannot be appended to.
    pub(super) fn keep_log(&self) -> Result<(), Error> {
        let Some(path) = &self.log.log_file else {
            return Ok(());
        };
        let max_bytes = u64::from(self.log.log_max_size.map_or(10, NonZeroU32::get)) << 20;
        let kept = u32::from(self.log.log_keep.unwrap_or(5));
        let file = LogFile::open(path, max_bytes, kept).map_err(|source| Error::Log {
            path: path.clone(),
            source,
        })?;
        let format = match self.log.log_format {
            Some(LogFormatArg::Json) => LogFormat::Json,
            Some(LogFormatArg::Text) | None => LogFormat::Text,
        };
        self.voice().keep_in(file, format);
        Ok(())
    }

    /// Returns how to speak.
    pub(super) fn voice(&self) -> Voice {
        Voice {
            json: self.json,
            quiet: self.quiet,
            verbose: self.verbose,
            progress: self.progress.map_or(Progress::Auto, ProgressArg::progress),
            color: self.color.map_or(Color::Auto, ColorArg::color),
        }
    }

    /// Returns what flags, variables and configuration files say; the files are read once.
    ///
    /// # Errors
    ///
    /// When a file cannot be used, or the environment names two credentials.
    pub(super) fn layers(&self) -> Result<Arc<Layers>, Error> {
        if let Some(layers) = self.layers.get() {
            return Ok(Arc::clone(layers));
        }
        let here = self.here()?;
        let layers = Arc::new(Layers {
            given: self.given(),
            files: config::load(&here, self.config.as_ref().map(Path::new))?,
            credential: Credential::from_environment(|name| std::env::var_os(name))?,
        });
        for warning in config::warnings(&layers) {
            self.voice().warn(&warning);
        }
        Ok(Arc::clone(self.layers.get_or_init(|| layers)))
    }

    /// Returns the directory that the command works in.
    ///
    /// # Errors
    ///
    /// When it is gone.
    pub(super) fn here(&self) -> Result<PathBuf, Error> {
        std::env::current_dir().map_err(|source| Error::Directory {
            path: ".".into(),
            source,
        })
    }

    /// Returns what flags and variables say. Which of the two it was is seen by the value.
    fn given(&self) -> BTreeMap<&'static str, (String, Origin)> {
        let text = |path: &Option<PathBuf>| Some(path.as_ref()?.to_string_lossy().into_owned());
        let network = &self.network;
        let given = [
            ("remote", self.remote.clone()),
            ("state_dir", text(&self.state_dir)),
            (
                "timeout",
                network.timeout.map(|seconds| seconds.to_string()),
            ),
            (
                "limit_upload",
                network.limit_upload.map(|rate| rate.0.to_string()),
            ),
            ("cacert", text(&network.cacert)),
            ("client_cert", text(&network.client_cert)),
        ];
        let given = given.into_iter().filter_map(|(key, value)| {
            let value = value.filter(|value| !value.is_empty())?;
            let setting = SETTINGS.iter().find(|setting| setting.key == key)?;
            Some((key, (value, self.origin(setting))))
        });
        given.collect()
    }

    /// Returns whether a flag or its variable said something.
    fn origin(&self, setting: &Setting) -> Origin {
        let is_flag = |argument: OsString| {
            let argument = argument.to_string_lossy();
            let rest = argument.strip_prefix(setting.flag);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
        };
        if std::env::args_os().any(is_flag) {
            Origin::Flag(setting.flag)
        } else {
            Origin::Variable(setting.variable)
        }
    }

    /// Returns the remote, and how to reach it.
    ///
    /// # Errors
    ///
    /// When the configuration is of no use, or nobody knows which remote is meant.
    pub(super) fn remote(&self) -> Result<Remote, Error> {
        Ok(self.layers()?.remote(None)?.remote)
    }

    /// Returns how a remote is reached over the network, by the flags of this call alone.
    pub(super) fn network(&self, credential: Option<Credential>) -> Network {
        let given = self.given();
        let layers = Layers {
            given,
            ..Layers::default()
        };
        layers.network(None, credential)
    }

    /// Returns where the remote is.
    ///
    /// # Errors
    ///
    /// As [`Self::remote`].
    pub(super) fn location(&self) -> Result<RemoteLocation, Error> {
        Ok(self.remote()?.location)
    }

    /// Returns where state is kept.
    ///
    /// # Errors
    ///
    /// When the configuration is of no use, or nobody says and the user has no home.
    pub(super) fn state_dir(&self) -> Result<PathBuf, Error> {
        Ok(self.layers()?.state_dir()?)
    }

    /// Returns where state is kept by the flags of this call alone.
    ///
    /// # Errors
    ///
    /// When they do not say, and the user has no home.
    pub(super) fn state_dir_of_flags(&self) -> Result<PathBuf, PlaceError> {
        match &self.state_dir {
            Some(path) => Ok(path.clone()),
            None => Places::default_state(),
        }
    }
}
