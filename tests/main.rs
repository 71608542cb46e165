//! The one integration test binary.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "clippy takes only functions marked as tests for tests, not what they call"
)]

mod config;
mod connector;
mod contract;
mod convergence;
mod extract;
mod hash_contract;
mod host;
mod house;
mod output;
mod over_http;
mod protocol;
mod push;
mod run;
mod runner;
mod server;
mod simulation;
mod status;
mod transport;
