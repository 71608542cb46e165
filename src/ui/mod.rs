//! Room `ui`.
