//! Hash contract 1, as other programs see it.

mod generate;
mod oracle;
mod vectors;
