//! Room `host`.
