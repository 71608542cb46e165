//! Room `cli`.

pub mod connector;
pub mod hash_object;
