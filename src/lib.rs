//! `dpe`: git push for documents. See `docs/architecture.md` for the rooms and their order.

pub mod cli;
pub mod config;
pub mod error;
pub mod host;
pub mod json;
pub mod model;
pub mod ops;
pub mod protocol;
pub mod runner;
pub mod server;
pub mod state;
pub mod sync;
pub mod transport;
pub mod ui;
