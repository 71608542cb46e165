//! `dpe serve` as a process behind a socket.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use dpe::model::Contracts;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::content;
use super::remote::{self, target};

/// A running server; killed when dropped.
pub(super) struct Server {
    pub(super) child: Child,
    pub(super) address: String,
    path: String,
    /// The line it said that it is ready with.
    pub(super) ready: Value,
    stdout: BufReader<std::process::ChildStdout>,
}

pub(super) fn command(store: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dpe"));
    command.env_clear().arg("serve").arg("--store").arg(store);
    command.args(["--listen", "127.0.0.1:0"]).args(arguments);
    command.stdin(Stdio::null()).stderr(Stdio::null());
    command.stdout(Stdio::piped());
    command
}

impl Server {
    pub(super) fn start(store: &Path, arguments: &[&str]) -> Self {
        Self::of(command(store, arguments))
    }

    /// Starts the command and waits for its ready line.
    pub(super) fn of(mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let ready: Value = serde_json::from_str(&line).unwrap();
        let url = ready["url"]
            .as_str()
            .unwrap()
            .strip_prefix("http://")
            .unwrap();
        let (address, path) = url.split_at(url.find('/').unwrap_or(url.len()));
        let (address, path) = (address.to_owned(), path.to_owned());
        Self {
            child,
            address,
            path,
            ready,
            stdout,
        }
    }

    fn connect(&self) -> Connection {
        Connection::open(&self.address, &self.path)
    }

    /// Asks the process to end and returns its code and what else it wrote to stdout.
    pub(super) fn terminate(&mut self) -> (Option<i32>, String) {
        let pid = self.child.id().to_string();
        let asked = Command::new("kill").args(["-TERM", &pid]).status().unwrap();
        assert!(asked.success());
        let start = Instant::now();
        while self.child.try_wait().unwrap().is_none() {
            assert!(start.elapsed() < Duration::from_secs(10), "it does not end");
            thread::sleep(Duration::from_millis(20));
        }
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).unwrap();
        (self.child.wait().unwrap().code(), rest)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A connection that speaks as much HTTP/1.1 as these tests need.
struct Connection {
    stream: BufReader<TcpStream>,
    path: String,
}

impl Connection {
    fn open(address: &str, path: &str) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        stream.set_nodelay(true).unwrap();
        Self {
            stream: BufReader::new(stream),
            path: path.to_owned(),
        }
    }

    /// Writes the head of a request that promises a body of `length` bytes.
    fn write_head(&mut self, method: &str, target: &str, length: usize, headers: &str) -> bool {
        let path = &self.path;
        let head = format!(
            "{method} {path}/{target} HTTP/1.1\r\nhost: x\r\ndpe-hash-contract: dpe1\r\n\
             content-length: {length}\r\n{headers}\r\n"
        );
        self.stream.get_mut().write_all(head.as_bytes()).is_ok()
    }

    /// Reads a response and returns its status and body; `None` if the connection broke.
    fn read(&mut self) -> Option<(u16, String)> {
        let mut line = String::new();
        self.stream.read_line(&mut line).ok()?;
        let status = line.split(' ').nth(1)?.parse().ok()?;
        let mut length = 0;
        let mut chunked = false;
        loop {
            line.clear();
            if self.stream.read_line(&mut line).ok()? == 0 {
                return None;
            }
            match line.trim_end().split_once(": ") {
                Some(("content-length", value)) => length = value.parse().ok()?,
                Some(("transfer-encoding", "chunked")) => chunked = true,
                Some(_) => {}
                None => break,
            }
        }
        let mut body = vec![0; length];
        if chunked {
            self.read_chunks(&mut body)?;
        } else {
            self.stream.read_exact(&mut body).ok()?;
        }
        Some((status, String::from_utf8(body).unwrap()))
    }

    /// Reads chunks up to the last, which is empty (RFC 9112 §7.1).
    fn read_chunks(&mut self, body: &mut Vec<u8>) -> Option<()> {
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line).ok()?;
            let length = usize::from_str_radix(line.trim_end(), 16).ok()?;
            let mut chunk = vec![0; length + 2];
            self.stream.read_exact(&mut chunk).ok()?;
            if length == 0 {
                return Some(());
            }
            body.extend_from_slice(&chunk[..length]);
        }
    }

    fn create(&mut self, uri: &str, body: &Value) -> Option<u16> {
        let body = body.to_string();
        let sent = self.write_head("PUT", &target(uri), body.len(), "if-none-match: *\r\n")
            && self.stream.get_mut().write_all(body.as_bytes()).is_ok();
        sent.then(|| self.read()).flatten().map(|reply| reply.0)
    }
}

#[test]
fn ready_line_is_all_of_stdout_and_a_signal_ends_the_server() {
    let dir = TempDir::new().unwrap();
    let store = dir.path().join("store");
    let mut server = Server::start(&store, &["--prefix", "/r/1", "--batch-head-max", "7"]);
    let url = format!("http://{}/r/1", server.address);
    assert_eq!(server.ready, json!({"url": url}));
    let mut connection = server.connect();
    assert!(connection.write_head("GET", "capabilities", 0, ""));
    let (status, body) = connection.read().unwrap();
    assert_eq!(status, 200);
    assert!(body.contains("\"batch_head_max\":7"), "{body}");
    assert_eq!(
        connection.create("x:a", &json!({"document": content::empty()})),
        Some(201)
    );
    // The idle connection does not keep the server.
    assert_eq!(server.terminate(), (Some(0), String::new()));
    let store = remote::open(&store, Contracts::SUPPORTED);
    let uri = dpe::model::FileUri::parse("x:a").unwrap();
    assert!(store.elements(&uri).unwrap().is_some());
}

#[test]
fn uri_prefix_of_pushes_in_the_environment_is_no_path_of_the_server() {
    let dir = TempDir::new().unwrap();
    let mut surrounded = command(dir.path(), &[]);
    surrounded.env("DPE_PREFIX", "dpe://docs/");
    surrounded.env("DPE_SERVE_PREFIX", "/r/1");
    assert_eq!(Server::of(surrounded).path, "/r/1");
}

#[test]
fn request_in_flight_is_answered_before_the_end() {
    let dir = TempDir::new().unwrap();
    let mut server = Server::start(dir.path(), &[]);
    let mut connection = server.connect();
    let body = json!({"document": content::empty()}).to_string();
    assert!(connection.write_head("PUT", &target("x:a"), body.len(), "if-none-match: *\r\n"));
    thread::sleep(Duration::from_millis(200));
    let ending = thread::spawn(move || server.terminate());
    thread::sleep(Duration::from_millis(300));
    connection
        .stream
        .get_mut()
        .write_all(body.as_bytes())
        .unwrap();
    assert_eq!(connection.read().map(|reply| reply.0), Some(201));
    assert_eq!(ending.join().unwrap(), (Some(0), String::new()));
}

#[test]
fn second_server_on_a_store_ends_at_once_without_a_ready_line() {
    let dir = TempDir::new().unwrap();
    let _first = Server::start(dir.path(), &[]);
    let second = command(dir.path(), &[]).output().unwrap();
    assert!(!second.status.success());
    assert_eq!(String::from_utf8(second.stdout).unwrap(), "");
}

#[test]
fn settings_that_cannot_be_served_end_with_usage_and_touch_nothing() {
    let dir = TempDir::new().unwrap();
    let store = dir.path().join("store");
    for arguments in [
        &["--prefix", "r"][..],
        &["--public-url", "https://example.com/"],
        &["--contract", "dpe2"],
        &["--staging-ttl-seconds", "1"],
        &["--grant", "alone"],
        &["--grant", "Bearer a", "DPE://Docs/"],
    ] {
        let output = command(&store, arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(64), "{arguments:?}");
        assert_eq!(output.stdout, b"", "{arguments:?}");
        assert!(!store.exists(), "{arguments:?}");
    }
}

#[test]
fn long_skeleton_arrives_whole_and_the_connection_goes_on() {
    let dir = TempDir::new().unwrap();
    let server = Server::start(dir.path(), &[]);
    let mut connection = server.connect();
    let text = "x".repeat(200_000);
    let page = json!({"title": text, "elements": []});
    let hash = content::hash(&page, dpe_hash::ObjectKind::Page, "dpe1");
    let (document, _) = content::doc(&vec![hash.as_str(); 50]);
    let body = json!({"document": document, "pages": [page]});
    assert_eq!(connection.create("x:a", &body), Some(201));
    for _ in 0..2 {
        assert!(connection.write_head("GET", &target("x:a"), 0, ""));
        let (status, reply) = connection.read().unwrap();
        let reply: Value = serde_json::from_str(&reply).unwrap();
        assert_eq!(status, 200);
        assert!(reply["pages"] == json!(vec![page.clone(); 50]));
    }
}

#[test]
fn refused_grant_names_the_prefix_that_would_do() {
    let dir = TempDir::new().unwrap();
    let mut command = command(dir.path(), &["--grant", "Bearer a", "DPE://Docs/"]);
    let output = command.stderr(Stdio::piped()).output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(64), "{message}");
    assert!(message.contains("dpe://docs/"), "{message}");
}

#[test]
fn early_answers_do_not_wait_for_the_body() {
    let dir = TempDir::new().unwrap();
    let server = Server::start(
        dir.path(),
        &["--require-auth", "--max-payload-bytes", "1000"],
    );
    let auth = "authorization: a\r\n";
    for (method, target, headers, status) in [
        ("PUT", "unknown", auth, 404),
        ("PATCH", "documents", auth, 405),
        ("PUT", "documents?uri=x:a", "", 401),
        ("PUT", "documents?uri=x:a&uri=x:a", auth, 400),
        // Announced to be too long.
        ("PUT", "documents?uri=x:a", auth, 413),
    ] {
        let mut connection = server.connect();
        assert!(connection.write_head(method, target, 5000, headers));
        let reply = connection.read();
        assert_eq!(
            reply.map(|reply| reply.0),
            Some(status),
            "{method} {target}"
        );
    }
}

#[test]
fn sender_of_a_far_too_long_body_gets_to_read_the_answer() {
    let dir = TempDir::new().unwrap();
    let server = Server::start(dir.path(), &["--max-payload-bytes", "1000"]);
    for target in ["documents?uri=x:a", "unknown"] {
        let mut connection = server.connect();
        let body = vec![b'x'; 20 << 20];
        assert!(connection.write_head("PUT", target, body.len(), ""));
        connection.stream.get_mut().write_all(&body).unwrap();
        let status = connection.read().map(|reply| reply.0);
        assert_eq!(status, Some(if target == "unknown" { 404 } else { 413 }));
    }
}

#[test]
fn http_2_is_spoken_without_an_upgrade() {
    let dir = TempDir::new().unwrap();
    let server = Server::start(dir.path(), &[]);
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(10)))
        .unwrap();
    // RFC 9113 §3.4: the preface and an empty SETTINGS frame; the answer begins with SETTINGS.
    stream
        .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0")
        .unwrap();
    let mut frame = [0; 9];
    stream.read_exact(&mut frame).unwrap();
    assert_eq!(frame[3], 4, "{frame:?}");
}

#[test]
fn connections_leave_the_store_its_files_and_too_many_are_logged() {
    let dir = TempDir::new().unwrap();
    let script = "ulimit -n 64; exec \"$0\" serve --listen 127.0.0.1:0 --store \"$1\"";
    let mut limited = Command::new("sh");
    limited
        .args(["-c", script, env!("CARGO_BIN_EXE_dpe")])
        .arg(dir.path());
    limited
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .stdout(Stdio::piped());
    let mut server = Server::of(limited);
    let mut first = server.connect();
    let body = json!({"document": content::empty()});
    assert_eq!(first.create("x:a", &body), Some(201));
    // Half of a head each; those beyond the limit wait to be taken.
    let mut silent: Vec<_> = (0..80).map(|_| server.connect()).collect();
    for connection in &mut silent {
        let half = connection
            .stream
            .get_mut()
            .write_all(b"GET / HTTP/1.1\r\nho");
        half.unwrap();
    }
    let log = server.child.stderr.take().unwrap();
    let line = BufReader::new(log).lines().map(Result::unwrap);
    let line = line.skip_while(|line| !line.contains("connections are open"));
    assert!(line.take(1).next().is_some(), "the log ended");
    assert_eq!(first.create("x:b", &body), Some(201));
    drop(silent);
    assert_eq!(server.connect().create("x:c", &body), Some(201));
}

#[test]
fn killed_server_has_every_acknowledged_commit() {
    let dir = TempDir::new().unwrap();
    let mut acknowledged = Vec::new();
    for round in 0..4 {
        let mut server = Server::start(dir.path(), &[]);
        let acked = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for writer in 0..4 {
                let (acked, mut connection) = (&acked, server.connect());
                scope.spawn(move || {
                    for number in 0.. {
                        let uri = format!("x:{round}/{writer}/{number}");
                        let (body, hash) = content::inline(&[&[&uri, "same"]]);
                        if connection.create(&uri, &body) != Some(201) {
                            break;
                        }
                        acked.lock().unwrap().push((uri, hash));
                    }
                });
            }
            thread::sleep(Duration::from_millis(250 + 60 * round));
            server.child.kill().unwrap();
        });
        let mut acked = acked.into_inner().unwrap();
        assert!(!acked.is_empty());
        acknowledged.append(&mut acked);
    }
    let server = Server::start(dir.path(), &[]);
    let mut connection = server.connect();
    for (uri, hash) in &acknowledged {
        assert!(connection.write_head("GET", &target(uri), 0, ""));
        let (status, body) = connection.read().unwrap();
        assert_eq!(status, 200, "{uri} of {}", acknowledged.len());
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(body["doc_hash"], json!(hash));
        assert_eq!(body["pages"].as_array().unwrap().len(), 1);
    }
}

#[test]
fn full_disk_makes_the_remote_unavailable_and_loses_nothing() {
    let dir = TempDir::new().unwrap();
    // Files of this process cannot grow beyond 800 blocks of 512 or 1024 bytes; the signal that
    // would tell so is ignored, so that writing fails as on a full disk.
    let script =
        "trap '' XFSZ; ulimit -f 800; exec \"$0\" serve --listen 127.0.0.1:0 --store \"$1\"";
    let mut limited = Command::new("sh");
    limited
        .args(["-c", script, env!("CARGO_BIN_EXE_dpe")])
        .arg(dir.path());
    limited
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .stdout(Stdio::piped());
    let server = Server::of(limited);
    let mut connection = server.connect();
    let text = "x".repeat(10_000);
    let mut acknowledged = Vec::new();
    let refused = loop {
        assert!(acknowledged.len() < 100, "the limit is not reached");
        let uri = format!("x:{}", acknowledged.len());
        let (body, _) = content::inline(&[&[&uri, &text]]);
        let body = body.to_string();
        assert!(connection.write_head("PUT", &target(&uri), body.len(), "if-none-match: *\r\n"));
        connection
            .stream
            .get_mut()
            .write_all(body.as_bytes())
            .unwrap();
        match connection.read().unwrap() {
            (201, _) => acknowledged.push(uri),
            refused => break refused,
        }
    };
    assert!(!acknowledged.is_empty());
    assert_eq!(refused.0, 503, "{}", refused.1);
    assert!(
        refused.1.contains("\"code\":\"DPE_UNAVAILABLE\""),
        "{}",
        refused.1
    );
    // Reads go on, and what was refused is not there.
    let check = |connection: &mut Connection| {
        for uri in &acknowledged {
            assert!(connection.write_head("GET", &target(uri), 0, ""));
            assert_eq!(connection.read().unwrap().0, 200, "{uri}");
        }
        let refused = target(&format!("x:{}", acknowledged.len()));
        assert!(connection.write_head("GET", &refused, 0, ""));
        assert_eq!(connection.read().unwrap().0, 404);
    };
    check(&mut connection);
    drop(server);
    let server = Server::start(dir.path(), &[]);
    let mut connection = server.connect();
    check(&mut connection);
    let uri = format!("x:{}", acknowledged.len());
    let (body, _) = content::inline(&[&[&uri, &text]]);
    assert_eq!(connection.create(&uri, &body), Some(201));
}
