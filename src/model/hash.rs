//! The value that identifies content: content_hash, page_hash, doc_hash (hash contract §1).

use std::fmt;

use thiserror::Error;

use super::contract::{Contract, Contracts};
use super::hex;
use super::violation::{Code, Violation};
use crate::json::Value;
use crate::json::canonical::Sink;

/// A hash value: a contract and a full SHA-256 digest. Its text form is the value on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Hash {
    contract: Contract,
    digest: [u8; 32],
}

/// A string that is no acceptable hash value, judged in the order of hash contract §1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum HashError {
    /// No `:`, or the text before the first one is not an accepted contract.
    #[error("the hash value names no supported contract")]
    Contract,
    /// What follows the `:` is not 64 lowercase hexadecimal digits.
    #[error("a hash value has 64 lowercase hexadecimal digits after its contract")]
    Digits,
}

impl HashError {
    /// Returns the protocol's code for this failure.
    pub fn code(self) -> Code {
        match self {
            Self::Contract => Code::ContractUnsupported,
            Self::Digits => Code::Validation,
        }
    }
}

impl Hash {
    /// Returns the hash of a digest computed under `contract`.
    pub fn new(contract: Contract, digest: [u8; 32]) -> Self {
        Self { contract, digest }
    }

    /// Takes a hash value apart, accepting only contracts of a set.
    ///
    /// # Errors
    /// [`HashError`], in the order of hash contract §1.
    pub fn parse(text: &str, accepted: Contracts) -> Result<Self, HashError> {
        let (name, digits) = text.split_once(':').ok_or(HashError::Contract)?;
        let contract = Contract::from_name(name)
            .filter(|&contract| accepted.contains(contract))
            .ok_or(HashError::Contract)?;
        let digest = hex::decode(digits.as_bytes()).ok_or(HashError::Digits)?;
        Ok(Self { contract, digest })
    }

    /// Judges a JSON value as a hash value.
    ///
    /// # Errors
    /// A violation at `""`, in the order of hash contract §1.
    pub fn from_value(value: Value<'_>, accepted: Contracts) -> Result<Self, Violation> {
        let text = value
            .as_str()
            .ok_or_else(|| Violation::here("a hash value is a string"))?;
        Self::parse(&text, accepted)
            .map_err(|error| Violation::new(error.code(), String::new(), error.to_string()))
    }

    /// Returns the contract the value was computed under.
    pub fn contract(self) -> Contract {
        self.contract
    }

    /// Returns the digest.
    pub fn digest(self) -> [u8; 32] {
        self.digest
    }

    /// Writes the value as a JSON string.
    pub(super) fn put_quoted(self, sink: &mut (impl Sink + ?Sized)) {
        let mut quoted = [b'"'; 1 + 4 + 1 + hex::DIGITS + 1];
        quoted[1..5].copy_from_slice(self.contract.name().as_bytes());
        quoted[5] = b':';
        quoted[6..6 + hex::DIGITS].copy_from_slice(&hex::encode(&self.digest));
        sink.put(&quoted);
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = hex::encode(&self.digest);
        let digits = std::str::from_utf8(&digits).expect("digits are ASCII");
        write!(f, "{}:{digits}", self.contract.name())
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
