//! Room `state`.
