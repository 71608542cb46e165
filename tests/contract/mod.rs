//! The connector contract, seen from outside: what `dpe run` makes of connectors, good ones and hostile ones, and
//! what the guide for their authors says.

mod example;
mod guide;
