//! The connector as a runner sees it: real repositories, made by git itself, through the real serve
//! loop.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on should say where"
)]

mod files;
mod history;
mod hostile;
mod neighbours;
mod random;
mod repository;
mod urls;
