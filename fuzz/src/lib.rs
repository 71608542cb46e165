//! The properties that are fuzzed: [`protocol`] and [`parsers`]. Tests include these files and hold the same
//! properties against chosen chance, so that they cannot rot.

pub mod parsers;
pub mod protocol;
