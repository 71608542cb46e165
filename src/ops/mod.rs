//! One file per verb: values in, values out.
//!
//! What a command does is here, so that the command line, an agent and a test do the same thing.
//! The room knows no flags and writes to no terminal.

mod causes;
pub mod check;
pub mod check_ignore;
pub mod commit;
pub mod config;
pub mod connector;
mod credential;
pub mod extract;
pub mod hash_object;
pub mod list;
pub mod probe;
pub mod push;
mod regular_file;
pub mod remote;
pub mod remove;
pub mod rename;
pub mod run;
pub mod serve;
pub mod show;
pub mod source;
pub mod state;
pub mod status;
