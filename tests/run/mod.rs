//! `dpe run` as a process, with plugins of a few lines and a remote over HTTP.

mod definitions;
mod deletion;
mod instance;
mod killed;
mod oracle;
mod order;
mod output;
mod secrets;
mod signals;
mod state;
