//! One document until its commit has ended (core §3.2, http-binding §21).
//!
//! ```text
//!          fast                                             missing, progress
//!  ┌────────────────────────────────────────┐   ┌───────────────────────────────┐
//!  │                                        ▼   ▼                               │
//! begin ──▶ Negotiating ──▶ Supplying ──▶ Committing ──▶ Ended                  │
//!  ▲          │   ▲            ▲  │          │  │                               │
//!  │          └───┘            └──┘          │  └──▶ (Negotiating) ─▶ Supplying ─┘
//!  │     pages attached   what does not      │
//!  │                      fit inline         │
//!  └──────────── session expired, once ──────┘   (from any state with a session)
//! ```
//!
//! *Negotiating* opens the session. *Supplying* uploads side by side; what replies name as missing
//! below is uploaded in turn or kept for the commit, which carries inline as much as fits. Objects
//! that do not fit are staged, the largest first, so that the requests are few.

use std::cell::OnceCell;
use std::collections::{HashSet, VecDeque};

use jiff::Timestamp;

use crate::model::BlobRef;
use crate::protocol::delivery::commit::Committing;
use crate::protocol::delivery::inline::Inline;
use crate::protocol::delivery::path::{self, Path};
use crate::protocol::delivery::places::Places;
use crate::protocol::delivery::upload::{Source, Upload};
use crate::protocol::delivery::write::Write;
use crate::protocol::delivery::{Delivered, DeliveryFailed, Job, Session, Terms, size};
use crate::protocol::exchange::{Exchange, Fate};
use crate::protocol::machine::{Id, Machine, Step, Stopped};
use crate::protocol::operation_error::Oversize;
use crate::protocol::verdict::{Operation, Verdict};
use crate::protocol::wire::upload::MissingBelow;
use crate::protocol::wire::{commit, negotiate};
use crate::protocol::{OperationError, ReplyError, Response, Staged};

/// Rounds of repair that may bring nothing new (§22).
const MAX_STALLS: u32 = 2;

/// A delivery in progress.
#[derive(Debug)]
pub struct Delivery<'a> {
    job: Job<'a>,
    terms: Terms,
    places: OnceCell<Places>,
    path: Path,
    state: State,
    /// Names the request of the state; uploads have ids of their own.
    id: Id,
    session: Option<Session>,
    /// Objects that are missing and not staged, by their place in the tree: for the commit.
    inline: Inline,
    /// Objects to upload, in this order.
    queue: VecDeque<Staged>,
    uploads: Vec<(Id, Upload<'a>)>,
    /// What is queued, on its way, or in the session.
    scheduled: HashSet<Staged>,
    stalls: u32,
    renegotiated: bool,
    uncertain: bool,
}

#[derive(Debug)]
enum State {
    Negotiating {
        exchange: Exchange,
        attached: Vec<usize>,
        then: Then,
    },
    Supplying,
    Committing(Box<Write<Committing>>),
    Ended(Option<Result<Delivered, DeliveryFailed>>),
}

/// What an opened session is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    /// Everything is missing.
    SupplyAll,
    /// Learn which pages are missing.
    Compare,
    /// The missing pages are attached: learn which elements are missing.
    CompareElements,
    /// Take what a commit without a session was told to be missing.
    Repair,
}

impl<'a> Delivery<'a> {
    /// Returns a delivery; objects that the remote cannot take end it before anything is sent.
    pub fn new(job: Job<'a>, terms: Terms) -> Self {
        let mut delivery = Self::unbegun(job, terms);
        delivery.checked(Self::begin);
        delivery
    }

    /// Returns a delivery that goes on with the session of one that failed, to which a good part
    /// may have been uploaded already.
    pub fn with_session(job: Job<'a>, terms: Terms, session: Session) -> Self {
        let mut delivery = Self::unbegun(job, terms);
        delivery.checked(|delivery| {
            delivery.resume(session);
            Ok(())
        });
        delivery
    }

    fn unbegun(job: Job<'a>, terms: Terms) -> Self {
        Self {
            path: path::choose(&job, &terms),
            job,
            terms,
            places: OnceCell::new(),
            state: State::Supplying,
            id: 0,
            session: None,
            inline: Inline::default(),
            queue: VecDeque::new(),
            uploads: Vec::new(),
            scheduled: HashSet::new(),
            stalls: 0,
            renegotiated: false,
            uncertain: false,
        }
    }

    fn checked(&mut self, begin: impl FnOnce(&mut Self) -> Result<(), OperationError>) {
        let checked = size::check(&self.job, self.path, &self.terms.limits);
        let begun = checked.and_then(|()| begin(self));
        self.settle(begun);
    }

    fn begin(&mut self) -> Result<(), OperationError> {
        match self.path {
            Path::Fast => {
                self.inline = Inline::everything(self.job.tree);
                self.commit();
                Ok(())
            }
            Path::Straight => {
                let attached = self.pages_beyond_commit();
                self.negotiate(attached, Then::SupplyAll)
            }
            Path::Difference => self.negotiate(Vec::new(), Then::Compare),
        }
    }

    fn resume(&mut self, mut session: Session) {
        let wanted = std::mem::take(&mut session.wanted);
        self.inline = Inline::of(&session.inline, self.places());
        self.scheduled = session.staged.clone();
        self.session = Some(session);
        let of_the_document = self.uploadable();
        let objects: Vec<Staged> = of_the_document
            .filter(|object| wanted.contains(object))
            .collect();
        for object in objects {
            self.schedule(object);
        }
        // If nothing is left to upload, the next poll commits.
        self.state = State::Supplying;
    }

    /// Returns the objects of the document whose bytes are at hand.
    fn uploadable(&self) -> impl Iterator<Item = Staged> {
        let tree = self.job.tree;
        let pages = tree.pages.iter().map(|page| Staged::Page(page.hash));
        let elements = tree.elements.iter();
        let elements = elements.map(|element| Staged::Element(element.hash));
        let blobs = tree.blobs.iter().copied();
        let blobs = blobs.filter(|blob| self.job.blobs.contains_key(blob));
        pages.chain(elements).chain(blobs.map(Staged::Blob))
    }

    /// Opens a session.
    fn negotiate(&mut self, attached: Vec<usize>, then: Then) -> Result<(), OperationError> {
        self.check_document(size::negotiate_envelope(&self.job))?;
        let pages: Vec<&str> = attached
            .iter()
            .map(|place| &*self.job.tree.pages[*place].text)
            .collect();
        let request = negotiate::Request {
            file_uri: self.job.uri,
            document: &self.job.tree.document,
            pages: &pages,
        };
        let request = request.into_http(self.terms.contract);
        self.enter(State::Negotiating {
            exchange: Exchange::new(Operation::Negotiate, request),
            attached,
            then,
        });
        Ok(())
    }

    fn negotiated(
        &mut self,
        reply: negotiate::Reply,
        attached: &[usize],
        then: Then,
    ) -> Result<(), OperationError> {
        let pages = self.places().listed_pages(&reply.missing_pages)?;
        let elements = self
            .places()
            .listed_elements(&reply.missing_content_hashes)?;
        let tree = self.job.tree;
        let mut session = Session::new(reply.session);
        for place in attached {
            let page = Staged::Page(tree.pages[*place].hash);
            session.staged.insert(page);
            self.scheduled.insert(page);
        }
        self.session = Some(session);
        self.enter(State::Supplying);
        match then {
            Then::SupplyAll => {
                self.inline.pages = pages.into_iter().collect();
                self.inline.elements = (0..tree.elements.len()).collect();
                for blob in &tree.blobs {
                    self.want_blob(*blob)?;
                }
            }
            Then::Compare => {
                let attached = self.pages_to_attach(&pages);
                if attached.is_empty() {
                    self.take_up(&pages, elements);
                } else {
                    self.negotiate(attached, Then::CompareElements)?;
                }
            }
            Then::CompareElements => self.take_up(&pages, elements),
            Then::Repair => {}
        }
        Ok(())
    }

    /// Uploads the missing pages; the missing elements are for the commit.
    fn take_up(&mut self, pages: &[usize], elements: impl IntoIterator<Item = usize>) {
        for place in pages {
            self.schedule(Staged::Page(self.job.tree.pages[*place].hash));
        }
        self.inline.elements.extend(elements);
    }

    /// Starts over after the session ended, once; what it held is gone.
    fn expired(&mut self, error: OperationError) -> Result<(), OperationError> {
        self.session = None;
        if self.renegotiated {
            return Err(error);
        }
        self.renegotiated = true;
        self.inline = Inline::default();
        self.queue.clear();
        self.uploads.clear();
        self.scheduled.clear();
        self.begin()
    }

    fn uploaded(&mut self, object: Staged, below: &MissingBelow) -> Result<(), OperationError> {
        if let Some(session) = &mut self.session {
            session.staged.insert(object);
        }
        for place in self.places().listed_elements(&below.content_hashes)? {
            let element = Staged::Element(self.job.tree.elements[place].hash);
            if !self.scheduled.contains(&element) {
                self.inline.elements.insert(place);
            }
        }
        for blob in &below.blobs {
            self.places().listed_blob(*blob)?;
            self.want_blob(*blob)?;
        }
        Ok(())
    }

    /// Nothing is left to upload: stages what cannot be inline, or commits.
    fn advance(&mut self) -> Result<(), OperationError> {
        let session = self.session.as_ref().map(|session| &*session.id);
        let envelope = size::commit_envelope(&self.job, session);
        self.check_document(envelope)?;
        let mut to_stage = self.elements_to_ask(envelope);
        let room = self.terms.limits.max_payload_bytes - envelope;
        to_stage.extend(self.inline.overflow(self.job.tree, room));
        if to_stage.is_empty() {
            self.commit();
        } else if self.session.is_none() {
            return self.negotiate(Vec::new(), Then::Repair);
        }
        for object in to_stage {
            self.schedule(object);
        }
        Ok(())
    }

    fn commit(&mut self) {
        let tree = self.job.tree;
        let pages: Vec<&str> = self.inline.pages(tree).map(|page| &*page.text).collect();
        let elements = self.inline.elements(tree);
        let objects: Vec<&str> = elements.map(|element| &*element.text).collect();
        let request = commit::Request {
            uri: self.job.uri,
            precondition: self.job.precondition,
            document: &tree.document,
            pages: &pages,
            objects: &objects,
            staging_session: self.session.as_ref().map(|session| &*session.id),
        };
        let request = request.into_http(self.terms.contract);
        let committing = Committing::new(&self.job, self.terms.contract);
        self.enter(State::Committing(Box::new(Write::new(committing, request))));
    }

    /// Takes up what a commit was told to be missing.
    fn supply(&mut self, error: OperationError) -> Result<(), OperationError> {
        let missing = match &error {
            OperationError::Reply(ReplyError::Coded(coded)) => coded.missing.clone(),
            _ => None,
        };
        let missing = missing.map(|reported| reported.missing).unwrap_or_default();
        let mut stalled = missing.is_empty();
        self.enter(State::Supplying);
        for place in self.places().listed_pages(&missing.pages)? {
            let page = Staged::Page(self.job.tree.pages[place].hash);
            if self.inline.pages.contains(&place) {
                stalled = true;
            } else {
                stalled |= self.schedule_anew(page);
            }
        }
        for place in self.places().listed_elements(&missing.content_hashes)? {
            let element = Staged::Element(self.job.tree.elements[place].hash);
            let was_inline = !self.inline.elements.insert(place);
            stalled |= was_inline | self.forget(element);
        }
        for blob in missing.blobs {
            self.places().listed_blob(blob)?;
            stalled |= self.forget(Staged::Blob(blob));
            self.want_blob(blob)?;
        }
        self.stalls += u32::from(stalled);
        if self.stalls > MAX_STALLS {
            return Err(error);
        }
        if self.session.is_none() && !self.queue.is_empty() {
            return self.negotiate(Vec::new(), Then::Repair);
        }
        Ok(())
    }

    fn want_blob(&mut self, blob: BlobRef) -> Result<(), OperationError> {
        if !self.job.blobs.contains_key(&blob) {
            return Err(OperationError::MissingBlob { blob });
        }
        self.schedule(Staged::Blob(blob));
        Ok(())
    }

    /// Queues an object for upload unless it is on its way or there already; it is not inline then.
    fn schedule(&mut self, object: Staged) {
        if self.scheduled.insert(object) {
            self.queue.push_back(object);
        }
        // Even if a remote misses what it was just given: what is staged is not inline.
        let places = self.places.get_or_init(|| Places::of(self.job.tree));
        self.inline.remove(object, places);
    }

    /// Queues an object even if it was uploaded, and says whether it was.
    fn schedule_anew(&mut self, object: Staged) -> bool {
        let was_there = self.forget(object);
        self.schedule(object);
        was_there
    }

    /// Takes an object for not uploaded, and says whether it was.
    fn forget(&mut self, object: Staged) -> bool {
        if let Some(session) = &mut self.session {
            session.staged.remove(&object);
        }
        self.scheduled.remove(&object)
    }

    fn start(&mut self, object: Staged) {
        let Some(session) = &self.session else {
            return;
        };
        let (tree, places) = (self.job.tree, self.places());
        let scheduled = "only objects of the document are scheduled";
        let source = match object {
            Staged::Page(hash) => {
                let page = &tree.pages[places.page(&hash).expect(scheduled)];
                Source::Text((&*page.text).into())
            }
            Staged::Element(hash) => {
                let element = &tree.elements[places.element(&hash).expect(scheduled)];
                Source::Text(size::element_text(element, &self.terms.limits))
            }
            Staged::Blob(blob) => Source::Blob(self.job.blobs[&blob]),
        };
        let Terms {
            contract, limits, ..
        } = &self.terms;
        let mut upload = Upload::new(session.id.clone(), object, source, *contract, limits);
        if session.begun.contains(&object) {
            upload = upload.resuming();
        }
        self.id += 1;
        self.uploads.push((self.id, upload));
    }

    fn enter(&mut self, state: State) {
        self.id += 1;
        self.state = state;
    }

    /// Ends the delivery if a step failed.
    fn settle(&mut self, step: Result<(), OperationError>) {
        if let Err(error) = step {
            self.fail(error);
        }
    }

    fn fail(&mut self, error: OperationError) {
        let inline = self.inline.hashes(self.job.tree);
        let on_their_way = self.uploads.iter().map(|(_, upload)| upload);
        let begun = on_their_way.filter(|upload| upload.may_have_begun());
        let session = self.session.take().map(|mut session| {
            session.inline = inline;
            session.begun.extend(begun.map(Upload::object));
            let wanted = self.scheduled.difference(&session.staged);
            session.wanted = wanted.copied().collect();
            session
        });
        let failed = DeliveryFailed {
            error,
            outcome_unknown: self.uncertain,
            session,
        };
        self.enter(State::Ended(Some(Err(failed))));
    }

    /// What the end of some request asks for, if it was no success.
    fn stopped(&mut self, stopped: Stopped) {
        let step = match stopped.verdict {
            Verdict::Supply => self.supply(stopped.error),
            Verdict::Renegotiate => self.expired(stopped.error),
            _ => Err(stopped.error),
        };
        self.settle(step);
    }
}

/// Sizes and places.
impl Delivery<'_> {
    fn places(&self) -> &Places {
        self.places.get_or_init(|| Places::of(self.job.tree))
    }

    /// Refuses a body that is too long with nothing but the document object.
    fn check_document(&self, smallest: u64) -> Result<(), OperationError> {
        let limit = self.terms.limits.max_payload_bytes;
        if smallest <= limit {
            return Ok(());
        }
        Err(OperationError::TooLarge {
            object: Oversize::Document {
                doc_hash: self.job.tree.doc_hash,
            },
            size: smallest,
            limit,
        })
    }

    /// Returns which of the missing pages to attach to another negotiate: none if that costs more
    /// than to upload each, or if none fits beside the document object.
    fn pages_to_attach(&self, missing: &[usize]) -> Vec<usize> {
        let document = size::negotiate_envelope(&self.job);
        if !path::attaches(document, missing.len(), self.terms.in_flight) {
            return Vec::new();
        }
        self.smallest_pages(missing.to_vec())
    }

    /// Returns the pages to attach where all is missing: none if the commit can carry everything.
    fn pages_beyond_commit(&self) -> Vec<usize> {
        let envelope = size::commit_envelope_in_session(&self.job);
        let body = envelope + size::everything(self.job.tree);
        if body <= self.terms.limits.max_payload_bytes {
            return Vec::new();
        }
        self.smallest_pages((0..self.job.tree.pages.len()).collect())
    }

    /// Returns as many of `pages` as one negotiate can carry: the smallest, in reading order.
    fn smallest_pages(&self, mut pages: Vec<usize>) -> Vec<usize> {
        let length = |place: &usize| self.job.tree.pages[*place].text.len();
        pages.sort_by_key(length);
        let envelope = size::negotiate_envelope(&self.job);
        let mut lists = size::Lists::default();
        let fits = |place: &usize| {
            lists.add_page(length(place));
            envelope + lists.length() <= self.terms.limits.max_payload_bytes
        };
        let mut attached: Vec<usize> = pages.into_iter().take_while(fits).collect();
        attached.sort_unstable();
        attached
    }

    /// Returns the elements that are worth uploading on their own, because the reply says whether
    /// their blob is missing: one for each blob.
    fn elements_to_ask(&self, envelope: u64) -> Vec<Staged> {
        if self.path != Path::Difference || self.session.is_none() {
            return Vec::new();
        }
        let told = self.blobs_told_about();
        let is_unsure = |blob| {
            let is_at_hand = self.job.blobs.contains_key(&blob);
            is_at_hand && !told.contains(&blob) && !self.scheduled.contains(&Staged::Blob(blob))
        };
        let unsure = self.inline.of_blobs(self.job.tree, is_unsure);
        let commit = envelope + self.inline.length(self.job.tree);
        if path::asks_for_blobs(commit, unsure.len(), self.terms.in_flight) {
            unsure
        } else {
            Vec::new()
        }
    }

    /// Returns the blobs of the elements that were uploaded: the replies named those that are
    /// missing, whichever other element refers to them.
    fn blobs_told_about(&self) -> HashSet<BlobRef> {
        let elements = self.job.tree.elements.iter();
        let uploaded =
            elements.filter(|element| self.scheduled.contains(&Staged::Element(element.hash)));
        uploaded.filter_map(|element| element.blob).collect()
    }
}

impl Machine for Delivery<'_> {
    type Outcome = Result<Delivered, DeliveryFailed>;

    fn poll(&mut self) -> Step<Self::Outcome> {
        loop {
            let outgoing = match &mut self.state {
                State::Ended(end) => {
                    return end.take().map_or(Step::Idle, Step::Done);
                }
                State::Negotiating { exchange, .. } => exchange.poll(),
                State::Committing(write) => write.poll_request(),
                State::Supplying => {
                    for (id, upload) in &mut self.uploads {
                        if let Some(outgoing) = upload.poll_request() {
                            return Step::Send(*id, outgoing);
                        }
                    }
                    if self.uploads.len() < self.terms.in_flight.max(1)
                        && let Some(object) = self.queue.pop_front()
                    {
                        self.start(object);
                        continue;
                    }
                    if !self.uploads.is_empty() {
                        return Step::Idle;
                    }
                    let step = self.advance();
                    self.settle(step);
                    continue;
                }
            };
            return outgoing.map_or(Step::Idle, |outgoing| Step::Send(self.id, outgoing));
        }
    }

    fn handle(&mut self, id: Id, fate: Fate, now: Timestamp) {
        match &mut self.state {
            State::Negotiating {
                exchange,
                attached,
                then,
            } if id == self.id => {
                let contract = self.terms.contract;
                let decode = |response: &Response| negotiate::decode(response, contract);
                let Some(arrived) = exchange.handle(fate, false, now, decode) else {
                    return;
                };
                let (attached, then) = (std::mem::take(attached), *then);
                let step = arrived
                    .result
                    .and_then(|reply| self.negotiated(reply, &attached, then));
                self.settle(step);
            }
            State::Committing(write) if id == self.id => {
                write.handle_end(fate, now);
                self.uncertain |= write.is_uncertain();
                match write.take_end() {
                    None => {}
                    Some(Ok(delivered)) => self.enter(State::Ended(Some(Ok(delivered)))),
                    Some(Err(stopped)) => self.stopped(stopped),
                }
            }
            State::Supplying => self.handle_upload(id, fate, now),
            _ => {}
        }
    }
}

impl Delivery<'_> {
    fn handle_upload(&mut self, id: Id, fate: Fate, now: Timestamp) {
        let Some(at) = self.uploads.iter().position(|(known, _)| *known == id) else {
            return;
        };
        let (_, upload) = &mut self.uploads[at];
        upload.handle_end(fate, now);
        let Some(end) = upload.take_end() else {
            return;
        };
        let object = upload.object();
        let may_have_begun = upload.may_have_begun();
        self.uploads.swap_remove(at);
        if let Some(session) = &mut self.session {
            if end.is_ok() || !may_have_begun {
                session.begun.remove(&object);
            } else {
                session.begun.insert(object);
            }
        }
        match end {
            Ok(below) => {
                let step = self.uploaded(object, &below);
                self.settle(step);
            }
            Err(stopped) => self.stopped(stopped),
        }
    }
}
