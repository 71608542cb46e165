//! Room `ops`.
