//! The criteria of convergence (connector contract §31) on real sources with random histories.
//!
//! A history changes a source at random. After some changes one round is run against a long-lived
//! remote, as people do it (`dpe push`) or as programs do (`dpe run`), or a round that is cut
//! short, and then as many as it takes until one succeeds. Then the remote has to hold exactly what
//! a full round of the same state gives to a fresh remote, and one more round has nothing to say.
//!
//! What is changed and how it is pushed is a [`History`]; the rest is the same for every connector.
//! A new one implements it and calls [`converge`]. Seeds are part of what a failure prints.

mod folder;
mod place;
pub(crate) mod random;
mod repository;

use std::ops::Range;
use std::path::Path;

use place::{Interruption, Place, Way};
use random::Chance;

/// A source that changes by chance.
pub(crate) trait History {
    /// Makes the source in a folder that is there and empty.
    fn begin(folder: &Path, chance: &mut Chance) -> Self;

    /// Changes it in one way, and returns which, for whoever has to understand a failure.
    fn change(&mut self, chance: &mut Chance) -> String;

    /// Makes something that no round can succeed with, or mends it again. A source that knows
    /// nothing of the kind does nothing.
    fn set_broken(&mut self, is_broken: bool);

    /// Name of the bundled connector.
    fn connector(&self) -> &'static str;

    /// Manifest of the connector.
    fn manifest(&self) -> &'static str;

    /// Its configuration.
    fn config(&self) -> serde_json::Value;

    /// What `dpe push` is told to push it.
    fn push_arguments(&self) -> Vec<String>;
}

/// Runs a history of so many steps.
fn converge<H: History>(way: Way, seed: u64, steps: usize) {
    let mut chance = Chance::new(seed);
    let place = Place::new(way);
    let mut history = H::begin(&place.source(), &mut chance);
    let mut said = vec![format!("{way:?}, seed {seed}")];
    for _ in 0..steps {
        for _ in 0..=chance.of(0..4) {
            said.push(history.change(&mut chance));
        }
        let interruption = Interruption::by(&mut chance);
        said.push(format!("round: {interruption:?}"));
        history.set_broken(interruption == Interruption::Broken);
        place.interrupted_round(&history, interruption, &mut chance);
        if interruption == Interruption::Broken {
            said.extend(rounds_beside_what_is_broken(
                &place,
                &mut history,
                &mut chance,
            ));
        }
        if interruption != Interruption::None && chance.in_thousand(500) {
            said.push(history.change(&mut chance));
        }
        history.set_broken(false);
        place.round_that_succeeds(&history, &said);
        assert_eq!(place.remote(), place.fresh_remote(&history), "{said:#?}");
        let more = place.round_that_succeeds(&history, &said);
        assert!(more.is_empty(), "{more:?} after {said:#?}");
    }
}

/// Goes on changing and pushing while something fails in every round, with rounds that are cut short among them,
/// and returns what was done.
fn rounds_beside_what_is_broken<H: History>(
    place: &Place,
    history: &mut H,
    chance: &mut Chance,
) -> Vec<String> {
    let mut said = Vec::new();
    for _ in 0..chance.of(0..4) {
        said.push(history.change(chance));
        let interruption = Interruption::by(chance);
        said.push(format!("round while something is broken: {interruption:?}"));
        place.interrupted_round(history, interruption, chance);
    }
    said
}

/// Returns the seeds of a test; `DPE_TEST_SEEDS=100..200` has it go on elsewhere.
pub(crate) fn seeds(usual: Range<u64>) -> Range<u64> {
    let Ok(wanted) = std::env::var("DPE_TEST_SEEDS") else {
        return usual;
    };
    let (from, to) = wanted.split_once("..").unwrap();
    from.parse().unwrap()..to.parse().unwrap()
}

#[test]
fn a_folder_converges_as_people_push_it() {
    for seed in seeds(1..5) {
        converge::<folder::Folder>(Way::Push, seed, 7);
    }
}

#[test]
fn a_folder_converges_as_programs_run_it() {
    for seed in seeds(11..14) {
        converge::<folder::Folder>(Way::Run, seed, 7);
    }
}

#[test]
fn a_repository_converges_as_people_push_it() {
    for seed in seeds(21..24) {
        converge::<repository::Repository>(Way::Push, seed, 6);
    }
}

#[test]
fn a_repository_converges_as_programs_run_it() {
    for seed in seeds(31..33) {
        converge::<repository::Repository>(Way::Run, seed, 6);
    }
}
