//! One round of one instance: enumerate, land, and store the cursor only if everything landed
//! (connector contract §11, §16, §23).

use std::collections::HashSet;
use std::path::PathBuf;

use jiff::Timestamp;
use tokio_util::sync::CancellationToken as Cancel;

use crate::model::{Contract, Contracts};
use crate::protocol::wire::capabilities::Capabilities;
use crate::state::{self, Tracking};
use crate::sync::assembly::Assembly;
use crate::sync::decision::Policies;
use crate::sync::event::{Event, Observer};
use crate::sync::failure::Failure;
use crate::sync::guard::DeleteLimit;
use crate::sync::ports::{Remote, Source};
use crate::sync::report::{Outcome, Report};

use super::client_error::by_the_contract;
use super::enumeration::{Asked, Enumeration, Mentions};
use super::feed::Enumerated;
use super::gate::Gate;
use super::interruption::{is_interruption, unless};
use super::landing::{Aftermath, Landing, state_failure};
use super::refresh;
use super::spool::Spool;

/// Who pushes what where.
#[derive(Clone, Debug)]
pub struct Instance {
    /// Id, unique in the state directory.
    pub id: String,
    /// URI prefix; every document lies below it.
    pub uri_prefix: String,
    /// URL of the remote, or the location of an embedded one.
    pub remote_url: String,
    /// Content identity (§8.3): another one starts over.
    pub fingerprint: String,
}

/// How much of the source a round enumerates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// All of it, or all that changed since the stored cursor.
    #[default]
    Whole,
    /// Some documents that somebody named. Nothing follows for the others: the cursor is neither
    /// used nor replaced.
    Named,
}

impl Scope {
    /// Whether what such a round writes enters the write set.
    pub(super) fn tracking(self) -> Tracking {
        match self {
            Self::Whole => Tracking::Tracked,
            Self::Named => Tracking::Untracked,
        }
    }
}

/// How a round is run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Contract of all hashes.
    pub contract: Contract,
    /// Contracts whose confirmed values count: declared by the remote and known here.
    pub accepted: Contracts,
    /// Conflict policies.
    pub policies: Policies,
    /// At most so many resubmissions after conflicts, per item.
    pub conflict_retries: u32,
    /// Saving what could not be saved is tried again at most so often (§23).
    pub state_retries: u32,
    /// At most so many items per batch.
    pub max_items: u32,
    /// At most so many writes at once.
    pub concurrency: usize,
    /// Longest blob that the remote takes, in bytes.
    pub blob_max_bytes: u64,
    /// Where the bytes of blobs wait until they are delivered, in files without a name.
    pub spool_directory: PathBuf,
    /// When deletes are too many.
    pub delete_limit: DeleteLimit,
    /// What is enumerated.
    pub scope: Scope,
    /// For whom.
    pub profile: Profile,
    /// Whether the plugin says again by itself, in every round, what it has said to fail, whatever
    /// its cursor; only asked under [`Profile::People`]. The bundled connectors do.
    pub failures_come_back: bool,
    /// Whether a full enumeration names everything that the source has, if only as a failure, so
    /// that what it does not name is gone; only asked under [`Profile::People`].
    pub enumerations_are_complete: bool,
}

/// Whose expectations a round meets where they part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// Those of the connector contract, to the letter: counts are of items, and a move that
    /// cannot be carried out is a failure.
    Contract,
    /// Those of people: documents that an incremental source had no reason to mention count as
    /// unchanged, what an earlier round has done is not counted again, and a move that an
    /// earlier, cut short round has overtaken is settled by enumerating once more.
    #[default]
    People,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            contract: Contract::Dpe1,
            accepted: Contracts::SUPPORTED,
            policies: Policies::default(),
            conflict_retries: 2,
            state_retries: 2,
            max_items: 500,
            concurrency: 8,
            blob_max_bytes: u64::MAX,
            spool_directory: std::env::temp_dir(),
            delete_limit: DeleteLimit::Usual,
            scope: Scope::Whole,
            profile: Profile::People,
            failures_come_back: false,
            enumerations_are_complete: false,
        }
    }
}

impl Settings {
    /// Returns the defaults of the connector contract (§34) for a round over the remote that
    /// declared `capabilities`: values of every contract that it declares and that is known here
    /// count as confirmed (§19.1).
    pub fn contract(capabilities: &Capabilities) -> Self {
        let declared = capabilities.hash_contracts.iter();
        Self {
            accepted: declared
                .filter_map(|name| Contract::from_name(name))
                .collect(),
            max_items: 100,
            concurrency: 4,
            blob_max_bytes: capabilities.limits.blob_max_bytes,
            delete_limit: DeleteLimit::Unlimited,
            profile: Profile::Contract,
            ..Self::default()
        }
    }
}

/// One round, ready to run.
pub struct Round<'a, R, S> {
    /// The remote, or a dry run over it.
    pub remote: &'a R,
    /// The running plugin.
    pub source: &'a mut S,
    /// The state of the instance, locked.
    pub state: &'a mut state::Instance,
    /// Who pushes what where.
    pub instance: &'a Instance,
    /// How.
    pub settings: &'a Settings,
    /// Told what happens.
    pub observer: &'a dyn Observer,
    /// Ends the round early: nothing more is asked or sent, writes that are on their way get a few
    /// seconds, and the intents of those that take longer stay for the next round. What the report
    /// says is of no consequence then.
    pub cancel: &'a Cancel,
}

impl<R: Remote, S: Source> Round<'_, R, S> {
    /// Runs the round to its end and reports; failures are in the report.
    pub async fn run(mut self) -> Report {
        let Instance {
            id,
            uri_prefix,
            remote_url,
            ..
        } = self.instance;
        let mut report = Report::begun(
            Some(id),
            Some(uri_prefix),
            Some(remote_url),
            Timestamp::now(),
        );
        report.plugin = Some(self.source.identity().clone());
        let mut aftermath = Aftermath::default();
        let delivered = self.deliver(&mut report, &mut aftermath).await;
        report.counts = aftermath.counts;
        report.failures = std::mem::take(&mut aftermath.failures);
        report.failures_omitted = aftermath.failures_omitted;
        let enumerated = match delivered {
            Ok(enumerated) => Some(enumerated),
            Err(failure) => {
                self.fail(failure, &mut report);
                None
            }
        };
        if let Some(changes) = aftermath.unsaved.take()
            && let Err(failure) = self.save_again(&changes).await
        {
            self.fail(failure, &mut report);
        }
        if let Err(failure) = self.close(enumerated, &aftermath, &mut report) {
            self.fail(failure, &mut report);
        }
        report.end(Timestamp::now());
        report
    }

    /// Reports a failure that ends the round.
    fn fail(&self, failure: Failure, report: &mut Report) {
        report.outcome = Outcome::Failed;
        if is_interruption(&failure) {
            return;
        }
        let failure = match self.settings.profile {
            Profile::Contract => by_the_contract(failure),
            Profile::People => failure,
        };
        self.observer.event(Event::Failed(&failure));
        report.failures.push(failure);
    }

    /// Enumerates and lands, whether that ends well or not.
    async fn deliver(
        &mut self,
        report: &mut Report,
        aftermath: &mut Aftermath,
    ) -> Result<Enumerated, Failure> {
        self.adopt()?;
        let cursor = unless(self.cancel, self.starting_cursor()).await?;
        let mut enumeration = self.enumeration()?;
        self.observer.event(Event::RoundStarted {
            cursor_given: cursor.is_some(),
        });
        let Self {
            remote,
            source,
            state,
            instance,
            settings,
            observer,
            cancel,
        } = self;
        let mut landing = Landing::new(*remote, state, *observer, settings, cancel)?;
        let mut spool = Spool::new(settings.spool_directory.clone(), settings.blob_max_bytes);
        let asked = Asked {
            assembly: Assembly::new(&*instance.uri_prefix, settings.contract),
            cursor,
            max_items: settings.max_items,
        };
        let mut ended = enumeration
            .run(*source, &mut spool, asked, &mut landing)
            .await;
        report.incremental = enumeration.incremental;
        if let Ok(enumerated) = &ended {
            let said = (&enumeration.mentions, enumerated);
            let said_by = (&mut **source, &mut spool);
            let refreshed = refresh::run(said, said_by, instance, settings, &mut landing).await;
            ended = refreshed.and(ended);
        }
        landing.finish(ended.is_err());
        *aftermath = landing.into_aftermath();
        ended
    }

    /// Drops state that belongs to another content identity (§8.2).
    fn adopt(&mut self) -> Result<(), Failure> {
        let fingerprint = &self.instance.fingerprint;
        let adoption = match self.settings.profile {
            Profile::Contract => self.state.adopt(fingerprint),
            Profile::People => self.state.adopt_known(fingerprint),
        };
        if adoption.map_err(state_failure)? == state::Adoption::Changed {
            self.observer.event(Event::Warning(
                "the source, its settings or its connector changed: everything is compared anew",
            ));
        }
        Ok(())
    }

    /// Whether conclusions are drawn from what a full enumeration does not name; a first one is
    /// about nothing that could be missing.
    fn notes_what_is_said(&self, known: u64) -> bool {
        let settings = self.settings;
        known > 0
            && settings.profile == Profile::People
            && settings.scope == Scope::Whole
            && settings.enumerations_are_complete
    }

    fn enumeration(&self) -> Result<Enumeration, Failure> {
        let known = self.state.confirmed_count().map_err(state_failure)?;
        let unproduced = match self.settings.scope {
            Scope::Whole => self.state.write_set().map_err(state_failure)?,
            Scope::Named => Vec::new(),
        };
        Ok(Enumeration {
            gate: Gate::new(self.settings.delete_limit, known),
            mentions: Mentions {
                unproduced: unproduced.into_iter().collect(),
                profile: self.settings.profile,
                said: self.notes_what_is_said(known).then(HashSet::new),
            },
            incremental: None,
        })
    }
}
