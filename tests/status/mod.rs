//! `dpe status` and its neighbours: what they tell is what a push does, and they write nothing.

mod check;
pub(crate) mod classes;
mod forms;
mod plan;
mod untouched;
