//! Room `server`.
