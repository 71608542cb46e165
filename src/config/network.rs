//! How a remote is reached over the network, as values.

use std::num::NonZeroU64;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use super::credential::Credential;
use super::remote::RemoteLocation;

/// A remote, and how to reach it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remote {
    /// Where it is.
    pub location: RemoteLocation,
    /// How it is reached if it is behind a URL.
    pub network: Network,
}

/// Settings of the way to a remote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network {
    /// How long nothing may happen before a request is given up; `None` waits for ever.
    pub timeout: Option<Duration>,
    /// Most bytes of request bodies sent in a second.
    pub upload_limit: Option<Rate>,
    /// PEM file with certificates of authorities to trust besides those of the platform.
    pub authorities: Option<PathBuf>,
    /// PEM file with a client certificate and its key.
    pub client_certificate: Option<PathBuf>,
    /// Source of the `Authorization` value.
    pub credential: Option<Credential>,
}

impl Default for Network {
    /// The defaults of HTTP binding §22.
    fn default() -> Self {
        Self {
            timeout: Some(Duration::from_secs(30)),
            upload_limit: None,
            authorities: None,
            client_certificate: None,
            credential: None,
        }
    }
}

/// Bytes in a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate(pub NonZeroU64);

/// The text is no rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a rate is a positive number of bytes a second, such as 500000, 512K or 1.5M")]
pub struct InvalidRate;

impl FromStr for Rate {
    type Err = InvalidRate;

    /// Reads a number with an optional suffix: `B`, or `K`, `M`, `G`, `T` for the powers of 1024.
    fn from_str(text: &str) -> Result<Self, InvalidRate> {
        let digits = text.trim_end_matches(|last: char| last.is_ascii_alphabetic());
        let shift = match text[digits.len()..].to_ascii_lowercase().as_str() {
            "" | "b" => 0,
            "k" | "ki" | "kib" => 10,
            "m" | "mi" | "mib" => 20,
            "g" | "gi" | "gib" => 30,
            "t" | "ti" | "tib" => 40,
            _ => return Err(InvalidRate),
        };
        let is_decimal = digits.bytes().all(|c| c.is_ascii_digit() || c == b'.');
        let number: f64 = digits.parse().map_err(|_| InvalidRate)?;
        let bytes = number * (1_u64 << shift) as f64;
        // Beyond 2^53 nobody has a network, and a float no exact value.
        if !is_decimal || !(1.0..=9e15).contains(&bytes) {
            return Err(InvalidRate);
        }
        NonZeroU64::new(bytes as u64).map(Self).ok_or(InvalidRate)
    }
}

#[cfg(test)]
mod tests {
    use super::{InvalidRate, Rate};

    #[test]
    fn rates_are_bytes_with_binary_suffixes() {
        for (text, bytes) in [
            ("1", 1),
            ("500000", 500_000),
            ("10B", 10),
            ("1K", 1024),
            ("64k", 65_536),
            ("1.5M", 1_572_864),
            ("2G", 2_147_483_648),
            ("1KiB", 1024),
        ] {
            assert_eq!(text.parse::<Rate>().map(|rate| rate.0.get()), Ok(bytes));
        }
        for text in [
            "", "K", "0", "0.5", "-1", "+1", "1e3", "1X", "nan", "inf", "1 K", "off",
        ] {
            assert_eq!(text.parse::<Rate>(), Err(InvalidRate), "{text}");
        }
    }
}
