//! A scripted source, and a place to run rounds in.

use std::collections::BTreeMap;
use std::collections::VecDeque;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use dpe::json::Text;
use dpe::model::{Contract, Contracts, FileUri, Hash, Tree, TreeBuilder};
use dpe::protocol::wire::capabilities::Limits;
use dpe::runner::{Cancel, Client, Instance, Round, Settings};
use dpe::server::{InProcess, OpenMode, Options, Service, Store};
use dpe::state::{self, StateDirectory, StateError};
use dpe::sync::blobs::Blobs;
use dpe::sync::event::{Event, Observer};
use dpe::sync::failure::{Failure, FailureSource, Level};
use dpe::sync::ports::{
    Base, Batch, BatchEnd, BlobChunk, BlobFailure, PluginIdentity, Remote, ScanFailure,
    ScanRequest, Source,
};
use dpe::sync::report::Report;
use tempfile::TempDir;

/// What a source says in one batch: its items, and how it ends.
pub(super) type Said = (Vec<String>, BatchEnd);

/// A source that says what it was told, enumeration by enumeration.
pub(super) struct Scripted {
    identity: PluginIdentity,
    script: VecDeque<Result<Said, Failure>>,
    /// Whether scans beyond the script are never answered.
    hangs: bool,
    /// The requests it got.
    pub(super) asked: Vec<ScanRequest>,
    /// What its handles stand for.
    pub(super) blobs: BTreeMap<String, Blob>,
    /// The reads it got: handle, offset, most bytes.
    pub(super) read: Vec<(String, u64, u64)>,
}

impl Scripted {
    pub(super) fn new(script: impl IntoIterator<Item = Result<Said, Failure>>) -> Self {
        Self {
            identity: PluginIdentity {
                name: "scripted".into(),
                version: "1".into(),
                protocol_version: "dpe-connector/1".into(),
                supports_cursor: true,
            },
            script: script.into_iter().collect(),
            hangs: false,
            asked: Vec::new(),
            blobs: BTreeMap::new(),
            read: Vec::new(),
        }
    }

    /// Goes on with this.
    pub(super) fn says(&mut self, said: Result<Said, Failure>) {
        self.script.push_back(said);
    }

    /// Answers no scan beyond the script.
    pub(super) fn then_hangs(mut self) -> Self {
        self.hangs = true;
        self
    }

    pub(super) fn without_cursors(mut self) -> Self {
        self.identity.supports_cursor = false;
        self
    }
}

impl Source for Scripted {
    fn identity(&self) -> &PluginIdentity {
        &self.identity
    }

    async fn scan(&mut self, request: ScanRequest) -> Result<Batch, ScanFailure> {
        self.asked.push(request);
        if self.hangs && self.script.is_empty() {
            std::future::pending::<()>().await;
        }
        let (items, end) = self.script.pop_front().expect("the script goes on")?;
        let items = format!("[{}]", items.join(","));
        Ok(Batch {
            items: Text::parse_owned(items.into_bytes()).unwrap(),
            end,
        })
    }

    async fn read_blob(
        &mut self,
        handle: &str,
        offset: u64,
        max_bytes: u64,
    ) -> Result<BlobChunk, BlobFailure> {
        self.read.push((handle.to_owned(), offset, max_bytes));
        let answer = self.blobs.get(handle).cloned();
        answer.unwrap_or(Blob::Unknown).chunk(offset, max_bytes)
    }

    async fn close(self) -> Result<(), Failure> {
        Ok(())
    }
}

/// What a handle of a scripted source stands for.
#[derive(Clone)]
pub(super) enum Blob {
    /// These bytes, given out at most so many at a time.
    Bytes(Bytes, u64),
    /// No such handle.
    Unknown,
    /// A source that fails after so many bytes, and whether that may pass.
    Fails(u64, bool),
    /// A plugin that dies.
    Dies,
}

impl Blob {
    fn chunk(&self, offset: u64, max_bytes: u64) -> Result<BlobChunk, BlobFailure> {
        let unread = |retryable| BlobFailure::Unread {
            message: "scripted".into(),
            retryable,
        };
        match self {
            Self::Bytes(bytes, at_once) => {
                let start = usize::try_from(offset).unwrap().min(bytes.len());
                let most = usize::try_from(max_bytes.min(*at_once)).unwrap();
                let end = start.saturating_add(most).min(bytes.len());
                Ok(BlobChunk {
                    bytes: bytes.slice(start..end),
                    eof: end == bytes.len(),
                })
            }
            Self::Unknown => Err(unread(false)),
            Self::Fails(after, retryable) if offset >= *after => Err(unread(*retryable)),
            Self::Fails(after, _) => Ok(BlobChunk {
                bytes: Bytes::from(vec![0; usize::try_from(*after).unwrap()]),
                eof: false,
            }),
            Self::Dies => Err(BlobFailure::Ended(Failure::new(
                Level::Round,
                FailureSource::Runner,
                "plugin_crashed",
                "scripted",
            ))),
        }
    }
}

/// The last batch of a round that ends without a cursor.
pub(super) fn last_without_cursor(items: &[String], incremental: bool) -> Result<Said, Failure> {
    let end = BatchEnd::Final {
        cursor: None,
        incremental,
    };
    Ok((items.to_vec(), end))
}

/// The last batch of a round.
pub(super) fn last(items: &[String], cursor: &str, incremental: bool) -> Result<Said, Failure> {
    let end = BatchEnd::Final {
        cursor: Some(cursor.to_owned()),
        incremental,
    };
    Ok((items.to_vec(), end))
}

/// A batch that is not the last.
pub(super) fn more(items: &[String], next: &str) -> Result<Said, Failure> {
    Ok((items.to_vec(), BatchEnd::Next(next.to_owned())))
}

pub(super) fn document(name: &str, text: &str) -> String {
    format!(
        r#"{{"kind":"document","file_uri":"t://{name}","document":{{"file_type":"txt"}},"pages":[{{"elements":[{{"category":"NarrativeText","text":"{text}"}}]}}]}}"#
    )
}

pub(super) fn delete(name: &str) -> String {
    format!(r#"{{"kind":"delete","file_uri":"t://{name}"}}"#)
}

pub(super) fn rename(from: &str, to: &str) -> String {
    format!(r#"{{"kind":"move","from_uri":"t://{from}","to_uri":"t://{to}"}}"#)
}

pub(super) fn invalid(name: &str) -> String {
    format!(r#"{{"kind":"delete","file_uri":"t://{name}","undefined":1}}"#)
}

pub(super) fn error(name: &str) -> String {
    format!(
        r#"{{"kind":"error","file_uri":"t://{name}","code":"source_unavailable","message":"locked","retryable":true}}"#
    )
}

pub(super) fn uri(name: &str) -> FileUri {
    FileUri::parse(&format!("t://{name}")).unwrap()
}

/// The content that [`document`] gives a document.
pub(super) fn tree(text: &str) -> Tree {
    tree_under(Contract::Dpe1, text)
}

fn tree_under(contract: Contract, text: &str) -> Tree {
    let pages = format!(r#"[{{"elements":[{{"category":"NarrativeText","text":"{text}"}}]}}]"#);
    let pages = Text::parse(pages.as_bytes()).unwrap();
    let head = Text::parse(br#"{"file_type":"txt"}"#).unwrap();
    let mut builder = TreeBuilder::new(contract);
    builder.add_pages(pages.root(), |_| Ok(None)).unwrap();
    builder.finish(head.root()).unwrap()
}

/// Keeps the events of rounds, as text.
#[derive(Default)]
pub(super) struct Heard {
    events: Mutex<Vec<String>>,
    failures: Mutex<Vec<Failure>>,
}

impl Heard {
    pub(super) fn contains(&self, part: &str) -> bool {
        let events = self.events.lock().unwrap();
        events.iter().any(|event| event.contains(part))
    }

    /// Returns the events whose text begins with `kind`, in order.
    pub(super) fn of(&self, kind: &str) -> Vec<String> {
        let events = self.events.lock().unwrap();
        let of_kind = events.iter().filter(|event| event.starts_with(kind));
        of_kind.cloned().collect()
    }

    /// Returns the failures in the order in which they were told, as [`failures`] does.
    pub(super) fn failures(&self) -> Vec<String> {
        self.failures.lock().unwrap().iter().map(named).collect()
    }
}

impl Observer for Heard {
    fn event(&self, event: Event<'_>) {
        if let Event::Failed(failure) = event {
            self.failures.lock().unwrap().push(failure.clone());
        }
        self.events.lock().unwrap().push(format!("{event:?}"));
    }
}

pub(super) type LocalClient = Client<InProcess>;

async fn connect(service: &Service, contract: Contract) -> LocalClient {
    Client::connect(InProcess::new(service), contract)
        .await
        .unwrap()
}

/// A store, a state directory, and a client.
pub(super) struct Place {
    directory: TempDir,
    service: Service,
    pub(super) client: LocalClient,
    pub(super) settings: Settings,
    pub(super) heard: Heard,
    pub(super) cancel: Cancel,
}

impl Place {
    pub(super) async fn new() -> Self {
        Self::declaring(Contracts::SUPPORTED).await
    }

    /// Returns a place whose remote declares these contracts; rounds are under the oldest.
    pub(super) async fn declaring(contracts: Contracts) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = directory.path().join("store");
        let store = Store::open_declaring(&store, OpenMode::Create, contracts).unwrap();
        let service = Service::new(store, Limits::default(), Options::default());
        let client = connect(&service, Contract::Dpe1).await;
        let settings = Settings::contract(client.capabilities());
        Self {
            directory,
            service,
            client,
            settings,
            heard: Heard::default(),
            cancel: Cancel::new(),
        }
    }

    /// Lets rounds and reads be under another contract from now on.
    pub(super) async fn turn_to(&mut self, contract: Contract) {
        self.client = connect(&self.service, contract).await;
        self.settings.contract = contract;
    }

    /// Runs SQL on the database of the state, as nobody but a test does.
    pub(super) fn tamper(&self, sql: &str) {
        let database = self.directory.path().join("state/instances/i/state.db");
        let database = rusqlite::Connection::open(database).unwrap();
        database.execute_batch(sql).unwrap();
    }

    /// Opens the state. Another test may just be starting a process, which holds every lock of
    /// this one between fork and exec; that passes.
    pub(super) fn state(&self) -> state::Instance {
        let directory = StateDirectory::at(self.directory.path().join("state"));
        for _ in 0..200 {
            match directory.open("i") {
                Err(StateError::Busy { .. }) => thread::sleep(Duration::from_millis(10)),
                opened => return opened.unwrap(),
            }
        }
        panic!("the state stays locked")
    }

    /// Runs one round of `source`.
    pub(super) async fn round(&self, source: &mut Scripted) -> Report {
        self.round_over(&self.client, source).await
    }

    /// Runs one round over another remote than the store itself.
    pub(super) async fn round_over<R: Remote>(&self, remote: &R, source: &mut Scripted) -> Report {
        let instance = Instance {
            id: "i".into(),
            uri_prefix: "t://".into(),
            remote_url: "store:/test".into(),
            fingerprint: "f".into(),
        };
        let mut state = self.state();
        let round = Round {
            remote,
            source,
            state: &mut state,
            instance: &instance,
            settings: &self.settings,
            observer: &self.heard,
            cancel: &self.cancel,
        };
        round.run().await
    }

    /// Runs one round whose single batch has these items.
    pub(super) async fn says(&self, items: &[String], cursor: &str, incremental: bool) -> Report {
        self.round(&mut Scripted::new([last(items, cursor, incremental)]))
            .await
    }

    /// Writes as somebody else would.
    pub(super) async fn somebody_writes(&self, name: &str, text: &str) {
        let head = self.client.head(&uri(name)).await.unwrap();
        let base = head.map_or(Base::Absent, Base::Hash);
        let tree = tree_under(self.settings.contract, text);
        self.client
            .commit(&uri(name), base, &tree, &Blobs::default())
            .await
            .unwrap();
    }

    pub(super) async fn somebody_deletes(&self, name: &str) {
        let head = self.client.head(&uri(name)).await.unwrap().unwrap();
        self.client.delete(&uri(name), head).await.unwrap();
    }

    /// What the remote holds, without the prefix.
    pub(super) async fn remote(&self) -> BTreeMap<String, Hash> {
        let listed = self.client.list("", None).await.unwrap();
        assert!(listed.next_cursor.is_none());
        listed
            .documents
            .into_iter()
            .map(|one| (one.file_uri["t://".len()..].to_owned(), one.doc_hash))
            .collect()
    }

    pub(super) async fn holds(&self, expected: &[(&str, &str)]) {
        let expected: BTreeMap<String, Hash> = expected
            .iter()
            .map(|(name, text)| {
                let tree = tree_under(self.settings.contract, text);
                ((*name).to_owned(), tree.doc_hash)
            })
            .collect();
        assert_eq!(self.remote().await, expected);
    }
}

/// `outcome created updated unchanged deleted moved failed` of a report.
pub(super) fn summary(report: &Report) -> String {
    let counts = report.counts;
    format!(
        "{} {} {} {} {} {} {}",
        report.outcome.as_str(),
        counts.created,
        counts.updated,
        counts.unchanged,
        counts.deleted,
        counts.moved,
        counts.failed
    )
}

/// `level/source/code/retryable` of every failure of a report.
pub(super) fn failures(report: &Report) -> Vec<String> {
    report.failures.iter().map(named).collect()
}

fn named(failure: &Failure) -> String {
    format!(
        "{}/{}/{}/{}",
        failure.level.as_str(),
        failure.source.as_str(),
        failure.code,
        failure.retryable
    )
}

pub(super) fn source_failed(retryable: bool) -> Failure {
    Failure::new(
        Level::Round,
        FailureSource::Plugin,
        "source_failed",
        "the source is away",
    )
    .retryable(retryable)
}
