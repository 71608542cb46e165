//! The codes of core §6 with the status codes of http-binding §11.2.

use std::fmt;

/// A code of DPE Core v1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(
    missing_docs,
    reason = "the names are the specification's; core §6 has their meaning"
)]
pub enum ErrorCode {
    Validation,
    ContractUnsupported,
    CategoryUnknown,
    PreconditionRequired,
    PreconditionFailed,
    AlreadyExists,
    NotFound,
    SessionExpired,
    HashMismatch,
    MissingContent,
    PayloadTooLarge,
    Forbidden,
    RateLimited,
    Unavailable,
}

impl ErrorCode {
    /// Every code, in the order of core §6.
    pub const ALL: [Self; 14] = [
        Self::Validation,
        Self::ContractUnsupported,
        Self::CategoryUnknown,
        Self::PreconditionRequired,
        Self::PreconditionFailed,
        Self::AlreadyExists,
        Self::NotFound,
        Self::SessionExpired,
        Self::HashMismatch,
        Self::MissingContent,
        Self::PayloadTooLarge,
        Self::Forbidden,
        Self::RateLimited,
        Self::Unavailable,
    ];

    /// Returns the code with this text, compared exactly.
    pub fn from_text(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.as_str() == text)
    }

    /// Returns the text that travels, such as `DPE_VALIDATION`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Validation => "DPE_VALIDATION",
            Self::ContractUnsupported => "DPE_CONTRACT_UNSUPPORTED",
            Self::CategoryUnknown => "DPE_CATEGORY_UNKNOWN",
            Self::PreconditionRequired => "DPE_PRECONDITION_REQUIRED",
            Self::PreconditionFailed => "DPE_PRECONDITION_FAILED",
            Self::AlreadyExists => "DPE_ALREADY_EXISTS",
            Self::NotFound => "DPE_NOT_FOUND",
            Self::SessionExpired => "DPE_SESSION_EXPIRED",
            Self::HashMismatch => "DPE_HASH_MISMATCH",
            Self::MissingContent => "DPE_MISSING_CONTENT",
            Self::PayloadTooLarge => "DPE_PAYLOAD_TOO_LARGE",
            Self::Forbidden => "DPE_FORBIDDEN",
            Self::RateLimited => "DPE_RATE_LIMITED",
            Self::Unavailable => "DPE_UNAVAILABLE",
        }
    }

    /// Whether the same request, sent again unchanged, may succeed.
    pub const fn retryable(self) -> bool {
        matches!(self, Self::RateLimited | Self::Unavailable)
    }

    /// Returns the regular status code. The exceptions for conditional writes and move are with
    /// those operations (http-binding §11.2).
    pub const fn status(self) -> u16 {
        match self {
            Self::Validation
            | Self::ContractUnsupported
            | Self::CategoryUnknown
            | Self::HashMismatch
            | Self::MissingContent => 400,
            Self::Forbidden => 403,
            Self::NotFound => 404,
            Self::SessionExpired => 410,
            Self::PreconditionFailed | Self::AlreadyExists => 412,
            Self::PayloadTooLarge => 413,
            Self::PreconditionRequired => 428,
            Self::RateLimited => 429,
            Self::Unavailable => 503,
        }
    }

    /// Returns the code's words without `DPE_`, lowercased and joined by `separator`.
    pub(crate) fn words(self, separator: &str) -> String {
        self.as_str()["DPE_".len()..]
            .to_ascii_lowercase()
            .replace('_', separator)
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::ErrorCode;

    #[test]
    fn every_code_is_found_by_its_own_text_only() {
        for code in ErrorCode::ALL {
            assert_eq!(ErrorCode::from_text(code.as_str()), Some(code));
        }
        for foreign in ["", "DPE_", "dpe_validation", "DPE_VALIDATION ", "DPE_NEW"] {
            assert_eq!(ErrorCode::from_text(foreign), None, "{foreign}");
        }
    }

    #[test]
    fn exactly_two_codes_may_be_retried_unchanged() {
        let retryable: Vec<_> = ErrorCode::ALL
            .into_iter()
            .filter(|code| code.retryable())
            .collect();
        assert_eq!(retryable, [ErrorCode::RateLimited, ErrorCode::Unavailable]);
    }
}
