//! The example connector by itself: what becomes of odd mailboxes, and how it behaves on the wire (§30).

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

/// The example over a folder of mailboxes.
struct Example {
    folder: TempDir,
    child: Child,
    /// Taken when it is closed.
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    last: u64,
}

impl Example {
    /// Starts it without a word; the folder is empty.
    fn silent() -> Self {
        let folder = TempDir::new().unwrap();
        let (child, stdin, stdout) = start();
        Self {
            folder,
            child,
            stdin,
            stdout,
            last: 0,
        }
    }

    /// Starts and initializes it over these mailboxes.
    fn of(mailboxes: &[(&str, &[u8])]) -> Self {
        let mut example = Self::silent();
        for (name, bytes) in mailboxes {
            fs::write(example.path(name), bytes).unwrap();
        }
        example.initialize(1 << 20);
        example
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn initialize(&mut self, limit: u64) {
        let instance = json!({"uri_prefix": "mail://x/", "config": {"path": self.folder.path()}});
        let hello = self.ask(
            "initialize",
            &json!({"protocol_versions": ["dpe-connector/1"], "max_message_bytes": limit,
                    "instance": instance}),
        );
        assert_eq!(hello["result"]["plugin"]["name"], "mbox", "{hello}");
    }

    /// Goes on in a new process, as after a restart.
    fn restart(&mut self) {
        assert_eq!(self.ask("shutdown", &json!({}))["result"], json!({}));
        assert!(self.child.wait().unwrap().success());
        (self.child, self.stdin, self.stdout) = start();
        self.initialize(1 << 20);
    }

    fn send(&mut self, line: &str) {
        writeln!(self.stdin.as_ref().unwrap(), "{line}").unwrap();
    }

    fn request(&mut self, method: &str, params: &Value) {
        self.last += 1;
        let request =
            json!({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params});
        self.send(&request.to_string());
    }

    /// The next line.
    fn answer(&mut self) -> Value {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|why| panic!("{why}: {line:?}"))
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.request(method, params);
        let answer = self.answer();
        assert_eq!(answer["id"], self.last, "{answer}");
        answer
    }

    /// All items of a round, and its last batch.
    fn round(&mut self, cursor: &Value) -> (Vec<Value>, Value) {
        let mut items = Vec::new();
        let mut params = json!({"cursor": cursor, "max_items": 2});
        loop {
            let mut batch = self.ask("scan", &params)["result"].take();
            items.extend_from_slice(batch["items"].as_array().unwrap());
            match batch["next"].take() {
                Value::Null => return (items, batch),
                next => params = json!({"next": next, "max_items": 2}),
            }
        }
    }

    fn code(&mut self, method: &str, params: &Value) -> i64 {
        let answer = self.ask(method, params);
        answer["error"]["code"].as_i64().unwrap()
    }

    /// Waits for the end of the process.
    fn ends(mut self) {
        let patience = Instant::now() + Duration::from_secs(5);
        while Instant::now() < patience {
            if let Some(status) = self.child.try_wait().unwrap() {
                assert!(status.success(), "{status}");
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        self.child.kill().unwrap();
        panic!("it does not end");
    }
}

impl Drop for Example {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn start() -> (Child, Option<ChildStdin>, BufReader<ChildStdout>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut child = Command::new("python3")
        .arg(path.join("connectors/examples/mbox/mbox_connector.py"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let stdin = child.stdin.take();
    let stdout = BufReader::new(child.stdout.take().unwrap());
    (child, stdin, stdout)
}

/// A mailbox of these messages.
fn mailbox(messages: &[&str]) -> Vec<u8> {
    let mut text = String::new();
    for message in messages {
        write!(text, "From a@b Thu Jan  1 00:00:00 2026\n{message}\n\n").unwrap();
    }
    text.into_bytes()
}

/// Kinds and URIs of items, without the prefix.
fn told(items: &[Value]) -> Vec<String> {
    let uri = |item: &Value| {
        let uri = item["file_uri"].as_str().unwrap();
        uri.strip_prefix("mail://x/").unwrap().to_owned()
    };
    let told = |item: &Value| format!("{} {}", item["kind"].as_str().unwrap(), uri(item));
    items.iter().map(told).collect()
}

const ONE: &str = "Message-ID: <1@x>\nSubject: One\n\nFirst text.";
const OTHER_ONE: &str = "Message-ID: <1@x>\nSubject: One\n\nOther text.";
const TWO: &str = "Message-ID:\n <two/2@x>\nSubject: Two\n\nSecond text.";
const NAMELESS: &str = "Subject: Nameless\n\nNo Message-ID.";

#[test]
fn messages_are_named_by_their_id_and_by_their_content_where_that_does_not_do() {
    let inbox = mailbox(&[ONE, TWO, OTHER_ONE, ONE, NAMELESS]);
    let mut example = Example::of(&[("in box.mbox", &inbox)]);
    let (items, last) = example.round(&Value::Null);
    let expected = [
        "document in%20box.mbox/1@x",
        "document in%20box.mbox/two%2F2@x",
        "document in%20box.mbox/1@x;OTHER",
        "document in%20box.mbox/sha256-NAMELESS",
    ];
    let digest = |text: &str| {
        let reference = dpe::model::BlobRef::of(text.as_bytes()).to_string();
        reference["sha256:".len()..].to_owned()
    };
    let expected = expected.map(|line| {
        line.replace("OTHER", &digest(OTHER_ONE))
            .replace("NAMELESS", &digest(NAMELESS))
    });
    assert_eq!(told(&items), expected);
    assert_eq!(last["incremental"], false);
}

#[test]
fn round_after_changes_says_them_and_nothing_else() {
    let inbox = mailbox(&[ONE, TWO, NAMELESS]);
    let mut example = Example::of(&[("a.mbox", &inbox)]);
    let (_, first) = example.round(&Value::Null);
    example.restart();
    assert_eq!(told(&example.round(&first["cursor"]).0), [""; 0]);

    let three = "Message-ID: <3@x>\n\nThird.";
    fs::write(example.path("a.mbox"), mailbox(&[OTHER_ONE, three])).unwrap();
    fs::write(example.path("b.mbox"), mailbox(&[TWO])).unwrap();
    let (items, second) = example.round(&first["cursor"]);
    let told = told(&items);
    let documents = ["a.mbox/1@x", "a.mbox/3@x", "b.mbox/two%2F2@x"];
    assert_eq!(told[..3], documents.map(|uri| format!("document {uri}")));
    assert!(told[3].starts_with("delete a.mbox/sha256-"), "{told:?}");
    assert_eq!(told[4..], ["delete a.mbox/two%2F2@x"]);
    assert_eq!(second["incremental"], true);

    for unusable in ["", "rubbish", "e30=", "eJyLjgUAARUAuQ=="] {
        let (items, last) = example.round(&json!(unusable));
        assert_eq!(
            (items.len(), &last["incremental"]),
            (3, &json!(false)),
            "{unusable}"
        );
        assert_eq!(last["cursor"], second["cursor"]);
    }
}

#[test]
fn broken_charsets_headers_and_structures_cost_no_message() {
    let messages: [&[u8]; 5] = [
        b"Message-ID: <1@x>\nSubject: caf\xc3\xa9\nContent-Type: text/plain; charset=nonsense\n\nna\xc3\xafve",
        b"Message-ID: <2@x>\nSubject: =?utf-8?b?broken?=\nContent-Type: text/plain; charset=utf-8\n\nfianc\xe9",
        b"Message-ID: <3@x>\nDate: yesterday\nContent-Type: multipart/mixed\n\nno boundary",
        b"Message-ID: <4@x>\nContent-Type: text/html\n\n<style>p{}</style><p>One &amp; <b>two</b><p>three",
        b"Message-ID: <5@x>\nContent-Type: multipart/alternative; boundary=c\n\n--c\n\nplain\n--c\nContent-Type: text/html\n\nmarked\n--c--",
    ];
    let mut bytes = Vec::new();
    for message in messages {
        bytes.extend_from_slice(b"From a@b Thu Jan  1 00:00:00 2026\r\n");
        bytes.extend_from_slice(message);
        bytes.extend_from_slice(b"\r\n\r\n");
    }
    let mut example = Example::of(&[("a.mbox", &bytes)]);
    let (items, _) = example.round(&Value::Null);
    let texts: Vec<Vec<&str>> = items
        .iter()
        .map(|item| {
            let elements = item["pages"][0]["elements"].as_array().unwrap();
            let narrative = |element: &&Value| element["category"] == "NarrativeText";
            let texts = elements.iter().filter(narrative);
            texts
                .map(|element| element["text"].as_str().unwrap())
                .collect()
        })
        .collect();
    assert_eq!(texts[0], ["naïve"]);
    assert_eq!(texts[1], ["fianc\u{fffd}"]);
    assert_eq!(texts[2], ["no boundary"]);
    assert_eq!(texts[3], ["One &  two  three"]);
    assert_eq!(texts[4], ["plain"]);
    assert_eq!(items[0]["document"]["title"], "café");
    assert!(items[2]["document"]["doc_metadata"].get("date").is_none());
}

#[test]
fn mailbox_that_cannot_be_read_is_an_error_and_deletes_nothing() {
    let mut example = Example::of(&[("a.mbox", &mailbox(&[ONE])), ("b.mbox", &mailbox(&[TWO]))]);
    let (_, first) = example.round(&Value::Null);
    fs::write(example.path("a.mbox"), "no mailbox").unwrap();
    fs::remove_file(example.path("b.mbox")).unwrap();
    let (items, _) = example.round(&first["cursor"]);
    assert_eq!(told(&items), ["error a.mbox/", "delete b.mbox/two%2F2@x"]);
    assert_eq!(items[0]["code"], "content_invalid");
    assert_eq!(items[0]["retryable"], false);

    // The folder is not there any more, or has no mailbox: that is no empty source.
    fs::remove_file(example.path("a.mbox")).unwrap();
    let answer = example.ask("scan", &json!({"cursor": first["cursor"]}));
    assert_eq!(answer["error"]["code"], -32003, "{answer}");
    assert_eq!(answer["error"]["data"]["retryable"], true);
}

#[test]
fn images_are_sent_along_and_other_attachments_are_listed_by_name() {
    let message = "Message-ID: <p@x>\nContent-Type: multipart/mixed; boundary=c\n\n\
                   --c\n\nSee below.\n\
                   --c\nContent-Type: image/png\nContent-Transfer-Encoding: base64\n\nAAECAwQFBgcICQ==\n\
                   --c\nContent-Type: application/pdf; name=\"plan.pdf\"\n\n%PDF\n--c--";
    let mut example = Example::of(&[("a.mbox", &mailbox(&[message]))]);
    let (items, _) = example.round(&Value::Null);
    let expected = json!([
        {"category": "NarrativeText", "text": "See below."},
        {"category": "Image", "mime_type": "image/png", "blob": {"inline": "AAECAwQFBgcICQ=="}},
        {"category": "ListItem", "text": "plan.pdf", "metadata": {"attachment": "application/pdf"}},
    ]);
    assert_eq!(items[0]["pages"][0]["elements"], expected);
    let unknown = json!({"handle": "x", "max_bytes": 1});
    assert_eq!(example.code("read_blob", &unknown), -32002);
}

#[test]
fn escaped_lines_of_a_message_and_spaces_around_it_are_what_they_were() {
    let messages = "\n\nFrom a@b Thu\nMessage-ID: <1@x>\n\n>From here on.\n>>From there.\n\n\n\n\
                    From a@b Thu\nSubject: none\n\nMessage-ID: <no@x>\n\nFrom\n\n";
    let mut example = Example::of(&[("a.mbox", messages.as_bytes())]);
    let (items, _) = example.round(&Value::Null);
    let texts: Vec<_> = items
        .iter()
        .map(|item| {
            item["pages"][0]["elements"]
                .as_array()
                .unwrap()
                .last()
                .unwrap()
        })
        .map(|element| element["text"].as_str().unwrap())
        .collect();
    assert_eq!(texts, ["From here on.\n>From there.", "From"]);
    let told = told(&items);
    assert_eq!(told[0], "document a.mbox/1@x");
    assert!(told[1].starts_with("document a.mbox/sha256-"), "{told:?}");
}

#[test]
fn requests_that_are_not_in_order_are_refused_by_their_codes() {
    let mut example = Example::silent();
    fs::write(example.path("a.mbox"), mailbox(&[ONE])).unwrap();
    assert_eq!(example.code("scan", &json!({})), -32600);
    let hello = |versions: &[&str], config: &Value| {
        json!({"protocol_versions": versions, "max_message_bytes": 65536,
               "instance": {"uri_prefix": "mail://x/", "config": config}})
    };
    let fine = json!({"path": example.folder.path()});
    assert_eq!(
        example.code("initialize", &hello(&["dpe-connector/9"], &fine)),
        -32004
    );
    let relative = json!({"path": "mail"});
    assert_eq!(
        example.code("initialize", &hello(&["dpe-connector/1"], &relative)),
        -32005
    );
    example.initialize(65536);
    assert_eq!(
        example.code("initialize", &hello(&["dpe-connector/1"], &fine)),
        -32600
    );
    assert_eq!(example.code("no_such_method", &json!({})), -32601);
    assert_eq!(example.code("scan", &json!({"max_items": "x"})), -32602);
    assert_eq!(example.code("scan", &json!({"next": "1"})), -32602);
    assert_eq!(
        example.code("scan", &json!({"cursor": "x".repeat(70_000)})),
        -32600
    );
    assert_eq!(
        told(&example.round(&Value::Null).0),
        ["document a.mbox/1@x"]
    );
}

/// The example over a mailbox that takes a while, and what asks for all of it at once.
fn busy() -> (Example, Value) {
    let text = "A line of text that is long enough to be one.\n".repeat(20);
    let mut mailbox = String::new();
    for number in 0..60_000 {
        write!(mailbox, "From a Thu\nMessage-ID: <{number}@x>\n\n{text}\n").unwrap();
    }
    let mut example = Example::silent();
    fs::write(example.path("a.mbox"), mailbox).unwrap();
    example.initialize(1 << 30);
    (example, json!({"max_items": 60_000}))
}

#[test]
fn cancel_shutdown_and_the_end_of_input_are_seen_during_work() {
    let (mut example, all) = busy();
    example.request("scan", &all);
    let cancel = json!({"jsonrpc": "2.0", "method": "cancel", "params": {"id": example.last}});
    example.send(&cancel.to_string());
    assert_eq!(example.answer()["error"]["code"], -32001);
    let batch = example.ask("scan", &json!({"max_items": 1}));
    assert_eq!(batch["result"]["items"].as_array().unwrap().len(), 1);

    example.request("scan", &all);
    example.request("shutdown", &json!({}));
    assert_eq!(example.answer()["error"]["code"], -32001);
    assert_eq!(example.answer()["result"], json!({}));
    example.ends();

    let (mut example, all) = busy();
    example.request("scan", &all);
    example.stdin = None;
    example.ends();
}

#[test]
fn lines_keep_within_the_limit() {
    let mut example = Example::silent();
    let texts: Vec<_> = (0..40)
        .map(|number| format!("Message-ID: <{number}@x>\n\n{}", "é".repeat(number * 100)))
        .collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    fs::write(example.path("a.mbox"), mailbox(&texts)).unwrap();
    example.initialize(8192);
    let mut params = json!({});
    let mut items = Vec::new();
    loop {
        let batch = example.ask("scan", &params);
        // As serde_json writes it, without a line feed.
        assert!(batch.to_string().len() < 8192);
        items.extend_from_slice(batch["result"]["items"].as_array().unwrap());
        match &batch["result"]["next"] {
            Value::Null => break,
            next => params = json!({"next": next}),
        }
    }
    assert_eq!(items.len(), 40);
    let refused: Vec<_> = items
        .iter()
        .filter(|item| item["kind"] == "error")
        .collect();
    assert!((1..39).contains(&refused.len()));
    assert!(refused.iter().all(|item| item["code"] == "content_invalid"));
}
