//! A link that loses, delays, repeats and truncates, over a remote that does none of it.
//!
//! It also watches: what leaves may not break a rule, and what the remote then holds is noted
//! after every request that may have changed it.

use std::collections::HashSet;

use bytes::Bytes;
use dpe::model::{Contract, FileUri, Hash};
use dpe::protocol::wire::capabilities::Limits;
use dpe::protocol::wire::{commit, head, negotiate};
use dpe::protocol::{ContentRange, Fate, Request, Response};
use dpe::sync::ports::Transport;
use http::{HeaderMap, HeaderValue, Method, header};
use jiff::{SignedDuration, Timestamp};

use super::chance::Chance;

/// What the two documents of a run hold.
pub(super) type Held = [Option<Hash>; 2];

/// The link.
pub(super) struct Link<'a, T> {
    far: &'a T,
    pub(super) chance: Chance,
    pub(super) now: Timestamp,
    limits: Limits,
    uris: [FileUri; 2],
    /// So many of a thousand requests meet a fault.
    pub(super) faults: usize,
    /// Number of the operation under way.
    pub(super) operation: usize,
    /// Requests that count as lost and arrive later, with their operation.
    late: Vec<(usize, Request)>,
    /// What was held since the operation began, oldest first.
    pub(super) held: Vec<Held>,
    /// Operations that changed something.
    pub(super) effective: HashSet<usize>,
    /// Targets of chunks whose fate is in doubt.
    doubtful: HashSet<String>,
    /// Operations whose forced commit may have arrived.
    forced: HashSet<usize>,
    sessions: Vec<String>,
    pub(super) requests: usize,
    /// What happened, for a failing seed.
    pub(super) story: Vec<String>,
    /// A document object that somebody else writes now and then.
    pub(super) foreign: Option<Request>,
}

impl<'a, T: Transport> Link<'a, T> {
    pub(super) fn new(far: &'a T, limits: Limits, uris: [FileUri; 2], chance: Chance) -> Self {
        Self {
            far,
            chance,
            now: "2026-11-30T00:00:00Z".parse().unwrap(),
            limits,
            uris,
            faults: 0,
            operation: 0,
            late: Vec::new(),
            held: Vec::new(),
            effective: HashSet::new(),
            doubtful: HashSet::new(),
            forced: HashSet::new(),
            sessions: Vec::new(),
            requests: 0,
            story: Vec::new(),
            foreign: None,
        }
    }

    /// Begins an operation and returns what is held now.
    pub(super) async fn begin(&mut self, faults: usize) -> Held {
        self.operation += 1;
        self.faults = faults;
        self.requests = 0;
        let held = self.read().await;
        self.held = vec![held];
        held
    }

    pub(super) fn wait(&mut self, after: std::time::Duration) {
        self.now += SignedDuration::try_from(after).unwrap();
    }

    /// Carries one request, or not.
    pub(super) async fn carry(&mut self, request: Request) -> Fate {
        self.requests += 1;
        assert!(self.requests < 2000, "it never ends");
        self.watch(&request);
        let line = format!("{} {}", request.method, request.target);
        self.others_act().await;
        let fate = if self.chance.in_thousand(self.faults) {
            self.mistreat(request.clone()).await
        } else {
            Fate::Answered(self.deliver(request.clone()).await)
        };
        self.note(&request, &fate);
        let end = match &fate {
            Fate::Answered(response) => {
                let start = &response.body[..response.body.len().min(160)];
                format!("{} {}", response.status, String::from_utf8_lossy(start))
            }
            other => format!("{other:?}"),
        };
        self.story
            .push(format!("{}: {line} -> {end}", self.operation));
        fate
    }

    /// What goes wrong between here and there.
    async fn mistreat(&mut self, request: Request) -> Fate {
        match self.chance.of(0..13) {
            0 => Fate::NotSent("refused".into()),
            1 => Fate::Lost("lost on the way there".into()),
            2 | 3 => {
                self.deliver(request).await;
                Fate::Lost("the reply is lost".into())
            }
            4 => {
                self.late.push((self.operation, request));
                Fate::Lost("late".into())
            }
            5 => Fate::Answered(self.coded(429, "DPE_RATE_LIMITED")),
            6 => Fate::Answered(self.coded(503, "DPE_UNAVAILABLE")),
            7 => {
                let is_conditional = request
                    .headers
                    .iter()
                    .any(|(name, _)| *name == header::IF_MATCH || *name == header::IF_NONE_MATCH);
                if !is_conditional || self.chance.in_thousand(300) {
                    // A 412 for a write that took effect is a lie that a head uncovers only while
                    // nobody else writes.
                    self.foreign = None;
                    self.deliver(request).await;
                }
                Fate::Answered(page(412))
            }
            8 => {
                if self.chance.in_thousand(500) {
                    self.deliver(request).await;
                }
                Fate::Answered(page([502, 504][self.chance.of(0..2)]))
            }
            9 => {
                if self.chance.in_thousand(500) {
                    self.deliver(request).await;
                }
                Fate::Answered(page([400, 404, 413, 429, 500, 503][self.chance.of(0..6)]))
            }
            10 => {
                self.deliver(request).await;
                Fate::Answered(page(200))
            }
            11 => {
                // Somebody between repeats the request, and passes on one of the replies; never a
                // forced commit, which nobody could tell from another one, and of a delete not the
                // second reply, which would be a lie.
                if is_forced(&request) {
                    return Fate::Answered(self.deliver(request).await);
                }
                let is_delete = request.method == Method::DELETE;
                let first = self.deliver(request.clone()).await;
                let second = self.deliver(request).await;
                Fate::Answered(if is_delete { first } else { second })
            }
            _ => {
                let mut cut = request;
                if let Some(body) = cut.body.as_mut().filter(|body| body.len() > 1) {
                    body.truncate(body.len() / 2);
                    self.deliver(cut).await;
                }
                Fate::Lost("cut off".into())
            }
        }
    }

    /// Late requests arrive, somebody else writes, a session ends.
    async fn others_act(&mut self) {
        if !self.late.is_empty() && self.chance.in_thousand(300) {
            let at = self.chance.of(0..self.late.len());
            let (operation, request) = self.late.remove(at);
            let line = format!("{}: late {} {}", operation, request.method, request.target);
            self.story.push(line);
            self.deliver_of(operation, request).await;
        }
        if self.faults == 0 {
            return;
        }
        if self.chance.in_thousand(30)
            && let Some(foreign) = self.foreign.clone()
        {
            self.story.push("somebody else writes".into());
            self.far.send(foreign).await.unwrap();
            let held = self.read().await;
            self.held.push(held);
        }
        if self.chance.in_thousand(20)
            && let Some(session) = self.sessions.pop()
        {
            self.story.push(format!("{session} ends"));
            self.end_session(&session).await;
        }
    }

    async fn end_session(&self, session: &str) {
        let request = Request {
            method: Method::POST,
            target: "__hooks__/expire-session".into(),
            headers: vec![(header::CONTENT_TYPE, "application/json".into())],
            body: Some(format!(r#"{{"session_id":"{session}"}}"#).into()),
            longest_reply: 1 << 20,
        };
        let response = self.far.send(request).await.unwrap();
        assert_eq!(response.status, 200, "{:?}", response.body);
    }

    async fn deliver(&mut self, request: Request) -> Response {
        self.deliver_of(self.operation, request).await
    }

    async fn deliver_of(&mut self, operation: usize, request: Request) -> Response {
        let may_change = request.target == "move"
            || request.target.starts_with("documents") && request.method != Method::HEAD;
        let is_negotiate = request.target == "negotiate";
        let before = if may_change {
            Some(self.read().await)
        } else {
            None
        };
        let response = self.far.send(request).await.unwrap();
        if let Some(before) = before {
            let after = self.read().await;
            if after != before {
                self.effective.insert(operation);
            }
            self.held.push(after);
        }
        if is_negotiate && let Ok(reply) = negotiate::decode(&response, Contract::Dpe1) {
            self.sessions.push(reply.session);
        }
        response
    }

    async fn read(&self) -> Held {
        let mut held = [None, None];
        for (held, uri) in held.iter_mut().zip(&self.uris) {
            let request = head::Request { uri: uri.as_str() }.into_http(Contract::Dpe1);
            let response = self.far.send(request).await.unwrap();
            *held = head::decode(&response, Contract::Dpe1).unwrap();
        }
        held
    }

    /// The rules for what leaves.
    fn watch(&mut self, request: &Request) {
        let length = request.body.as_ref().map_or(0, |body| body.len() as u64);
        assert!(length <= self.limits.max_payload_bytes, "{request:?}");
        let range = request
            .headers
            .iter()
            .find(|(name, _)| *name == header::CONTENT_RANGE);
        if let Some((_, range)) = range {
            let range = ContentRange::parse(range.as_bytes()).expect("no empty range");
            assert_eq!(range.length(), length);
            assert!(length <= self.limits.blob_chunk_bytes);
            assert!(!self.doubtful.contains(&request.target), "{request:?}");
        }
        if is_forced(request) {
            assert!(
                !self.forced.contains(&self.operation),
                "force is sent again"
            );
        }
    }

    /// What follows from how a request ended.
    fn note(&mut self, request: &Request, fate: &Fate) {
        let in_doubt = match fate {
            Fate::Lost(_) => true,
            Fate::Answered(response) => {
                let has_code = response.headers.contains_key("dpe-error-code");
                matches!(response.status, 502 | 504) && !has_code
            }
            _ => false,
        };
        let is_chunk = request
            .headers
            .iter()
            .any(|(name, _)| *name == header::CONTENT_RANGE);
        if in_doubt && is_chunk {
            self.doubtful.insert(request.target.clone());
        }
        if in_doubt && is_forced(request) {
            self.forced.insert(self.operation);
        }
        if request.method == Method::HEAD && matches!(fate, Fate::Answered(_)) {
            self.doubtful.remove(&request.target);
        }
    }

    /// A coded error that asks to come again, most often soon.
    fn coded(&mut self, status: u16, code: &str) -> Response {
        let mut headers = HeaderMap::new();
        headers.insert("dpe-error-code", HeaderValue::from_str(code).unwrap());
        let wait = match self.chance.of(0..8) {
            0 => None,
            1 => Some("86400".to_owned()),
            2 => Some(
                (self.now + SignedDuration::from_secs(7))
                    .strftime("%a, %d %b %Y %H:%M:%S GMT")
                    .to_string(),
            ),
            _ => Some(self.chance.of(0..5).to_string()),
        };
        if let Some(wait) = wait {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_str(&wait).unwrap());
        }
        Response {
            status,
            headers,
            body: Bytes::new(),
        }
    }
}

fn is_forced(request: &Request) -> bool {
    request.method == Method::PUT
        && request.target.starts_with("documents")
        && request
            .headers
            .iter()
            .all(|(name, _)| *name != header::IF_MATCH && *name != header::IF_NONE_MATCH)
}

/// What a gateway says.
fn page(status: u16) -> Response {
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html"));
    Response {
        status,
        headers,
        body: Bytes::from_static(b"<html><h1>Gateway</h1></html>"),
    }
}

/// A forced commit of a small document by somebody else.
pub(super) fn foreign(uri: &FileUri, document: &str) -> Request {
    commit::Request {
        uri,
        precondition: commit::Precondition::Force,
        document,
        pages: &[],
        objects: &[],
        staging_session: None,
    }
    .into_http(Contract::Dpe1)
}
