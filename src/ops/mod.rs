//! Room `ops`.

pub mod hash_object;
