//! A running connector on a temporary folder, and a remote that believes everything it says.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufRead, BufReader, PipeReader, PipeWriter, Write, pipe};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) const PREFIX: &str = "dpe://t/";

/// A folder whose files are old enough to be believed.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let folder = Self::new();
        for (path, text) in files {
            folder.write(path, text);
        }
        folder
    }

    pub(crate) fn root(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn path(&self, path: impl AsRef<[u8]>) -> PathBuf {
        self.root().join(std::ffi::OsStr::from_bytes(path.as_ref()))
    }

    pub(crate) fn write(&self, path: impl AsRef<[u8]>, text: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn rename(&self, from: &str, to: &str) {
        fs::create_dir_all(self.path(to).parent().unwrap()).unwrap();
        fs::rename(self.path(from), self.path(to)).unwrap();
    }

    pub(crate) fn remove(&self, path: &str) {
        fs::remove_file(self.path(path)).unwrap();
    }

    /// Sets the mtime an hour back. The ctime stays what it is.
    pub(crate) fn touch(&self, path: &str) {
        let hour_ago = SystemTime::now() - Duration::from_secs(3600);
        let file = fs::File::options().write(true).open(self.path(path));
        file.unwrap().set_modified(hour_ago).unwrap();
    }
}

/// What people would read.
#[derive(Clone, Default)]
struct Stderr(Arc<Mutex<Vec<u8>>>);

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
pub(crate) struct Plugin {
    to: PipeWriter,
    from: BufReader<PipeReader>,
    stderr: Stderr,
    next_id: i64,
    thread: JoinHandle<u8>,
}

/// All batches of one round.
#[derive(Debug)]
pub(crate) struct Scanned {
    pub(crate) items: Vec<Value>,
    pub(crate) batches: usize,
    pub(crate) cursor: Option<String>,
    pub(crate) incremental: bool,
}

impl Plugin {
    /// Starts a connector on `root` with `config` besides.
    pub(crate) fn start(root: &Path, config: Value) -> Self {
        Self::start_limited(root, config, 32 << 20)
    }

    pub(crate) fn start_limited(root: &Path, mut config: Value, max_message_bytes: u64) -> Self {
        config["root"] = json!(root);
        let mut plugin = Self::spawn();
        let answer = plugin.call("initialize", initialize(&config, max_message_bytes));
        assert_eq!(answer["result"]["plugin"]["name"], "fs", "{answer}");
        plugin
    }

    pub(crate) fn spawn() -> Self {
        let (stdin, to) = pipe().unwrap();
        let (from, stdout) = pipe().unwrap();
        let stderr = Stderr::default();
        let for_plugin = stderr.clone();
        let thread = std::thread::spawn(move || dpe_connector_fs::main(stdin, stdout, for_plugin));
        Self {
            to,
            from: BufReader::new(from),
            stderr,
            next_id: 1,
            thread,
        }
    }

    /// Sends a request and returns its id.
    pub(crate) fn send(&mut self, method: &str, params: Value) -> i64 {
        let id = self.next_id;
        self.next_id += 1;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        writeln!(self.to, "{request}").unwrap();
        id
    }

    pub(crate) fn cancel(&mut self, id: i64) {
        let params = json!({"id": id});
        let message = json!({"jsonrpc": "2.0", "method": "cancel", "params": params});
        writeln!(self.to, "{message}").unwrap();
    }

    pub(crate) fn call(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        self.receive(id)
    }

    /// Returns the response to request `id`, which has to be the next message.
    pub(crate) fn receive(&mut self, id: i64) -> Value {
        let mut line = String::new();
        self.from.read_line(&mut line).unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(answer["id"], id);
        answer
    }

    /// Runs one round to its end.
    pub(crate) fn scan(&mut self, cursor: Option<&str>) -> Scanned {
        self.scan_by(cursor, 1000)
    }

    pub(crate) fn scan_by(&mut self, cursor: Option<&str>, max_items: u32) -> Scanned {
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
    pub(crate) fn failing_scan(&mut self, cursor: Option<&str>) -> Value {
        let answer = self.call("scan", json!({"cursor": cursor}));
        assert!(answer.get("error").is_some(), "{answer}");
        answer["error"].clone()
    }

    pub(crate) fn stderr(&self) -> String {
        String::from_utf8(self.stderr.0.lock().unwrap().clone()).unwrap()
    }

    /// Closes stdin and waits for the end.
    pub(crate) fn hang_up(self) {
        drop(self.to);
        assert_eq!(self.thread.join().unwrap(), 0);
    }

    pub(crate) fn shut_down(mut self) {
        assert_eq!(self.call("shutdown", json!({}))["result"], json!({}));
        assert_eq!(self.thread.join().unwrap(), 0);
    }
}

pub(crate) fn initialize(config: &Value, max_message_bytes: u64) -> Value {
    json!({
        "protocol_versions": ["dpe-connector/1"],
        "max_message_bytes": max_message_bytes,
        "instance": {"uri_prefix": PREFIX, "config": config},
    })
}

impl Scanned {
    /// Returns every item as one short line: `+` documents, `-` deletions, `>` moves, `!` errors.
    pub(crate) fn lines(&self) -> Vec<String> {
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
    pub(crate) fn land(&self, remote: &mut Remote) {
        let uri = |item: &Value, member: &str| item[member].as_str().unwrap().to_owned();
        for item in &self.items {
            match item["kind"].as_str().unwrap() {
                "document" => {
                    let content = json!([item["document"], item["pages"]]);
                    remote.insert(uri(item, "file_uri"), content);
                }
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
    }
}

/// URI to content.
pub(crate) type Remote = BTreeMap<String, Value>;

/// Returns what a full round of a new connector gives.
pub(crate) fn enumerated(root: &Path, config: Value) -> Remote {
    let mut remote = Remote::new();
    Plugin::start(root, config).scan(None).land(&mut remote);
    remote
}
