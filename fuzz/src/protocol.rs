//! What holds for the protocol under any replies. `tests/protocol/properties.rs` of the tool includes this file.

use std::collections::{HashMap, VecDeque};

use bytes::Bytes;
use dpe::json::Text;
use dpe::model::{BlobRef, Contract, Contracts, FileUri, Hash, Tree};
use dpe::protocol::delivery::{Delete, Delivery, Job, Precondition, Terms};
use dpe::protocol::wire::capabilities::Limits;
use dpe::protocol::{ContentRange, Fate, Machine, Request, Response, Staged, Step, wire};
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};

/// A hash that no object has.
const FOREIGN: &str = "dpe1:0000000000000000000000000000000000000000000000000000000000000000";

/// No decoder panics, and what one accepts says what it should.
pub fn replies(data: &[u8]) {
    let mut dice = Dice(data);
    let response = dice.response();
    let contract = Contract::Dpe1;
    let hash = Hash::parse(FOREIGN, Contracts::SUPPORTED).expect("a valid hash");
    let uri = FileUri::parse("x://y").expect("a valid URI");
    let _ = wire::capabilities::decode(&response);
    let _ = wire::head::decode(&response, contract);
    let _ = wire::skeleton::decode(&response, contract, &uri);
    let _ = wire::list::decode(&response, contract, "x");
    let _ = wire::resume::decode(&response, contract);
    let _ = wire::negotiate::decode(&response, contract);
    let _ = wire::delete::decode(&response, contract);
    if let Ok(heads) = wire::heads::decode(&response, contract, 2) {
        assert_eq!(heads.len(), 2);
    }
    for is_chunk in [false, true] {
        for object in [
            Staged::Page(hash),
            Staged::Element(hash),
            Staged::Blob(BlobRef::of(b"")),
        ] {
            let _ = wire::upload::decode(&response, contract, object, is_chunk);
        }
    }
    if let Ok(reply) = wire::commit::decode(&response, contract, hash, 3) {
        assert_eq!(reply.doc_hash, hash);
        assert_eq!(reply.delta.added + reply.delta.retained, 3);
    }
    if let Ok(moved) = wire::move_::decode(&response, contract, hash) {
        assert_eq!(moved, hash);
    }
}

/// Whatever replies come and in which order: no machine panics, waits for nothing, sends what it may
/// not, or goes on for ever.
pub fn delivery(data: &[u8]) {
    let mut dice = Dice(data);
    let tree = tree(&mut dice);
    let uri = FileUri::parse("x://y").expect("a valid URI");
    let limits = Limits {
        max_payload_bytes: 600 + u64::from(dice.roll()) * 20,
        page_max_bytes: 5000,
        blob_max_bytes: 5000,
        blob_chunk_bytes: 50 + u64::from(dice.roll()) * 10,
        ..Limits::default()
    };
    let terms = Terms {
        in_flight: usize::from(dice.roll() % 4),
        fast_update_bytes: u64::from(dice.roll()) * 30,
        ..Terms::new(Contract::Dpe1, limits)
    };
    let other = Hash::parse(FOREIGN, Contracts::SUPPORTED).expect("a valid hash");
    if dice.roll() < 16 {
        let delete = Delete::of(&uri, other, Contract::Dpe1);
        let _ = Run::new(&tree, limits).drive(delete, &mut dice);
    }
    let precondition = match dice.roll() % 3 {
        0 => Precondition::IfAbsent,
        1 => Precondition::Base(other),
        _ => Precondition::Force,
    };
    let blobs: HashMap<BlobRef, u64> = if dice.roll() % 8 == 0 {
        HashMap::new()
    } else {
        tree.blobs
            .iter()
            .copied()
            .zip([0, 40, 900, 3000].into_iter().cycle())
            .collect()
    };
    let job = Job {
        uri: &uri,
        precondition,
        tree: &tree,
        blobs,
    };
    let mut run = Run::new(&tree, limits);
    let end = run.drive(Delivery::new(job.clone(), terms), &mut dice);
    if let Err(failed) = end
        && let Some(session) = failed.session
    {
        let again = Delivery::with_session(job, terms, session);
        run.force_in_doubt = false;
        let _ = run.drive(again, &mut dice);
    }
}

/// One run of a machine, with the rules for what leaves.
struct Run<'a> {
    tree: &'a Tree,
    limits: Limits,
    force_in_doubt: bool,
    doubtful: Vec<String>,
}

impl<'a> Run<'a> {
    fn new(tree: &'a Tree, limits: Limits) -> Self {
        Self {
            tree,
            limits,
            force_in_doubt: false,
            doubtful: Vec::new(),
        }
    }

    fn drive<M: Machine>(&mut self, mut machine: M, dice: &mut Dice<'_>) -> M::Outcome {
        let now = "2026-11-30T00:00:00Z".parse().expect("a valid instant");
        let mut flying = VecDeque::new();
        for _ in 0..20_000 {
            match machine.poll() {
                Step::Done(outcome) => return outcome,
                Step::Send(id, outgoing) => {
                    let mut request = outgoing.request;
                    if let Some(part) = outgoing.part {
                        request.body = Some(Bytes::from(vec![0; part.length]));
                    }
                    self.watch(&request);
                    flying.push_back((id, request));
                }
                Step::Idle => {
                    if dice.roll().is_multiple_of(2) {
                        flying.rotate_left(1);
                    }
                    let (id, request) = flying.pop_front().expect("idle with nothing in flight");
                    let fate = self.fate(&request, dice);
                    machine.handle(id, fate, now);
                }
            }
        }
        panic!("it never ends")
    }

    fn watch(&self, request: &Request) {
        let length = request.body.as_ref().map_or(0, |body| body.len() as u64);
        assert!(length <= self.limits.max_payload_bytes);
        if let Some((_, range)) = request
            .headers
            .iter()
            .find(|(name, _)| *name == header::CONTENT_RANGE)
        {
            let range = ContentRange::parse(range.as_bytes()).expect("never an empty range");
            assert_eq!(range.length(), length);
            assert!(length <= self.limits.blob_chunk_bytes);
            assert!(!self.doubtful.contains(&request.target), "resent blindly");
        }
        assert!(
            !(self.force_in_doubt && is_forced(request)),
            "force is sent again"
        );
    }

    fn fate(&mut self, request: &Request, dice: &mut Dice<'_>) -> Fate {
        let fate = match dice.roll() % 16 {
            0 => Fate::NotSent(String::new()),
            1 | 2 => Fate::Lost(String::new()),
            3 => Fate::Answered(dice.response()),
            4 => Fate::Local(String::new()),
            _ => Fate::Answered(self.plausible(request, dice)),
        };
        let in_doubt = match &fate {
            Fate::Lost(_) => true,
            Fate::Answered(response) => {
                let code = response.headers.get("dpe-error-code");
                let is_coded = code.is_some_and(|code| code != "A, B");
                matches!(response.status, 502 | 504) && !is_coded
            }
            _ => false,
        };
        let is_chunk = request
            .headers
            .iter()
            .any(|(name, _)| *name == header::CONTENT_RANGE);
        if in_doubt && is_chunk {
            self.doubtful.push(request.target.clone());
        }
        if request.method == Method::HEAD {
            self.doubtful.retain(|target| *target != request.target);
        }
        self.force_in_doubt |= in_doubt && is_forced(request);
        fate
    }

    /// A reply that such a request may get, with the numbers and lists by chance.
    fn plausible(&self, request: &Request, dice: &mut Dice<'_>) -> Response {
        let roll = dice.roll();
        let (pages, elements, blobs) = self.some(dice);
        let missing = format!(
            r#"{{"code":"DPE_MISSING_CONTENT","missing":{{"pages":[{pages}],"content_hashes":[{elements}],"blobs":[{blobs}]}}}}"#
        );
        let hash = self.tree.doc_hash;
        match (request.method.as_str(), roll % 8) {
            (_, 0) => problem(410, r#"{"code":"DPE_SESSION_EXPIRED"}"#.to_owned()),
            ("PUT", 1) if request.target.starts_with("documents") => problem(400, missing),
            ("POST", _) => answer(
                200,
                &[],
                format!(
                    r#"{{"missing_pages":[{pages}],"missing_content_hashes":[{elements}],"staging_session":{{"id":"s{roll}","expires_at":"2026-12-01T00:00:00Z"}}}}"#
                ),
            ),
            ("HEAD", _) if request.target.starts_with("staging") => {
                answer(200, &[("dpe-upload-offset", offset(dice))], String::new())
            }
            ("HEAD", _) => answer(200, &[("dpe-doc-hash", hash.to_string())], String::new()),
            ("PUT", 2..5) if request.target.starts_with("documents") => problem(400, missing),
            ("PUT", _) if request.target.starts_with("documents") => {
                let count = self.tree.element_count;
                answer(
                    200,
                    &[],
                    format!(
                        r#"{{"status":"unchanged","doc_hash":"{hash}","delta":{{"added":0,"removed":0,"retained":{count}}}}}"#
                    ),
                )
            }
            ("PUT", 1) => {
                let offset = ("dpe-upload-offset", offset(dice));
                let code = ("dpe-error-code", "DPE_VALIDATION".to_owned());
                answer(400, &[offset, code], String::new())
            }
            ("PUT", 2..5) => {
                let range = request
                    .headers
                    .iter()
                    .find(|(name, _)| *name == header::CONTENT_RANGE);
                let end = range.and_then(|(_, range)| ContentRange::parse(range.as_bytes()));
                let end = end.map_or(0, |range| range.end());
                answer(
                    202,
                    &[("dpe-upload-offset", end.to_string())],
                    String::new(),
                )
            }
            ("PUT", _) => answer(
                201,
                &[],
                format!(r#"{{"missing_content_hashes":[{elements}],"missing_blobs":[{blobs}]}}"#),
            ),
            _ => answer(204, &[], String::new()),
        }
    }

    /// Some of the document's objects, and seldom one that is none.
    fn some(&self, dice: &mut Dice<'_>) -> (String, String, String) {
        let mut pick = |names: Vec<String>| {
            let mut names: Vec<String> = names
                .into_iter()
                .filter(|_| dice.roll().is_multiple_of(3))
                .map(|name| format!("\"{name}\""))
                .collect();
            if dice.roll() == 255 {
                names.push(format!("\"{FOREIGN}\""));
            }
            names.join(",")
        };
        (
            pick(
                self.tree
                    .pages
                    .iter()
                    .map(|page| page.hash.to_string())
                    .collect(),
            ),
            pick(
                self.tree
                    .elements
                    .iter()
                    .map(|element| element.hash.to_string())
                    .collect(),
            ),
            pick(self.tree.blobs.iter().map(BlobRef::to_string).collect()),
        )
    }
}

fn offset(dice: &mut Dice<'_>) -> String {
    (u64::from(dice.roll()) * 13).to_string()
}

fn is_forced(request: &Request) -> bool {
    let is_condition =
        |name: &HeaderName| *name == header::IF_MATCH || *name == header::IF_NONE_MATCH;
    request.method == Method::PUT
        && request.target.starts_with("documents")
        && !request.headers.iter().any(|(name, _)| is_condition(name))
}

fn problem(status: u16, body: String) -> Response {
    let media_type = "application/problem+json".to_owned();
    answer(status, &[("content-type", media_type)], body)
}

fn answer(status: u16, headers: &[(&'static str, String)], body: String) -> Response {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        let value = HeaderValue::from_str(value).expect("printable");
        map.insert(HeaderName::from_static(name), value);
    }
    Response {
        status,
        headers: map,
        body: body.into(),
    }
}

/// A small document, some elements with blobs.
fn tree(dice: &mut Dice<'_>) -> Tree {
    let mut pages = Vec::new();
    for page in 0..dice.roll() % 6 {
        let mut elements = Vec::new();
        for element in 0..dice.roll() % 6 {
            let length = usize::from(dice.roll() % 8) * 60;
            elements.push(if dice.roll().is_multiple_of(4) {
                let blob = BlobRef::of(&[element % 4]);
                format!(r#"{{"category":"Image","blob":"{blob}","text":"{page}"}}"#)
            } else {
                format!(r#"{{"category":"Title","text":"{page}{element:0length$}"}}"#)
            });
        }
        pages.push(format!(r#"{{"elements":[{}]}}"#, elements.join(",")));
    }
    let text = format!(r#"{{"file_type":"txt","pages":[{}]}}"#, pages.join(","));
    let text = Text::parse(text.as_bytes()).expect("valid JSON");
    Tree::of_expanded(text.root(), Contract::Dpe1, |_| Ok(None)).expect("a valid document")
}

/// Chance that comes from the input; zeros when it is used up.
struct Dice<'d>(&'d [u8]);

impl Dice<'_> {
    fn roll(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        *first
    }

    /// Any reply: a status, a few header fields, and bytes as a body.
    fn response(&mut self) -> Response {
        const STATUS: [u16; 16] = [
            200, 201, 202, 204, 206, 304, 307, 400, 404, 409, 410, 412, 413, 429, 502, 503,
        ];
        const CODES: [&str; 8] = [
            "DPE_VALIDATION",
            "DPE_NOT_FOUND",
            "DPE_MISSING_CONTENT",
            "DPE_SESSION_EXPIRED",
            "DPE_HASH_MISMATCH",
            "DPE_UNAVAILABLE",
            "DPE_NEW",
            "A, B",
        ];
        let status = STATUS[usize::from(self.roll() % 16)];
        let mut headers = HeaderMap::new();
        let flags = self.roll();
        let mut field = |bit: u8, name: &'static str, value: &[u8]| {
            if flags & bit != 0
                && let Ok(value) = HeaderValue::from_bytes(value)
            {
                headers.append(HeaderName::from_static(name), value);
            }
        };
        let code = CODES[usize::from(self.roll() % 8)];
        field(1, "dpe-error-code", code.as_bytes());
        field(2, "content-type", b"application/problem+json");
        field(4, "dpe-doc-hash", FOREIGN.as_bytes());
        let offset = self.roll().to_string();
        field(8, "dpe-upload-offset", offset.as_bytes());
        let length = usize::from(self.roll() % 40).min(self.0.len());
        let (text, body) = self.0.split_at(length);
        field(16, "retry-after", text);
        field(32, "dpe-upload-offset", text);
        let body = body[..body.len().min(600)].to_vec();
        self.0 = &self.0[length + body.len()..];
        Response {
            status,
            headers,
            body: body.into(),
        }
    }
}
