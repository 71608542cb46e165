//! The plugin side of the connector contract, shared with the host so that both ends speak one
//! set of wire types.

pub mod content;
