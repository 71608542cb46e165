//! Hash contract 1, as other programs see it.

mod command;
mod generate;
mod oracle;
mod vectors;
