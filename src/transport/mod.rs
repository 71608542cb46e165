//! DPE/1 over the network: one request, one reply, and what became of it if there was none.
//!
//! The room sends what it is given to the place it is told, and repeats nothing. It knows HTTP,
//! TLS, proxies, credentials and time; it does not know what any request means.

mod credential;
mod error;
mod gzip;
mod header;
mod http;
mod pace;
mod patience;
pub mod proxy;
mod tls;
mod upload;

pub use self::http::Http;
pub use error::TransportError;
