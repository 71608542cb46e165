//! A runner for tests: drives a connector on a thread, through the real serve loop, and believes
//! everything it says.
//!
//! It panics where a test should fail, and checks only what every connector has to keep to. It knows no
//! source.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on should say where"
)]

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, PipeReader, PipeWriter, Write, pipe};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use serde_json::{Value, json};

/// The prefix of every document.
pub const PREFIX: &str = "dpe://t/";

/// The `main` of a connector.
pub type Main = fn(PipeReader, PipeWriter, Stderr) -> u8;

/// What people would read.
#[derive(Clone, Default)]
pub struct Stderr(Arc<Mutex<Vec<u8>>>);

impl Write for Stderr {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A connector on a thread.
pub struct Plugin {
    to: PipeWriter,
    from: BufReader<PipeReader>,
    stderr: Stderr,
    next_id: i64,
    thread: JoinHandle<u8>,
}

impl Plugin {
    /// Starts a connector with messages of 32 MiB.
    pub fn start(main: Main, config: &Value) -> Self {
        Self::start_limited(main, config, 32 << 20)
    }

    /// Starts a connector with messages of at most so many bytes.
    pub fn start_limited(main: Main, config: &Value, max_message_bytes: u64) -> Self {
        let mut plugin = Self::spawn(main);
        let answer = plugin.call("initialize", initialize(config, max_message_bytes));
        assert!(answer["result"]["plugin"]["name"].is_string(), "{answer}");
        plugin
    }

    /// Starts a connector without a word.
    pub fn spawn(main: Main) -> Self {
        let (stdin, to) = pipe().unwrap();
        let (from, stdout) = pipe().unwrap();
        let stderr = Stderr::default();
        let for_plugin = stderr.clone();
        Self {
            to,
            from: BufReader::new(from),
            stderr,
            next_id: 1,
            thread: std::thread::spawn(move || main(stdin, stdout, for_plugin)),
        }
    }

    /// Sends a request and returns its id.
    pub fn send(&mut self, method: &str, params: Value) -> i64 {
        let id = self.next_id;
        self.next_id += 1;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        writeln!(self.to, "{request}").unwrap();
        id
    }

    /// Asks for a request to be given up.
    pub fn cancel(&mut self, id: i64) {
        let params = json!({"id": id});
        let message = json!({"jsonrpc": "2.0", "method": "cancel", "params": params});
        writeln!(self.to, "{message}").unwrap();
    }

    /// Sends a request and returns its answer.
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        self.receive(id)
    }

    /// Returns the answer to request `id`, which has to be the next message.
    pub fn receive(&mut self, id: i64) -> Value {
        let mut line = String::new();
        self.from.read_line(&mut line).unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(answer["id"], id);
        answer
    }

    /// Runs one round to its end.
    pub fn scan(&mut self, cursor: Option<&str>) -> Scanned {
        self.scan_by(cursor, 1000)
    }

    /// Runs one round with batches of at most so many items.
    pub fn scan_by(&mut self, cursor: Option<&str>, max_items: u32) -> Scanned {
        let mut params = json!({"cursor": cursor, "max_items": max_items});
        let (mut items, mut batches) = (Vec::new(), 0);
        loop {
            let answer = self.call("scan", params);
            let result = &answer["result"];
            let batch = result["items"].as_array();
            let batch = batch.unwrap_or_else(|| panic!("{answer}"));
            assert!(batch.len() <= max_items as usize);
            items.extend(batch.iter().cloned());
            batches += 1;
            match result["next"].as_str() {
                Some(next) => params = json!({"next": next, "max_items": max_items}),
                None => {
                    return Scanned {
                        items,
                        batches,
                        cursor: result["cursor"].as_str().map(str::to_owned),
                        incremental: result["incremental"].as_bool().unwrap(),
                    };
                }
            }
        }
    }

    /// Returns the error of a scan that has to fail.
    pub fn failing_scan(&mut self, cursor: Option<&str>) -> Value {
        let answer = self.call("scan", json!({"cursor": cursor}));
        assert!(answer.get("error").is_some(), "{answer}");
        answer["error"].clone()
    }

    /// Returns what the connector has told people so far.
    pub fn stderr(&self) -> String {
        String::from_utf8(self.stderr.0.lock().unwrap().clone()).unwrap()
    }

    /// Closes stdin and waits for the end.
    pub fn hang_up(self) {
        drop(self.to);
        assert_eq!(self.thread.join().unwrap(), 0);
    }

    /// Says goodbye and waits for the end.
    pub fn shut_down(mut self) {
        assert_eq!(self.call("shutdown", json!({}))["result"], json!({}));
        assert_eq!(self.thread.join().unwrap(), 0);
    }
}

/// Returns the parameters of `initialize`.
pub fn initialize(config: &Value, max_message_bytes: u64) -> Value {
    json!({
        "protocol_versions": ["dpe-connector/1"],
        "max_message_bytes": max_message_bytes,
        "instance": {"uri_prefix": PREFIX, "config": config},
    })
}

/// All batches of one round.
#[derive(Debug)]
pub struct Scanned {
    /// The items, in stream order.
    pub items: Vec<Value>,
    /// How many batches there were.
    pub batches: usize,
    /// What the last batch gave.
    pub cursor: Option<String>,
    /// Whether the enumeration began at the cursor that was given.
    pub incremental: bool,
}

impl Scanned {
    /// Returns every item as one short line: `+` documents, `-` deletions, `>` moves, `!` errors.
    pub fn lines(&self) -> Vec<String> {
        let short = |value: &Value| {
            let uri = value.as_str().unwrap_or("-");
            uri.strip_prefix(PREFIX).unwrap_or(uri).to_owned()
        };
        let line = |item: &Value| match item["kind"].as_str().unwrap() {
            "document" => format!("+{}", short(&item["file_uri"])),
            "delete" => format!("-{}", short(&item["file_uri"])),
            "move" => format!("{}>{}", short(&item["from_uri"]), short(&item["to_uri"])),
            "error" => format!("!{} {}", short(&item["file_uri"]), short(&item["code"])),
            kind => panic!("unknown kind {kind}"),
        };
        self.items.iter().map(line).collect()
    }

    /// Applies the items in stream order, refusing what a remote would refuse.
    pub fn land(&self, remote: &mut Remote) {
        let uri = |item: &Value, member: &str| item[member].as_str().unwrap().to_owned();
        let mut open: Option<(String, Value)> = None;
        for item in &self.items {
            match item["kind"].as_str().unwrap() {
                "document" => {
                    let at = uri(item, "file_uri");
                    let mut pages = item["pages"].as_array().unwrap().clone();
                    let (begun, mut content) = open
                        .take()
                        .unwrap_or_else(|| (at.clone(), json!([item["document"], []])));
                    assert_eq!(begun, at, "segments follow one another");
                    content[1].as_array_mut().unwrap().append(&mut pages);
                    if item["continued"] == true {
                        open = Some((at, content));
                    } else {
                        remote.insert(at, content);
                    }
                }
                _ if open.is_some() => panic!("between two segments: {item}"),
                "delete" => {
                    let gone = remote.remove(&uri(item, "file_uri"));
                    assert!(gone.is_some(), "deletion of what is not there: {item}");
                }
                "move" => {
                    let content = remote.remove(&uri(item, "from_uri"));
                    let content = content.expect("a move begins at a document");
                    let before = remote.insert(uri(item, "to_uri"), content);
                    assert!(before.is_none(), "a move ends where nothing is: {item}");
                }
                _ => panic!("{item}"),
            }
        }
        assert!(open.is_none(), "a document is not closed");
    }
}

/// URI to content.
pub type Remote = BTreeMap<String, Value>;
