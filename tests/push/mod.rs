//! `dpe push` as a person or a script uses it: real folders, real processes, a real store.

mod bad_input;
mod changes;
mod check_ignore;
mod commit;
mod exit_codes;
mod failing;
mod images;
mod killed;
mod mounts;
mod neighbours;
mod others;
mod over_http;
pub(crate) mod place;
mod prune;
pub(crate) mod repositories;
mod state;
mod traceless;
