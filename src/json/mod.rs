//! Room `json`.
