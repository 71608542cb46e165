//! Flags without a value, as environment variables.

use clap::builder::FalseyValueParser;

/// Reads `DPE_FLAG=…`: empty, `0`, `false`, `no` and `off` leave a flag out, all else gives it.
pub(super) fn switch() -> FalseyValueParser {
    FalseyValueParser::new()
}
