//! Rounds over a real store and real state, with a source that says what a test wants said.

mod blobs;
mod conflicts;
mod contracts;
mod cursors;
mod denied_reads;
mod fixture;
mod fixture_scenarios;
mod lost_replies;
mod moves;
mod read_ahead;
mod refresh;
mod replays;
mod secrets;
mod sessions;
mod stale_moves;
mod state_faults;
mod steered;
mod unachieved;
