//! What `dpe serve` is told on its command line, by its environment and by an auth file.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use dpe::server::{OpenMode, Store, StoreError};
use serde_json::json;
use tempfile::TempDir;

use super::content;
use super::socket::{Server, command};

/// Sends a request and returns the whole reply as text.
fn exchange(server: &Server, method: &str, target: &str, headers: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(10)))
        .unwrap();
    let length = body.len();
    let request = format!(
        "{method} {target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ndpe-hash-contract: dpe1\r\n\
         content-length: {length}\r\n{headers}\r\n{body}"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    reply
}

/// Status of a reply.
fn status(reply: &str) -> &str {
    reply.split(' ').nth(1).unwrap()
}

/// Where an opener of the store learns that it is served.
fn served_at(store: &Path) -> Option<String> {
    match Store::open(store, OpenMode::Create) {
        Err(StoreError::InUse { served_at, .. }) => served_at,
        other => panic!("{other:?}"),
    }
}

#[test]
fn side_channel_is_named_in_the_ready_line_and_lies_beside_the_remote() {
    let dir = TempDir::new().unwrap();
    let arguments = [
        "--prefix",
        "/r/1",
        "--hooks",
        "/__hooks__",
        "--require-auth",
    ];
    let server = Server::start(dir.path(), &arguments);
    let origin = format!("http://{}", server.address);
    let expected = json!({
        "url": format!("{origin}/r/1"),
        "hooks": format!("{origin}/__hooks__"),
    });
    assert_eq!(server.ready, expected);
    let body = "{\"advance_seconds\":1}";
    for (path, expected) in [("/__hooks__", "200"), ("/r/1/__hooks__", "404")] {
        let target = format!("{path}/clock/advance");
        let reply = exchange(&server, "POST", &target, "", body);
        assert_eq!(status(&reply), expected, "{path}");
    }
}

#[test]
fn environment_asks_for_the_side_channel_too() {
    let dir = TempDir::new().unwrap();
    let mut surrounded = command(dir.path(), &[]);
    surrounded.env("DPE_HOOKS", "/h");
    let server = Server::of(surrounded);
    assert_eq!(
        server.ready["hooks"],
        format!("http://{}/h", server.address)
    );
}

#[test]
fn side_channel_that_others_could_reach_is_refused_and_nothing_is_touched() {
    let dir = TempDir::new().unwrap();
    let store = dir.path().join("store");
    for arguments in [
        &["--hooks", "/h", "--listen", "0.0.0.0:0"][..],
        &["--hooks", "/h", "--listen", "[::]:0"],
        &["--hooks", "h"],
        &["--hooks", "/"],
        &["--hooks", "/documents"],
        &["--hooks", "/r/1", "--prefix", "/r/1"],
        &["--hooks", "/r", "--prefix", "/r/1"],
        &["--hooks", "/r/1/h", "--prefix", "/r/1"],
    ] {
        let output = bare(&store, arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(64), "{arguments:?}");
        assert_eq!(output.stdout, b"", "{arguments:?}");
        assert!(!store.exists(), "{arguments:?}");
    }
}

/// `dpe serve` that listens where `arguments` say, if they do.
fn bare(store: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dpe"));
    command.env_clear().env("DPE_LISTEN", "127.0.0.1:0");
    command
        .arg("serve")
        .arg("--store")
        .arg(store)
        .args(arguments);
    command.stdin(Stdio::null()).stderr(Stdio::null());
    command
}

#[test]
fn remote_that_others_may_write_to_is_announced_in_one_line() {
    let dir = TempDir::new().unwrap();
    let everywhere = ["--listen", "0.0.0.0:0"];
    let granted = ["--listen", "0.0.0.0:0", "--grant", "Bearer a", "x:a"];
    for (arguments, warned) in [(&everywhere[..], 1), (&granted, 0), (&[], 0)] {
        let mut open = bare(&dir.path().join("store"), arguments);
        open.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut server = Server::of(open);
        let mut said = server.child.stderr.take().unwrap();
        assert_eq!(server.terminate().0, Some(0));
        let mut text = String::new();
        said.read_to_string(&mut text).unwrap();
        let lines = text.lines().filter(|line| line.contains("may write"));
        assert_eq!(lines.count(), warned, "{arguments:?}: {text}");
    }
}

#[test]
fn address_without_a_port_is_usage_and_touches_nothing() {
    let dir = TempDir::new().unwrap();
    let store = dir.path().join("store");
    for address in ["127.0.0.1", "localhost", "::1"] {
        let output = bare(&store, &["--listen", address]).output().unwrap();
        assert_eq!(output.status.code(), Some(64), "{address}");
        assert!(!store.exists(), "{address}");
    }
}

#[test]
fn name_that_stands_for_a_loopback_address_will_do() {
    let dir = TempDir::new().unwrap();
    let mut named = bare(dir.path(), &["--hooks", "/h", "--listen", "localhost:0"]);
    named.stdout(Stdio::piped());
    assert!(Server::of(named).ready.get("hooks").is_some());
}

#[test]
fn store_tells_others_where_it_is_served_until_the_server_ends_however_it_ends() {
    let dir = TempDir::new().unwrap();
    let store = dir.path().join("store");
    let mut server = Server::start(&store, &["--prefix", "/r/1"]);
    assert_eq!(served_at(&store).as_deref(), server.ready["url"].as_str());
    assert_eq!(server.terminate().0, Some(0));
    drop(Store::open(&store, OpenMode::MustExist).unwrap());

    let mut server = Server::start(&store, &[]);
    assert_eq!(served_at(&store).as_deref(), server.ready["url"].as_str());
    server.child.kill().unwrap();
    server.child.wait().unwrap();
    assert!(
        fs::read_to_string(store.join("lock"))
            .unwrap()
            .contains("http://")
    );
    // Nobody is sent where nobody serves: neither while the store is read nor while it is written.
    let reader = Store::open(&store, OpenMode::ReadOnly).unwrap();
    assert_eq!(served_at(&store), None);
    drop(reader);
    let _writer = Store::open(&store, OpenMode::MustExist).unwrap();
    assert_eq!(served_at(&store), None);
}

#[test]
fn grants_of_the_auth_file_and_of_the_flags_add_up() {
    let dir = TempDir::new().unwrap();
    let auth = dir.path().join("auth.toml");
    fs::write(dir.path().join("reader"), "Bearer reader\n").unwrap();
    let text = r#"
        require_auth = true
        [[caller]]
        credential = { env = "DOCS_WRITER" }
        write = ["x:docs/"]
        [[caller]]
        credential = { file = "reader" }
        read = ["x:docs/"]
    "#;
    fs::write(&auth, text).unwrap();
    let arguments = [
        "--grant",
        "Bearer flag",
        "x:flag/",
        "--read-grant",
        "Bearer flag",
        "*",
    ];
    let mut granted = command(&dir.path().join("store"), &arguments);
    granted.arg("--auth-file").arg(&auth);
    granted.env("DOCS_WRITER", "Bearer writer");
    let server = Server::of(granted);
    let document = json!({"document": content::empty()}).to_string();
    // In this order: what is written first is read later.
    for (who, method, target, expected) in [
        ("", "GET", "/capabilities", "401"),
        ("", "PUT", "/documents?uri=x:docs/a", "401"),
        ("Bearer reader", "PUT", "/documents?uri=x:docs/a", "403"),
        ("Bearer flag", "PUT", "/documents?uri=x:docs/a", "403"),
        ("Bearer writer", "PUT", "/documents?uri=x:docs/a", "201"),
        ("Bearer writer", "PUT", "/documents?uri=x:flag/a", "403"),
        ("Bearer flag", "PUT", "/documents?uri=x:flag/a", "201"),
        ("Bearer writer", "GET", "/documents?uri=x:docs/a", "200"),
        ("Bearer writer", "GET", "/documents?uri=x:flag/a", "403"),
        ("Bearer reader", "GET", "/documents?uri=x:docs/a", "200"),
        ("Bearer reader", "GET", "/documents?uri=x:flag/a", "403"),
        ("Bearer flag", "GET", "/documents?uri=x:docs/a", "200"),
        ("Bearer other", "GET", "/documents?uri=x:docs/a", "401"),
        ("Bearer other", "GET", "/capabilities", "401"),
    ] {
        let mut headers = String::new();
        if !who.is_empty() {
            headers += &format!("authorization: {who}\r\n");
        }
        let body = if method == "PUT" {
            headers += "if-none-match: *\r\n";
            document.as_str()
        } else {
            ""
        };
        let reply = exchange(&server, method, target, &headers, body);
        assert_eq!(status(&reply), expected, "{who} {method} {target}");
    }
}

#[test]
fn auth_file_that_grants_nobody_lets_nobody_write() {
    let dir = TempDir::new().unwrap();
    let auth = dir.path().join("auth.toml");
    let only_force = "[[caller]]\ncredential = { env = \"FORCER\" }\nforce = true\n";
    let document = json!({"document": content::empty()}).to_string();
    for text in ["", "require_auth = false\n", only_force] {
        fs::write(&auth, text).unwrap();
        let mut granted = command(&dir.path().join("store"), &[]);
        granted.arg("--auth-file").arg(&auth);
        granted.env("FORCER", "Bearer forcer");
        let server = Server::of(granted);
        let create = "if-none-match: *\r\n";
        for headers in [
            create.to_owned(),
            format!("authorization: Bearer a\r\n{create}"),
        ] {
            let target = "/documents?uri=x:a";
            let reply = exchange(&server, "PUT", target, &headers, &document);
            assert_eq!(status(&reply), "403", "{text:?} {headers:?}");
        }
        let body = json!({"document": content::empty(), "force": true}).to_string();
        let headers = "authorization: Bearer forcer\r\n";
        let reply = exchange(&server, "PUT", "/documents?uri=x:a", headers, &body);
        assert_eq!(status(&reply), "403", "{text:?}");
        // Reading needs a grant only where somebody has one.
        let reply = exchange(&server, "GET", "/documents?uri=x:a", "", "");
        assert_eq!(status(&reply), "404", "{text:?}");
    }
}

#[test]
fn auth_file_that_cannot_be_followed_ends_with_its_line_and_without_secrets() {
    let dir = TempDir::new().unwrap();
    let store = dir.path().join("store");
    let auth = dir.path().join("auth.toml");
    for (text, expected) in [
        (
            "[[caller]]\ncredential = \"Bearer hunter2\"",
            "line 2: a credential is written down",
        ),
        (
            "[[caller]]\ncredential.env = \"NO\"\nread = [\"*\"]",
            "line 1: the environment variable NO",
        ),
        (
            "[[caller]]\ncredential.env = \"BAD\"\nread = [\"*\"]",
            "line 1: a grant names a credential",
        ),
        ("wirte = 1", "line 1: there is no key \"wirte\""),
    ] {
        fs::write(&auth, text).unwrap();
        let mut refused = command(&store, &[]);
        refused
            .arg("--auth-file")
            .arg(&auth)
            .env("BAD", "hunter2\n");
        let output = refused.stderr(Stdio::piped()).output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(3), "{message}");
        assert!(message.contains(expected), "{message}");
        assert!(!message.contains("hunter2"), "{message}");
        assert!(output.stdout.is_empty() && !store.exists(), "{message}");
    }
}

#[test]
fn moved_document_is_located_below_the_public_url() {
    let dir = TempDir::new().unwrap();
    let url = "https://docs.example.com/r/1";
    let server = Server::start(dir.path(), &["--prefix", "/internal", "--public-url", url]);
    let document = json!({"document": content::empty()}).to_string();
    let target = "/internal/documents?uri=x:a";
    let created = exchange(&server, "PUT", target, "if-none-match: *\r\n", &document);
    assert_eq!(status(&created), "201");
    let body = json!({"from_uri": "x:a", "to_uri": "x:b%20c", "base_hash": content::EMPTY});
    let moved = exchange(&server, "POST", "/internal/move", "", &body.to_string());
    // http-binding §1.2: only unreserved characters stay literal.
    let location = format!("\r\ncontent-location: {url}/documents?uri=x%3Ab%2520c\r\n");
    assert!(moved.contains(&location), "{moved}");
}
