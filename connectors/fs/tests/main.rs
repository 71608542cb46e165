//! The connector as a runner sees it: real folders, through the real serve loop.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on should say where"
)]

mod failures;
mod full;
mod gitignore;
mod images;
mod incremental;
mod neighbours;
mod plugin;
mod refused;
mod selection;
