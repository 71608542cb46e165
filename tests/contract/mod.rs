//! The connector contract, seen from outside: what a runner makes of connectors, good ones and hostile ones, and what
//! the guide for their authors says.

mod guide;
