//! Why no connection can even be tried: settings that are wrong before the first request.

use std::io;
use std::path::PathBuf;

use miette::Diagnostic;
use thiserror::Error;

use super::proxy::ProxyError;

/// The settings of the network cannot be used.
#[derive(Debug, Error, Diagnostic)]
pub enum TransportError {
    /// The proxy variables.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Proxy(#[from] ProxyError),
    /// A file of certificates or keys cannot be read.
    #[error("cannot read {}", path.display())]
    #[diagnostic(
        code(dpe::transport::unreadable),
        help("give {flag} a PEM file that can be read")
    )]
    Unreadable {
        /// The flag that named it.
        flag: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A file holds something else. What it holds may be secret and is not shown.
    #[error("{} does not hold {expected}", path.display())]
    #[diagnostic(
        code(dpe::transport::pem),
        help("give {flag} a PEM file with {expected}")
    )]
    Pem {
        /// The flag that named it.
        flag: &'static str,
        /// The file.
        path: PathBuf,
        /// What it should hold.
        expected: &'static str,
    },
    /// The platform's certificates.
    #[error("no certificate authorities can be found on this machine: {reason}")]
    #[diagnostic(
        code(dpe::transport::roots),
        help("install the system's CA certificates, or name a file with --cacert")
    )]
    Roots {
        /// What the system said.
        reason: String,
    },
    /// The HTTP client.
    #[error("the HTTP client cannot be set up: {reason}")]
    #[diagnostic(
        code(dpe::transport::client),
        help("this is a defect or a limit of the machine; run again, and report it if it stays")
    )]
    Client {
        /// What it said.
        reason: String,
    },
}
