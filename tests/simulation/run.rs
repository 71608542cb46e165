//! One seed: a few operations over a bad link, then one over a good one, and what must hold.

use std::collections::HashMap;

use bytes::Bytes;
use dpe::model::{BlobRef, Contract, FileUri, Hash, Tree};
use dpe::protocol::delivery::{
    Delete, Delivered, Delivery, DeliveryFailed, Job, Move, Precondition, Session, Terms,
};
use dpe::protocol::wire::capabilities::{self, Limits};
use dpe::protocol::wire::skeleton;
use dpe::protocol::{Fate, Machine, OperationError, Step};
use dpe::sync::ports::Transport;

use super::chance::Chance;
use super::link::{Held, Link, foreign};
use super::sample::Sample;

/// What became of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Done,
    Failed,
    Unknown,
}

/// Runs one seed against a remote; panics where a rule is broken, the story on stdout.
pub(super) async fn run<T: Transport>(far: &T, seed: u64) {
    let response = far.send(capabilities::Request.into_http()).await.unwrap();
    let limits = capabilities::decode(&response).unwrap().limits;
    let mut run = Run::new(far, limits, seed);
    for _ in 0..run.link.chance.of(2..6) {
        run.operation().await;
    }
    run.settle().await;
    for (operation, outcome) in run.outcomes.iter().enumerate() {
        let took_effect = run.link.effective.contains(&(operation + 1));
        assert!(
            *outcome != Outcome::Failed || !took_effect,
            "operation {} is known to have failed and took effect",
            operation + 1
        );
    }
    run.is_over = true;
}

struct Run<'a, T> {
    link: Link<'a, T>,
    uris: [FileUri; 2],
    sample: Sample,
    terms: Terms,
    /// The session of a refused delivery.
    session: Option<Session>,
    outcomes: Vec<Outcome>,
    seed: u64,
    is_over: bool,
}

impl<T> Drop for Run<'_, T> {
    fn drop(&mut self) {
        if !self.is_over {
            println!("seed {}\n{}", self.seed, self.link.story.join("\n"));
        }
    }
}

impl<'a, T: Transport> Run<'a, T> {
    fn new(far: &'a T, limits: Limits, seed: u64) -> Self {
        let mut chance = Chance::new(seed);
        let uri = |name| FileUri::parse(&format!("sim://{seed}/{name}")).unwrap();
        let uris = [uri("a"), uri("b")];
        let terms = Terms {
            in_flight: chance.of(1..5),
            fast_update_bytes: [0, 900, 64 << 10][chance.of(0..3)],
            ..Terms::new(Contract::Dpe1, limits)
        };
        let sample = Sample::new(&mut chance);
        Self {
            link: Link::new(far, limits, uris.clone(), chance),
            uris,
            sample,
            terms,
            session: None,
            outcomes: Vec::new(),
            seed,
            is_over: false,
        }
    }

    async fn operation(&mut self) {
        let faults = [0, 60, 200, 500][self.link.chance.of(0..4)];
        let held = self.link.begin(faults).await;
        let other = Sample::new(&mut self.link.chance);
        let (uri, document) = (&self.uris[0], foreign_document(&other));
        self.link.foreign = Some(foreign(uri, &document));
        let outcome = match (self.link.chance.of(0..10), held[0]) {
            (0, Some(base)) => self.delete(base).await,
            (1, Some(base)) => self.rename(base).await,
            _ => self.deliver(held).await,
        };
        self.outcomes.push(outcome);
    }

    async fn deliver(&mut self, held: Held) -> Outcome {
        self.sample.edit(&mut self.link.chance);
        let tree = self.sample.tree();
        let precondition = match (self.link.chance.of(0..8), held[0]) {
            (0, _) => Precondition::Force,
            (1, _) => Precondition::IfAbsent,
            (2, _) => Precondition::Base(tree.doc_hash),
            (_, None) => Precondition::IfAbsent,
            (_, Some(base)) => Precondition::Base(base),
        };
        let delivered = self.drive_delivery(precondition, &tree).await;
        match delivered {
            Ok(_) => {
                let was_held = self
                    .link
                    .held
                    .iter()
                    .any(|held| held[0] == Some(tree.doc_hash));
                assert!(was_held, "acknowledged and never stored");
                Outcome::Done
            }
            Err(failed) => {
                let outcome = if failed.outcome_unknown {
                    Outcome::Unknown
                } else {
                    Outcome::Failed
                };
                self.session = failed.session;
                outcome
            }
        }
    }

    async fn drive_delivery(
        &mut self,
        precondition: Precondition,
        tree: &Tree,
    ) -> Result<Delivered, DeliveryFailed> {
        let uri = self.uris[0].clone();
        let mut blobs = self.sample.blobs().clone();
        // Now and then the bytes of a blob are not at hand.
        if self.link.faults > 0 && self.link.chance.in_thousand(50) {
            blobs.clear();
        }
        let job = Job {
            uri: &uri,
            precondition,
            tree,
            blobs: blobs
                .iter()
                .map(|(blob, bytes)| (*blob, bytes.len() as u64))
                .collect(),
        };
        let line = format!(
            "{}: deliver {} {precondition:?}",
            self.link.operation, tree.doc_hash
        );
        self.link.story.push(line);
        let delivery = match self.session.take() {
            Some(session) => Delivery::with_session(job, self.terms, session),
            None => Delivery::new(job, self.terms),
        };
        let end = self.drive(delivery, &blobs).await;
        self.link.story.push(format!("{end:?}"));
        end
    }

    async fn delete(&mut self, base: Hash) -> Outcome {
        let delete = Delete::of(&self.uris[0], base, Contract::Dpe1);
        self.link
            .story
            .push(format!("{}: delete", self.link.operation));
        match self.drive(delete, &HashMap::new()).await {
            Ok(()) => {
                assert!(self.link.held.iter().any(|held| held[0].is_none()));
                Outcome::Done
            }
            Err(failed) if failed.outcome_unknown => Outcome::Unknown,
            Err(_) => Outcome::Failed,
        }
    }

    async fn rename(&mut self, base: Hash) -> Outcome {
        let [from, to] = &self.uris;
        let moving = Move::of(from, to, base, Contract::Dpe1);
        self.link
            .story
            .push(format!("{}: move", self.link.operation));
        match self.drive(moving, &HashMap::new()).await {
            Ok(moved) => {
                assert_eq!(moved, base);
                assert!(self.link.held.contains(&[None, Some(base)]));
                Outcome::Done
            }
            Err(failed) if failed.outcome_unknown => Outcome::Unknown,
            Err(_) => Outcome::Failed,
        }
    }

    /// Brings the document where it should be, over a link without faults.
    async fn settle(&mut self) {
        let held = self.link.begin(0).await;
        let tree = self.sample.tree();
        let precondition = held[0].map_or(Precondition::IfAbsent, Precondition::Base);
        let end = self.drive_delivery(precondition, &tree).await;
        self.outcomes.push(Outcome::Done);
        match end {
            Ok(delivered) => assert_eq!(delivered.doc_hash, tree.doc_hash),
            // A late request may have got in between; it is not lost on anybody.
            Err(failed) => assert!(
                matches!(failed.error, OperationError::Reply(_)) && self.link.held.len() > 1
            ),
        }
        self.compare(&tree).await;
    }

    /// The remote holds exactly what the tree says.
    async fn compare(&mut self, tree: &Tree) {
        let uri = &self.uris[0];
        let request = skeleton::Request { uri }.into_http(Contract::Dpe1);
        let Fate::Answered(response) = self.link.carry(request).await else {
            panic!("the link is good")
        };
        let skeleton = skeleton::decode(&response, Contract::Dpe1, uri)
            .unwrap()
            .unwrap();
        assert_eq!(skeleton.doc_hash, tree.doc_hash);
        let pages: Vec<_> = skeleton.pages.iter().map(|page| page.page_hash).collect();
        assert_eq!(pages, tree.page_list);
    }

    /// Drives a machine; what is in flight arrives in any order.
    async fn drive<M: Machine>(
        &mut self,
        mut machine: M,
        blobs: &HashMap<BlobRef, Bytes>,
    ) -> M::Outcome {
        let mut flying = Vec::new();
        loop {
            match machine.poll() {
                Step::Done(outcome) => return outcome,
                Step::Send(id, outgoing) => {
                    assert!(flying.len() < 16);
                    flying.push((id, outgoing));
                }
                Step::Idle => {
                    assert!(!flying.is_empty(), "idle with nothing in flight");
                    let at = self.link.chance.of(0..flying.len());
                    let (id, outgoing) = flying.swap_remove(at);
                    self.link.wait(outgoing.after);
                    let mut request = outgoing.request;
                    if let Some(part) = outgoing.part {
                        let start = usize::try_from(part.offset).unwrap();
                        let bytes = &blobs[&part.blob];
                        request.body = Some(bytes.slice(start..start + part.length));
                    }
                    let fate = self.link.carry(request).await;
                    machine.handle(id, fate, self.link.now);
                }
            }
        }
    }
}

/// The document object of a document without pages, told apart by its title.
fn foreign_document(other: &Sample) -> String {
    let title = other.tree().doc_hash.to_string();
    serde_json::json!({"file_type": "txt", "pages": [], "title": title}).to_string()
}
