//! Random negotiations, uploads, commits, deletes and moves against a model that is too simple to
//! be wrong.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::content;
use super::remote::{DPE1, IF_ABSENT, Remote, Reply, target};

const URIS: [&str; 3] = ["x:a", "x:b", "x:c"];
const WRONG: &str = "dpe1:0000000000000000000000000000000000000000000000000000000000000000";

/// Reference of the blob of the one element that has one.
const BLOB: &str = content::HELLO;

/// Texts of the elements of each page.
type Texts = Vec<Vec<u8>>;

#[derive(Clone, Debug)]
enum Condition {
    IfAbsent,
    Current,
    Wrong,
    Force,
}

#[derive(Clone, Debug)]
enum Operation {
    Commit {
        uri: usize,
        condition: Condition,
        texts: Texts,
        /// Whether page n, or the element of text n, is inline.
        inline_pages: [bool; 4],
        inline_elements: [bool; 4],
        /// What a session has, if there is one.
        staged: Option<StagedParts>,
    },
    Delete {
        uri: usize,
        right: bool,
    },
    Move {
        from: usize,
        to: usize,
        right: bool,
    },
}

/// Whether page n, or the element of text n, is staged, and the blob.
#[derive(Clone, Debug)]
struct StagedParts {
    pages: [bool; 4],
    elements: [bool; 4],
    blob: bool,
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let condition = prop_oneof![
        3 => Just(Condition::IfAbsent),
        5 => Just(Condition::Current),
        1 => Just(Condition::Wrong),
        2 => Just(Condition::Force),
    ];
    let texts = prop::collection::vec(prop::collection::vec(0..4_u8, 0..4), 0..4);
    // Mostly everything is inline, or nearly nothing ever succeeds.
    let mostly = || prop::array::uniform4(prop::bool::weighted(0.8));
    let staged =
        (mostly(), mostly(), prop::bool::weighted(0.8)).prop_map(|(pages, elements, blob)| {
            StagedParts {
                pages,
                elements,
                blob,
            }
        });
    let staged = prop::option::weighted(0.6, staged);
    let commit = (0..3_usize, condition, texts, mostly(), mostly(), staged).prop_map(
        |(uri, condition, texts, inline_pages, inline_elements, staged)| Operation::Commit {
            uri,
            condition,
            texts,
            inline_pages,
            inline_elements,
            staged,
        },
    );
    let right = || prop::bool::weighted(0.8);
    let delete = (0..3_usize, right()).prop_map(|(uri, right)| Operation::Delete { uri, right });
    let move_ = (0..3_usize, 0..3_usize, right()).prop_map(|(from, to, right)| Operation::Move {
        from,
        to,
        right,
    });
    prop::collection::vec(prop_oneof![6 => commit, 1 => delete, 2 => move_], 1..30)
}

/// A document as the model has it.
#[derive(Clone, Debug, PartialEq)]
struct Document {
    hash: String,
    object: Value,
    pages: Vec<Page>,
}

/// Hash, object and element hashes of a page.
type Page = (String, Value, Vec<String>);

impl Document {
    fn new(texts: &Texts) -> Self {
        let pages: Vec<_> = texts
            .iter()
            .map(|texts| {
                let elements: Vec<_> = texts.iter().map(|text| element(*text).1).collect();
                let (page, hash) = content::page(&as_strs(&elements));
                (hash, page, elements)
            })
            .collect();
        let hashes: Vec<_> = pages.iter().map(|page| page.0.clone()).collect();
        let (object, hash) = content::doc(&as_strs(&hashes));
        Self {
            hash,
            object,
            pages,
        }
    }

    fn elements(&self) -> impl Iterator<Item = &String> {
        self.pages.iter().flat_map(|page| &page.2)
    }
}

fn as_strs(strings: &[String]) -> Vec<&str> {
    strings.iter().map(String::as_str).collect()
}

/// The element of text 3 is an image.
fn element(text: u8) -> (Value, String) {
    if text == 3 {
        (content::e3(), content::E3.to_owned())
    } else {
        content::text(&text.to_string())
    }
}

/// What came with a commit, inline or in its session.
struct Written {
    pages: BTreeSet<String>,
    elements: BTreeSet<String>,
    blob: bool,
}

#[derive(Default)]
struct Model(BTreeMap<&'static str, Document>);

/// Status, and the code or the body that must come with it.
type Expected = (u16, Value);

impl Model {
    fn hash(&self, uri: usize) -> Option<&str> {
        self.0.get(URIS[uri]).map(|document| document.hash.as_str())
    }

    fn base(&self, uri: usize, right: bool) -> String {
        let current = self.hash(uri).filter(|_| right);
        current.unwrap_or(WRONG).to_owned()
    }

    /// Pages and elements that a negotiation with attached pages finds missing.
    fn missing(&self, uri: usize, document: &Document, attached: &[&Page]) -> Value {
        let old = self.0.get(URIS[uri]);
        let (mut pages, mut elements) = (Vec::new(), Vec::new());
        for (hash, ..) in &document.pages {
            let is_old = old.is_some_and(|old| old.pages.iter().any(|old| old.0 == *hash));
            let is_attached = attached.iter().any(|page| page.0 == *hash);
            if !is_old && !is_attached && !pages.contains(hash) {
                pages.push(hash.clone());
            }
        }
        for child in attached.iter().flat_map(|page| &page.2) {
            let is_old = old.is_some_and(|old| old.elements().any(|old| old == child));
            if !is_old && !elements.contains(child) {
                elements.push(child.clone());
            }
        }
        json!([pages, elements])
    }

    fn commit(
        &mut self,
        uri: usize,
        condition: &Condition,
        document: Document,
        written: &Written,
    ) -> Expected {
        let old = self.0.get(URIS[uri]).cloned();
        let total = document.elements().count();
        let reply = |status: &str, added: usize, removed: usize| {
            json!({"status": status, "doc_hash": document.hash,
                   "delta": {"added": added, "removed": removed, "retained": total - added}})
        };
        if old.as_ref().is_some_and(|old| old.hash == document.hash) {
            return (200, reply("unchanged", 0, 0));
        }
        match (condition, &old) {
            (Condition::IfAbsent, Some(_)) => return (412, json!("DPE_ALREADY_EXISTS")),
            (Condition::Current | Condition::Wrong, None) => return (412, json!("DPE_NOT_FOUND")),
            (Condition::Wrong, Some(_)) => return (412, json!("DPE_PRECONDITION_FAILED")),
            _ => {}
        }
        let (mut pages, mut elements) = (Vec::new(), Vec::new());
        let mut blobs = Vec::new();
        for (hash, _, children) in &document.pages {
            if written.pages.contains(hash) {
                for child in children {
                    let current = old
                        .iter()
                        .flat_map(Document::elements)
                        .any(|old| old == child);
                    if current {
                        continue;
                    }
                    if written.elements.contains(child) {
                        if child == content::E3 && !written.blob && blobs.is_empty() {
                            blobs.push(BLOB);
                        }
                    } else if !elements.contains(child) {
                        elements.push(child.clone());
                    }
                }
            } else if !old
                .iter()
                .flat_map(|old| &old.pages)
                .any(|old| old.0 == *hash)
                && !pages.contains(hash)
            {
                pages.push(hash.clone());
            }
        }
        if !pages.is_empty() || !elements.is_empty() || !blobs.is_empty() {
            return (
                400,
                json!({"pages": pages, "content_hashes": elements, "blobs": blobs}),
            );
        }
        let mut counts = HashMap::<&String, i64>::new();
        document
            .elements()
            .for_each(|hash| *counts.entry(hash).or_default() += 1);
        for hash in old.iter().flat_map(Document::elements) {
            *counts.entry(hash).or_default() -= 1;
        }
        let sum = |sign: i64| counts.values().map(|n| (n * sign).max(0)).sum::<i64>() as usize;
        let expected = match &old {
            None => (201, reply("created", sum(1), sum(-1))),
            Some(_) => (200, reply("updated", sum(1), sum(-1))),
        };
        self.0.insert(URIS[uri], document);
        expected
    }

    fn delete(&mut self, uri: usize, base: &str) -> Expected {
        match self.hash(uri) {
            None => (412, json!("DPE_NOT_FOUND")),
            Some(hash) if hash != base => (412, json!("DPE_PRECONDITION_FAILED")),
            Some(_) => {
                self.0.remove(URIS[uri]);
                (204, Value::Null)
            }
        }
    }

    fn move_(&mut self, from: usize, to: usize, base: &str) -> Expected {
        match (self.hash(from), self.hash(to)) {
            (None, Some(hash)) if hash == base => (200, json!({"doc_hash": base})),
            (None, _) => (404, json!("DPE_NOT_FOUND")),
            (Some(hash), _) if hash != base => (409, json!("DPE_PRECONDITION_FAILED")),
            (Some(_), Some(_)) => (409, json!("DPE_ALREADY_EXISTS")),
            (Some(_), None) => {
                let document = self.0.remove(URIS[from]).unwrap();
                self.0.insert(URIS[to], document);
                (200, json!({"doc_hash": base}))
            }
        }
    }
}

/// Opens a session with some of the pages, uploads the rest of what it is to have, and returns its
/// id.
async fn stage(
    remote: &Remote,
    model: &Model,
    uri: usize,
    document: &Document,
    staged: &StagedParts,
    written: &mut Written,
) -> String {
    let chosen = document.pages.iter().zip(staged.pages);
    let chosen: Vec<_> = chosen
        .filter(|(_, staged)| *staged)
        .map(|(page, _)| page)
        .collect();
    let pages: Vec<_> = chosen.iter().map(|page| &page.1).collect();
    let body = json!({"file_uri": URIS[uri], "document": document.object, "pages": pages});
    let reply = remote.post("negotiate", &body).await.json();
    let missing = json!([reply["missing_pages"], reply["missing_content_hashes"]]);
    assert_eq!(missing, model.missing(uri, document, &chosen));
    let session = reply["staging_session"]["id"].as_str().unwrap().to_owned();
    written
        .pages
        .extend(chosen.iter().map(|page| page.0.clone()));
    let put = async |kind: &str, name: &str, body: Vec<u8>| {
        let target = format!("staging/{session}/{kind}/{name}");
        let reply = remote.send("PUT", &target, &[DPE1], body).await;
        assert_eq!(reply.status, 201, "{}", reply.text);
        reply.json()
    };
    if staged.blob {
        put("blobs", BLOB, b"hello".to_vec()).await;
        written.blob = true;
    }
    let old = model.0.get(URIS[uri]);
    let has_blob =
        staged.blob || old.is_some_and(|old| old.elements().any(|element| element == content::E3));
    for text in (0..4).filter(|text| staged.elements[usize::from(*text)]) {
        let (element, hash) = element(text);
        let below = put("objects", &hash, element.to_string().into_bytes()).await;
        let missing = if text == 3 && !has_blob {
            vec![BLOB]
        } else {
            vec![]
        };
        assert_eq!(below, json!({"missing_blobs": missing}));
        written.elements.insert(hash);
    }
    session
}

/// A session is consumed by what writes, and by nothing else.
async fn check_session(remote: &Remote, session: &str, reply: &Reply) {
    let asked = format!("staging/{session}/blobs/{BLOB}");
    let found = remote.call("HEAD", &asked, &[]).await;
    let wrote = reply.status < 300 && reply.json()["status"] != "unchanged";
    assert_eq!(found.status, if wrote { 410 } else { 200 });
}

async fn apply(remote: &Remote, model: &mut Model, operation: &Operation) {
    let (reply, expected) = match operation {
        Operation::Commit {
            uri,
            condition,
            texts,
            inline_pages,
            inline_elements,
            staged,
        } => {
            let document = Document::new(texts);
            let pages = document.pages.iter().zip(inline_pages);
            let pages: Vec<_> = pages
                .filter(|(_, inline)| **inline)
                .map(|(page, _)| page)
                .collect();
            let elements = (0..4)
                .filter(|text| inline_elements[usize::from(*text)])
                .map(element);
            let (objects, hashes): (Vec<_>, BTreeSet<_>) = elements.unzip();
            let mut body = json!({"document": document.object, "objects": objects,
                                  "pages": pages.iter().map(|page| &page.1).collect::<Vec<_>>()});
            let mut written = Written {
                pages: pages.iter().map(|page| page.0.clone()).collect(),
                elements: hashes,
                blob: false,
            };
            let mut session = None;
            if let Some(staged) = staged {
                let id = stage(remote, model, *uri, &document, staged, &mut written).await;
                body["staging_session"] = json!(id);
                session = Some(id);
            }
            let tag = format!(
                "\"{}\"",
                model.base(*uri, matches!(condition, Condition::Current))
            );
            let header = match condition {
                Condition::IfAbsent => IF_ABSENT,
                Condition::Current | Condition::Wrong => ("if-match", tag.as_str()),
                Condition::Force => {
                    body["force"] = json!(true);
                    ("x-none", "")
                }
            };
            let reply = remote.put(URIS[*uri], header, &body).await;
            if let Some(session) = session {
                check_session(remote, &session, &reply).await;
            }
            (reply, model.commit(*uri, condition, document, &written))
        }
        Operation::Delete { uri, right } => {
            let base = model.base(*uri, *right);
            let tag = format!("\"{base}\"");
            let reply = remote
                .call("DELETE", &target(URIS[*uri]), &[("if-match", &tag)])
                .await;
            (reply, model.delete(*uri, &base))
        }
        Operation::Move { from, to, right } => {
            let holder = if model.hash(*from).is_some() {
                *from
            } else {
                *to
            };
            let base = model.base(holder, *right);
            let body = json!({"from_uri": URIS[*from], "to_uri": URIS[*to], "base_hash": base});
            (
                remote.post("move", &body).await,
                model.move_(*from, *to, &base),
            )
        }
    };
    let (status, expected) = expected;
    assert_eq!(reply.status, status, "{}", reply.text);
    let found = match reply.verdict() {
        (204, _) => Value::Null,
        (_, "") => reply.json(),
        (_, "DPE_MISSING_CONTENT") => reply.json()["missing"].clone(),
        (_, code) => json!(code),
    };
    assert_eq!(found, expected);
}

async fn compare(remote: &Remote, model: &Model) {
    let listed = remote.call("GET", "documents", &[]).await.json();
    let expected: Vec<_> = model
        .0
        .iter()
        .map(|(uri, document)| json!({"file_uri": uri, "doc_hash": document.hash}))
        .collect();
    assert_eq!(listed["documents"], json!(expected));
    for (uri, document) in &model.0 {
        let skeleton = remote.call("GET", &target(uri), &[]).await.json();
        assert_eq!(skeleton["document"], document.object);
        let pages: Vec<_> = document.pages.iter().map(|page| &page.1).collect();
        assert_eq!(skeleton["pages"], json!(pages));
        let uri = dpe::model::FileUri::parse(uri).unwrap();
        let stored = remote.store.elements(&uri).unwrap().unwrap();
        let stored: BTreeSet<_> = stored.keys().map(ToString::to_string).collect();
        assert_eq!(stored, document.elements().cloned().collect());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn any_sequence_of_writes_gives_what_the_model_gives(operations in operations()) {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let remote = Remote::roomy();
            let mut model = Model::default();
            for operation in &operations {
                apply(&remote, &mut model, operation).await;
            }
            compare(&remote, &model).await;
        });
    }
}
