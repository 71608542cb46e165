//! The client's machines against a real remote over a bad link, with a fake clock: nothing sleeps.
//!
//! What must hold, whatever the link does: what was acknowledged is stored; what is known to have
//! failed is not; a forced commit is never sent twice; a chunk in doubt is asked about; no range is
//! empty; no body is over a limit; and when the link is good again, the remote holds exactly what
//! it should. A seed that fails prints its story and becomes a test of its own.

mod chance;
mod link;
mod run;
mod sample;

use std::sync::Arc;

use dpe::protocol::wire::capabilities::Limits;
use dpe::server::{InProcess, OpenMode, Options, Service, Store};
use tempfile::TempDir;

use chance::Chance;

/// Seeds of one test run.
const SEEDS: u64 = 200;
/// Runs that share a store, and wait for its disk together.
const SIDE_BY_SIDE: u64 = 30;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deliveries_over_a_bad_link_keep_every_promise() {
    let from = std::env::var("DPE_SIMULATION_SEED").map_or(0, |seed| seed.parse().unwrap());
    let count = std::env::var("DPE_SIMULATION_SEEDS").map_or(SEEDS, |seeds| seeds.parse().unwrap());
    let place = Place::new();
    let mut first = from;
    while first < from + count {
        let next = (first + SIDE_BY_SIDE).min(from + count);
        let runs: Vec<_> = (first..next)
            .map(|seed| tokio::spawn(one(place.remote(seed), seed)))
            .collect();
        for run in runs {
            run.await.unwrap();
        }
        first = next;
    }
}

async fn one(remote: InProcess, seed: u64) {
    run::run(&remote, seed).await;
}

/// A store that many runs share; each has a service of its own, with limits of its own.
struct Place {
    _directory: TempDir,
    store: Store,
}

impl Place {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(&directory.path().join("store"), OpenMode::Create).unwrap();
        Self {
            _directory: directory,
            store,
        }
    }

    /// Returns a remote whose limits are narrow in one way or another.
    fn remote(&self, seed: u64) -> InProcess {
        let mut chance = Chance::new(seed ^ 0x5eed);
        let limits = Limits {
            max_payload_bytes: [1700, 2500, 5000, 100_000][chance.of(0..4)],
            page_max_bytes: 4000,
            blob_max_bytes: 4000,
            blob_chunk_bytes: [300, 800, 4000][chance.of(0..3)],
            ..Limits::default()
        };
        let options = Options {
            hooks: Some("/__hooks__".to_owned()),
            on_incident: Arc::new(|incident| println!("{incident}")),
            ..Options::default()
        };
        InProcess::new(&Service::new(self.store.clone(), limits, options))
    }
}
