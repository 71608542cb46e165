//! `dpe status` and its neighbours: what they tell is what a push does, and they write nothing.

mod classes;
mod forms;
mod plan;
mod untouched;
