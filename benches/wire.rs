//! What goes over the wire and how fast: a server process on one side, the program on the other.
//!
//! `cargo bench --bench wire [-- MEGABYTES]`
//!
//! 1. Small documents committed, asked for and listed by 1 and by 16 clients, each with connections
//!    of its own.
//! 2. A large blob through `dpe commit`, against the same chunks put by a bare client that does
//!    nothing but send them, to the same kind of server. Goals: 0.9 times the bare client's speed,
//!    peak memory of `dpe` below 96 MB and of the server below 128 MB.
//! 3. One page inserted into a document of 5,000 pages. Goal: at most 1.1 times the bytes of the
//!    document object, the new page and its elements.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    missing_docs,
    reason = "a measuring program, not part of the tool"
)]

use std::fs::{self, File};
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::thread;
use std::time::{Duration, Instant};

use dpe::config::{Network, RemoteLocation};
use dpe::json::Text;
use dpe::model::{Contract, FileUri, Tree, TreeBuilder};
use dpe::protocol::delivery::{Precondition, Status};
use dpe::runner::Client;
use dpe::sync::blobs::Blobs;
use dpe::sync::ports::Remote;
use dpe::transport::Http;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

const MIB: u64 = 1 << 20;
const CHUNK: u64 = 8 * MIB;
const DPE: &str = env!("CARGO_BIN_EXE_dpe");

fn main() {
    let mut numbers = std::env::args().filter_map(|argument| argument.parse().ok());
    let megabytes: u64 = numbers.next().unwrap_or(512);
    let place = tempfile::tempdir().unwrap();
    small_documents(place.path());
    large_blob(place.path(), megabytes * MIB);
    inserted_page(place.path());
}

/// A server process; ended when dropped.
struct Server {
    child: Child,
    url: String,
    _stdout: BufReader<ChildStdout>,
}

impl Server {
    fn start(store: &Path) -> Self {
        let mut child = Command::new(DPE)
            .args([
                "serve",
                "--listen",
                "127.0.0.1:0",
                "--blob-max-bytes",
                "68719476736",
            ])
            .arg("--store")
            .arg(store)
            .stderr(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let ready: Value = serde_json::from_str(&line).unwrap();
        Self {
            child,
            url: ready["url"].as_str().unwrap().to_owned(),
            _stdout: stdout,
        }
    }

    fn address(&self) -> &str {
        self.url.strip_prefix("http://").unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Peak resident memory of a live process in bytes, as the system keeps it.
fn peak_memory(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kibibytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kibibytes * 1024)
}

/// Runs the program and returns how long it took and its peak memory.
fn run(arguments: &[&str]) -> (Duration, u64) {
    let begun = Instant::now();
    let mut child = Command::new(DPE)
        .args(arguments)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let process = child.id();
    let (end, ended) = std::sync::mpsc::channel::<()>();
    // Seldom enough to leave the processor to those that are measured; a peak does not go away.
    let watch = thread::spawn(move || {
        let mut peak = 0;
        while ended.recv_timeout(Duration::from_millis(20)) == Err(RecvTimeoutError::Timeout) {
            peak = peak.max(peak_memory(process).unwrap_or(0));
        }
        peak
    });
    let status = child.wait().unwrap();
    let elapsed = begun.elapsed();
    drop(end);
    let peak = watch.join().unwrap();
    assert!(status.success(), "{arguments:?} failed");
    (elapsed, peak)
}

/// The client of the program, connected as `dpe` connects.
async fn connect(url: &str) -> Client<Http> {
    let RemoteLocation::Url(url) = RemoteLocation::parse(url).unwrap() else {
        panic!("{url} is the URL of a remote");
    };
    let transport = Http::new(&url, &Network::default(), |_| None).unwrap();
    Client::connect(transport, Contract::DEFAULT).await.unwrap()
}

fn small_document(number: usize) -> (FileUri, Tree) {
    let text = format!(
        r#"[{{"elements":[{{"category":"NarrativeText","text":"document {number}: some sentence of ordinary length"}}]}}]"#
    );
    let (pages, head) = (
        Text::parse(text.as_bytes()).unwrap(),
        Text::parse(br#"{"file_type":"md"}"#).unwrap(),
    );
    let mut builder = TreeBuilder::new(Contract::DEFAULT);
    builder.add_pages(pages.root(), |_| Ok(None)).unwrap();
    let uri = FileUri::parse(&format!("bench://small/{number:06}.md")).unwrap();
    (uri, builder.finish(head.root()).unwrap())
}

/// Commits documents `from` to `to`, one after the other.
async fn commit_all(client: Client<Http>, from: usize, to: usize) {
    let no_blobs = Blobs::default();
    for number in from..to {
        let (uri, tree) = small_document(number);
        let committed = client.deliver(&uri, Precondition::IfAbsent, &tree, &no_blobs);
        assert_eq!(committed.await.unwrap().status, Status::Created);
    }
}

fn small_documents(place: &Path) {
    let store = tempfile::tempdir_in(place).unwrap();
    let server = Server::start(store.path());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    println!("small documents over HTTP");
    let (alone, together) = (1000, 16_000);
    let say = |what: &str, count: usize, begun: Instant| {
        let seconds = begun.elapsed().as_secs_f64();
        println!("  {what:<21} {:8.0} per second", count as f64 / seconds);
    };
    runtime.block_on(async {
        let begun = Instant::now();
        commit_all(connect(&server.url).await, 0, alone).await;
        say("commits, 1 client", alone, begun);
        let begun = Instant::now();
        let each = together / 16;
        let clients: Vec<_> = (0..16)
            .map(|client| {
                let (url, from) = (server.url.clone(), alone + client * each);
                tokio::spawn(
                    async move { commit_all(connect(&url).await, from, from + each).await },
                )
            })
            .collect();
        for client in clients {
            client.await.unwrap();
        }
        say("commits, 16 clients", together, begun);
        let client = connect(&server.url).await;
        let uris: Vec<_> = (0..alone + together).map(|n| small_document(n).0).collect();
        let begun = Instant::now();
        for batch in uris.chunks(500) {
            let heads = client.heads(batch).await.unwrap();
            assert!(heads.iter().all(Option::is_some));
        }
        say("heads, 500 at once", uris.len(), begun);
        let begun = Instant::now();
        let (mut listed, mut cursor) = (0, None);
        loop {
            let page = client.list("", cursor.as_deref()).await.unwrap();
            listed += page.documents.len();
            cursor = page.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(listed, uris.len());
        say("listed", listed, begun);
    });
}

/// Writes `length` bytes that repeat nowhere and returns their digest in hexadecimal.
fn write_blob(path: &Path, length: u64) -> String {
    let mut file = BufWriter::new(File::create(path).unwrap());
    let mut digest = Sha256::new();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut block = vec![0; 1 << 16];
    for _ in 0..length / block.len() as u64 {
        for word in block.chunks_exact_mut(8) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            word.copy_from_slice(&state.to_le_bytes());
        }
        digest.update(&block);
        file.write_all(&block).unwrap();
    }
    file.into_inner().unwrap().sync_all().unwrap();
    digest
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

fn large_blob(place: &Path, length: u64) {
    let blob = place.join("blob");
    let reference = format!("sha256:{}", write_blob(&blob, length));
    let image = json!({"category": "Image", "mime_type": "image/tiff", "blob": reference});
    let document = json!({"file_type": "tiff", "pages": [{"elements": [image]}]});
    let file = place.join("document.json");
    fs::write(&file, document.to_string()).unwrap();
    // Each store sees the blob once. The best of a few alternating runs: other programs slow down,
    // nothing speeds up.
    let (mut bare, mut ours) = (Duration::MAX, Duration::MAX);
    let (mut memory, mut server_memory) = (0, 0);
    for _ in 0..5 {
        let store = tempfile::tempdir_in(place).unwrap();
        let server = Server::start(store.path());
        bare = bare.min(put_bare(server.address(), &reference, &blob));
        drop((server, store));
        let store = tempfile::tempdir_in(place).unwrap();
        let server = Server::start(store.path());
        let (elapsed, peak) = run(&[
            "commit",
            "bench://blob",
            file.to_str().unwrap(),
            "--blob",
            blob.to_str().unwrap(),
            "--remote",
            &server.url,
            "--if-absent",
            "-q",
        ]);
        ours = ours.min(elapsed);
        memory = memory.max(peak);
        server_memory = server_memory.max(peak_memory(server.child.id()).unwrap());
    }
    let speed = |elapsed: Duration| length as f64 / 1e6 / elapsed.as_secs_f64();
    println!(
        "blob of {} MiB in chunks of {} MiB",
        length / MIB,
        CHUNK / MIB
    );
    println!("  bare client       {:8.0} MB/s", speed(bare));
    println!(
        "  dpe commit        {:8.0} MB/s  {:.2} of the bare client",
        speed(ours),
        bare.as_secs_f64() / ours.as_secs_f64()
    );
    println!("  peak memory       {:8.1} MB", memory as f64 / 1e6);
    println!("  peak of dpe serve {:8.1} MB", server_memory as f64 / 1e6);
}

/// A client that knows what to send and only sends it.
struct Bare {
    stream: BufReader<TcpStream>,
    address: String,
}

impl Bare {
    fn connect(address: &str) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        Self {
            stream: BufReader::new(stream),
            address: address.to_owned(),
        }
    }

    /// Sends one request and returns status and body of the answer.
    fn send(&mut self, head: &str, body: &[u8]) -> (u16, Vec<u8>) {
        let head = format!(
            "{head}\r\nHost: {}\r\nDPE-Hash-Contract: dpe1\r\nContent-Length: {}\r\n\r\n",
            self.address,
            body.len()
        );
        let stream = self.stream.get_mut();
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body).unwrap();
        let mut line = String::new();
        self.stream.read_line(&mut line).unwrap();
        let status = line.split(' ').nth(1).unwrap().parse().unwrap();
        let mut length = 0;
        loop {
            line.clear();
            self.stream.read_line(&mut line).unwrap();
            let field = line.trim_end().to_ascii_lowercase();
            if field.is_empty() {
                break;
            }
            if let Some(value) = field.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).unwrap();
        (status, body)
    }
}

fn put_bare(address: &str, reference: &str, blob: &Path) -> Duration {
    let begun = Instant::now();
    let mut client = Bare::connect(address);
    let body = json!({"file_uri": "bench://blob", "document": {"file_type": "tiff", "pages": []}});
    let (status, body) = client.send("POST /negotiate HTTP/1.1", body.to_string().as_bytes());
    assert_eq!(status, 200);
    let reply: Value = serde_json::from_slice(&body).unwrap();
    let session = reply["staging_session"]["id"].as_str().unwrap();
    let mut file = File::open(blob).unwrap();
    let total = file.metadata().unwrap().len();
    let mut chunk = Vec::with_capacity(usize::try_from(CHUNK).unwrap());
    let mut offset = 0;
    while offset < total {
        chunk.clear();
        (&mut file).take(CHUNK).read_to_end(&mut chunk).unwrap();
        let end = offset + chunk.len() as u64;
        let head = format!(
            "PUT /staging/{session}/blobs/{reference} HTTP/1.1\r\nContent-Range: bytes {offset}-{}/{total}",
            end - 1
        );
        let (status, _) = client.send(&head, &chunk);
        assert_eq!(status, if end == total { 201 } else { 202 });
        offset = end;
    }
    begun.elapsed()
}

/// The document of 5,000 pages, with page 2,500 added or not.
fn book(place: &Path, inserted: bool) -> PathBuf {
    let page = |number: u32| {
        let elements: Vec<_> = (0..5)
            .map(|element| {
                json!({"category": "NarrativeText",
                       "text": format!("page {number}, paragraph {element}: some sentence of ordinary length that says little")})
            })
            .collect();
        json!({"elements": elements})
    };
    let pages: Vec<_> = (0..5001)
        .filter(|number| inserted || *number != 2500)
        .map(page)
        .collect();
    let document = json!({"file_type": "pdf", "title": "A long book", "pages": pages});
    let path = place.join(if inserted { "second" } else { "first" });
    fs::write(&path, document.to_string()).unwrap();
    path
}

/// Bytes of the document object, the page that was added, and its elements, as they would travel.
fn least_bytes(document: &Path) -> usize {
    let text = fs::read(document).unwrap();
    let text = Text::parse(&text).unwrap();
    let mut builder = TreeBuilder::new(Contract::DEFAULT);
    builder
        .add_pages(text.root().member("pages").unwrap(), |_| Ok(None))
        .unwrap();
    let head = Text::parse(br#"{"file_type":"pdf","title":"A long book"}"#).unwrap();
    let tree = builder.finish(head.root()).unwrap();
    let page = &tree.pages[2500];
    let elements = tree
        .elements
        .iter()
        .filter(|element| page.text.contains(&element.hash.to_string()));
    tree.document.len()
        + page.text.len()
        + elements.map(|element| element.text.len()).sum::<usize>()
}

fn inserted_page(place: &Path) {
    let store = tempfile::tempdir_in(place).unwrap();
    let server = Server::start(store.path());
    let counted = Counted::before(server.address());
    let (first, second) = (book(place, false), book(place, true));
    let commit = |file: &Path| {
        run(&[
            "commit",
            "bench://book",
            file.to_str().unwrap(),
            "--remote",
            &counted.url,
            "-q",
        ])
    };
    let (elapsed, _) = commit(&first);
    println!("document of 5,000 pages and 25,000 elements");
    println!(
        "  created           {:8.0} kB up in {:.2} s",
        counted.take() as f64 / 1e3,
        elapsed.as_secs_f64()
    );
    let (elapsed, _) = commit(&second);
    let (sent, least) = (counted.take(), least_bytes(&second));
    println!(
        "  one page inserted {:8.0} kB up in {:.2} s, {:.2} of document object, page and elements ({:.0} kB)",
        sent as f64 / 1e3,
        elapsed.as_secs_f64(),
        sent as f64 / least as f64,
        least as f64 / 1e3
    );
}

/// Forwards connections and counts the bytes that go to the server, headers included.
struct Counted {
    url: String,
    bytes: Arc<AtomicU64>,
}

impl Counted {
    fn before(address: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let bytes = Arc::<AtomicU64>::default();
        let (address, counter) = (address.to_owned(), Arc::clone(&bytes));
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let server = TcpStream::connect(&address).unwrap();
                let (up, down) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                let counter = Arc::clone(&counter);
                thread::spawn(move || forward(up, server, &counter));
                thread::spawn(move || forward(down, client, &AtomicU64::new(0)));
            }
        });
        Self { url, bytes }
    }

    fn take(&self) -> u64 {
        self.bytes.swap(0, Ordering::Relaxed)
    }
}

fn forward(mut from: TcpStream, mut to: TcpStream, counter: &AtomicU64) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        counter.fetch_add(length as u64, Ordering::Relaxed);
        if to.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}
