//! Room `json` (layer 0): strict I-JSON text, its values, and canonical JSON.
//!
//! The protocol hashes what a text says, spelling of numbers included, and refuses what common
//! parsers let through (hash contract §8). So the tool has one parser of its own: it keeps a flat
//! tape over the source text and no tree. This room knows JSON and nothing else: no schema, no
//! hash, no limit of the protocol.

pub mod canonical;
mod number;
mod parse;
mod pointer;
mod string;
mod syntax;
mod value;
mod writer;

pub use number::{MAX_INTEGER, Number, NumberClass, NumberError, NumberReason};
pub use parse::{MAX_CONTAINERS, Nesting};
pub use pointer::push_token;
pub use syntax::{SyntaxError, SyntaxReason};
pub use value::{Items, Kind, MemberHandles, Members, Text, Value};
pub use writer::Writer;
