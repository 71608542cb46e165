//! What the program says where, and how it says it: help, completions, colours, progress, logs, signals.

mod help;
mod pipes;
mod progress;
mod quiet;
mod signals;
mod usage;
