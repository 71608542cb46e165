//! The connector contract, seen from outside: what `dpe run` makes of connectors, good ones and hostile ones, and
//! what the guide for their authors says.

mod conflicts;
mod example;
mod guide;
mod killed;
mod killed_connector;
mod killed_remote;
mod killed_runner;
mod moves;
mod remotes;
mod rig;
mod scenarios;
mod states;
mod story;
