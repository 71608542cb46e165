//! Processes that extract files of formats whose parsers may fail: one that dies, loops or eats memory
//! costs the file at hand and nothing else.
//!
//! A worker is this program once more, started by whoever built the connector. It gets one file after
//! another on its standard input and answers on its standard output ([`frame`]). It limits its own memory
//! and ends with its input ([`serve`]); how long it may take is the starter's to say ([`pool`]).

mod frame;
mod pool;
mod process;
mod serve;

pub use pool::{Program, Workers};
pub use serve::serve as serve_worker;
