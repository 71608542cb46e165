//! The mass-delete guard: a round that would take away most of what it knows stops first.

use std::str::FromStr;

/// How many deletes a round may make before somebody is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeleteLimit {
    /// More than half of the documents and more than 20 are too many.
    Usual,
    /// More than this number are too many.
    Count(u64),
    /// More than this share of the documents, in percent, are too many.
    Percent(u8),
    /// None are too many.
    Unlimited,
}

/// Deletes up to this number never trip the usual limit, however small the source.
const USUAL_FLOOR: u64 = 20;

impl DeleteLimit {
    /// Returns whether `deletes` of `known` confirmed documents are too many.
    pub fn exceeded(self, deletes: u64, known: u64) -> bool {
        match self {
            Self::Usual => deletes > USUAL_FLOOR && deletes.saturating_mul(2) > known,
            Self::Count(limit) => deletes > limit,
            Self::Unlimited => false,
            Self::Percent(limit) => {
                u128::from(deletes) * 100 > u128::from(known) * u128::from(limit)
            }
        }
    }
}

/// The text is neither a number nor a percentage.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a number of documents such as 500, or a share such as 80%")]
pub struct InvalidDeleteLimit;

impl FromStr for DeleteLimit {
    type Err = InvalidDeleteLimit;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let Some(share) = text.strip_suffix('%') else {
            return text
                .parse()
                .map(Self::Count)
                .map_err(|_| InvalidDeleteLimit);
        };
        match share.parse() {
            Ok(percent) if percent <= 100 => Ok(Self::Percent(percent)),
            _ => Err(InvalidDeleteLimit),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{DeleteLimit, InvalidDeleteLimit};

    #[test]
    fn the_usual_limit_needs_more_than_half_and_more_than_twenty() {
        let usual = DeleteLimit::Usual;
        assert!(!usual.exceeded(20, 20));
        assert!(usual.exceeded(21, 41));
        assert!(!usual.exceeded(21, 42));
        assert!(!usual.exceeded(500, 1000));
        assert!(usual.exceeded(501, 1000));
    }

    #[test]
    fn a_given_limit_replaces_the_usual_one() {
        assert!(DeleteLimit::Count(0).exceeded(1, 1000));
        assert!(!DeleteLimit::Count(1000).exceeded(1000, 1000));
        assert!(!DeleteLimit::Percent(80).exceeded(80, 100));
        assert!(DeleteLimit::Percent(80).exceeded(81, 100));
        assert!(!DeleteLimit::Percent(100).exceeded(100, 100));
    }

    #[test]
    fn limits_are_read_from_text() {
        assert_eq!("500".parse(), Ok(DeleteLimit::Count(500)));
        assert_eq!("80%".parse(), Ok(DeleteLimit::Percent(80)));
        for text in ["", "%", "101%", "-1", "half", "1.5"] {
            assert_eq!(
                text.parse::<DeleteLimit>(),
                Err(InvalidDeleteLimit),
                "{text}"
            );
        }
    }
}
