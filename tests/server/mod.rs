//! The embedded remote, from outside: requests in, responses out.
//!
//! Requests are spelled by hand and replies read with `serde_json`, so that nothing of the crate's
//! own wire code can hide its mistakes here; hashes come from the specification's worked vectors
//! or from `dpe-hash`.

mod access;
mod commit;
mod concurrency;
mod content;
mod contracts;
mod damage;
mod delete_and_move;
mod hooks;
mod ladder;
mod property;
mod read_only;
mod reads;
mod remote;
mod repetition;
#[cfg(unix)]
mod serve;
#[cfg(unix)]
mod socket;
mod staging;
mod store;
