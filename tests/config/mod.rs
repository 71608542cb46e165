//! `dpe.toml`: what it says is what happens, and what is wrong with it is shown.

mod commands;
mod mistakes;
mod remotes;
mod sources;
mod strangers;
