//! Why a connector cannot be examined.

use std::io;
use std::path::PathBuf;

use miette::Diagnostic;
use thiserror::Error;

use crate::host::ConfigViolation;
use crate::model::InvalidUri;

/// What is needed for an examination and is not there.
#[derive(Debug, Error, Diagnostic)]
pub enum ConnectorError {
    /// There is no such program, or it cannot be executed.
    #[error("cannot start {}", program.display())]
    #[diagnostic(code(dpe::connector::start), help("{}", start_help(source)))]
    Start {
        /// The program.
        program: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// No connector of this name is bundled.
    #[error("no connector named {name} is bundled")]
    #[diagnostic(
        code(dpe::connector::unknown),
        help(
            "`dpe connector list` shows which there are; others are checked by `--manifest FILE`, and their command behind `--`"
        )
    )]
    Unknown {
        /// The name.
        name: String,
    },
    /// No connector of this name is bundled, so that there is no manifest to print.
    #[error("no connector named {name} is bundled")]
    #[diagnostic(
        code(dpe::connector::unknown),
        help(
            "`dpe connector list` shows which are, and where the manifests of others are; those are files to be read"
        )
    )]
    NoManifest {
        /// The name.
        name: String,
    },
    /// A file or directory that was named cannot be read.
    #[error("cannot read {}", path.display())]
    #[diagnostic(code(dpe::connector::read), help("check the path and its permissions"))]
    Read {
        /// Its path.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Several directories that were named cannot be read.
    #[error("cannot read {directories}")]
    #[diagnostic(
        code(dpe::connector::read),
        help("check the paths and their permissions")
    )]
    ReadSeveral {
        /// Their paths, and what the system said.
        directories: String,
    },
    /// A configuration that is none.
    #[error("the configuration is no JSON object the contract allows: {why}")]
    #[diagnostic(
        code(dpe::connector::config),
        help("give an object of strict JSON, or `@` and the file it is in")
    )]
    Config {
        /// What is wrong.
        why: String,
    },
    /// A configuration that the schema of the manifest forbids.
    #[error("{violation}")]
    #[diagnostic(
        code(dpe::connector::config_schema),
        help("give a configuration with --config that the config_schema of the manifest allows")
    )]
    ConfigSchema {
        /// What is wrong.
        violation: ConfigViolation,
    },
    /// A prefix that is none.
    #[error("{prefix} is no URI prefix")]
    #[diagnostic(
        code(dpe::connector::prefix),
        help("give a URI in its normal form, such as wiki://eng/")
    )]
    Prefix {
        /// The prefix.
        prefix: String,
        /// Why; nothing if it is a URI, but not in its normal form.
        #[source]
        source: Option<InvalidUri>,
    },
    /// A connector that cannot read its source, so that there is nothing to examine it by.
    #[error("the connector cannot read its source: {why}")]
    #[diagnostic(
        code(dpe::connector::source),
        help("give a configuration with --config whose source is there and can be read")
    )]
    Source {
        /// What the connector said.
        why: String,
    },
    /// A secret that cannot be had.
    #[error("the secret {name} cannot be had: {why}")]
    #[diagnostic(
        code(dpe::connector::secret),
        help(
            "say with --secret NAME=env:VARIABLE or NAME=file:PATH where each required secret of the manifest is"
        )
    )]
    Secret {
        /// Its name.
        name: String,
        /// Why.
        why: String,
    },
    /// A secret the manifest does not have.
    #[error("the manifest declares no secret {name}")]
    #[diagnostic(
        code(dpe::connector::undeclared_secret),
        help("declare it under `secrets` in the manifest")
    )]
    UndeclaredSecret {
        /// Its name.
        name: String,
    },
    /// This program itself cannot be found, which the bundled connectors are part of.
    #[error("cannot find this program")]
    #[diagnostic(code(dpe::connector::executable), help("start dpe by its path"))]
    Executable(#[source] io::Error),
}

/// What to do when the system refuses to start a program.
fn start_help(why: &io::Error) -> &'static str {
    if why.kind() == io::ErrorKind::PermissionDenied {
        return "make it executable (`chmod +x`), or give its interpreter, and then its path, behind `--`";
    }
    "give the command of the connector behind `--`; a name without a slash is searched in PATH"
}
