//! `dpe extract` as a program, and the workers it starts.

mod command;
mod worker;
