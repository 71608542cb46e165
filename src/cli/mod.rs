//! Room `cli`.

pub mod hash_object;
