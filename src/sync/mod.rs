//! What the runner decides, without doing any of it.
//!
//! This room turns what a source said into operations, judges them against what was confirmed
//! and what the remote holds, and sums up a round. It knows no socket, no process, no database
//! and no clock; those stand behind the ports.

pub mod assembly;
pub mod blobs;
pub mod byte_source;
pub mod decision;
pub mod event;
pub mod failure;
pub mod guard;
pub mod item;
pub mod ports;
pub mod printable;
pub mod report;
pub mod unachieved;
pub mod wave;
