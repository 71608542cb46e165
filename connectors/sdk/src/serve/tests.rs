use std::io::{BufRead, BufReader, PipeReader, PipeWriter, pipe};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::*;
use crate::scan::ScanEnd;

/// Enumerates nothing; a scan with the cursor `wait` works until it is cancelled, one with
/// `large` answers more than a message may hold.
struct Nothing;

impl Connector for Nothing {
    fn identity(&self) -> Identity {
        Identity {
            name: "nothing".into(),
            version: "1".into(),
        }
    }

    fn initialize(&mut self, params: &InitializeParams) -> Result<Capabilities, RpcError> {
        let config: Value = params.instance.config()?;
        if config.get("bad").is_some() {
            return Err(RpcError::new(ErrorCode::InvalidConfig, "bad"));
        }
        Ok(Capabilities {
            supports_cursor: true,
        })
    }

    fn scan(&mut self, params: ScanParams, cancel: &CancelFlag) -> Result<ScanResult, RpcError> {
        let cursor = params.cursor.unwrap_or_default();
        if cursor == "wait" {
            loop {
                cancel.check()?;
                thread::sleep(Duration::from_millis(1));
            }
        }
        let cursor = if cursor == "large" {
            "x".repeat(5000)
        } else {
            cursor
        };
        Ok(ScanResult {
            items: Vec::new(),
            end: ScanEnd::Final {
                cursor: Some(cursor),
                incremental: false,
            },
        })
    }
}

struct Plugin {
    to: Option<PipeWriter>,
    from: BufReader<PipeReader>,
    thread: JoinHandle<Ended>,
}

impl Plugin {
    fn start() -> Self {
        let (stdin, to) = pipe().unwrap();
        let (from, stdout) = pipe().unwrap();
        let thread = thread::spawn(move || serve(&mut Nothing, stdin, stdout).unwrap());
        Self {
            to: Some(to),
            from: BufReader::new(from),
            thread,
        }
    }

    fn initialized() -> Self {
        let mut plugin = Self::start();
        plugin.send(&initialize(json!({})));
        assert_eq!(plugin.receive()["result"]["plugin"]["name"], "nothing");
        plugin
    }

    fn send(&mut self, line: &str) {
        write_line(self.to.as_mut().unwrap(), line.as_bytes()).unwrap();
    }

    fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.from.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    fn code_for(&mut self, line: &str) -> i64 {
        self.send(line);
        self.receive()["error"]["code"].as_i64().unwrap()
    }

    fn end(mut self) -> Ended {
        self.to = None;
        self.thread.join().unwrap()
    }
}

fn initialize(config: Value) -> String {
    request(
        1,
        "initialize",
        json!({
            "protocol_versions": ["dpe-connector/1"],
            "max_message_bytes": 4000,
            "instance": {"uri_prefix": "x:", "config": config},
        }),
    )
}

fn request(id: i64, method: &str, params: Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

#[test]
fn everything_before_initialize_is_refused() {
    let mut plugin = Plugin::start();
    for method in ["scan", "shutdown", "read_blob", "unheard_of"] {
        assert_eq!(plugin.code_for(&request(9, method, json!({}))), -32600);
    }
    plugin.send(&initialize(json!({})));
    assert_eq!(
        plugin.receive()["result"]["protocol_version"],
        PROTOCOL_VERSION
    );
}

#[test]
fn a_failed_initialize_leaves_the_plugin_uninitialised() {
    let mut plugin = Plugin::start();
    assert_eq!(plugin.code_for(&initialize(json!({"bad": 1}))), -32005);
    assert_eq!(plugin.code_for(&request(2, "scan", json!({}))), -32600);
    let other = initialize(json!({})).replace("dpe-connector/1", "dpe-connector/9");
    assert_eq!(plugin.code_for(&other), -32004);
}

#[test]
fn unusable_requests_get_the_codes_of_the_contract() {
    let mut plugin = Plugin::initialized();
    assert_eq!(plugin.code_for(""), -32700);
    assert_eq!(plugin.code_for("{nonsense"), -32700);
    assert_eq!(plugin.code_for("[]"), -32600);
    assert_eq!(
        plugin.code_for(r#"{"jsonrpc":"2.0","id":"a","method":"scan"}"#),
        -32600
    );
    assert_eq!(
        plugin.code_for(r#"{"jsonrpc":"1.0","id":1,"method":"scan"}"#),
        -32600
    );
    assert_eq!(plugin.code_for(&initialize(json!({}))), -32600);
    assert_eq!(
        plugin.code_for(&request(2, "unheard_of", json!({}))),
        -32601
    );
    assert_eq!(
        plugin.code_for(&request(2, "scan", json!({"max_items": 0}))),
        -32602
    );
    assert_eq!(
        plugin.code_for(&request(2, "scan", json!({"cursor": 1}))),
        -32602
    );
    let blob = json!({"handle": "h", "max_bytes": 1});
    assert_eq!(plugin.code_for(&request(2, "read_blob", blob)), -32002);
    plugin.send(&request(3, "scan", json!({"cursor": "c"})));
    assert_eq!(plugin.receive()["result"]["cursor"], "c");
}

#[test]
fn an_oversized_request_is_refused_and_the_next_one_served() {
    let mut plugin = Plugin::initialized();
    plugin.send(&request(7, "scan", json!({"cursor": "c".repeat(4000)})));
    let answer = plugin.receive();
    assert_eq!(answer["error"]["code"], -32600);
    plugin.send(&request(8, "scan", json!({})));
    assert_eq!(plugin.receive()["id"], 8);
}

#[test]
fn the_id_of_an_oversized_request_is_found_in_its_beginning() {
    assert_eq!(
        id_in(br#"{"jsonrpc":"2.0","id":7,"method":"scan","params":{"#),
        Some(7)
    );
    assert_eq!(id_in(br#"{"jsonrpc":"2.0","params":{"id":7,"#), None);
}

#[test]
fn an_answer_above_the_limit_is_never_written() {
    let mut plugin = Plugin::initialized();
    assert_eq!(
        plugin.code_for(&request(2, "scan", json!({"cursor": "large"}))),
        -32603
    );
}

#[test]
fn cancel_reaches_a_scan_at_work() {
    let mut plugin = Plugin::initialized();
    plugin.send(&request(2, "scan", json!({"cursor": "wait"})));
    plugin.send(r#"{"jsonrpc":"2.0","method":"cancel","params":{"id":99}}"#);
    plugin.send(r#"{"jsonrpc":"2.0","method":"cancel","params":{"id":2}}"#);
    let answer = plugin.receive();
    assert_eq!(
        (&answer["id"], &answer["error"]["code"]),
        (&json!(2), &json!(-32001))
    );
    plugin.send(&request(3, "scan", json!({})));
    assert_eq!(plugin.receive()["id"], 3);
}

#[test]
fn shutdown_stops_the_work_is_answered_and_ends_the_loop() {
    let mut plugin = Plugin::initialized();
    plugin.send(&request(2, "scan", json!({"cursor": "wait"})));
    plugin.send(&request(3, "shutdown", json!({})));
    assert_eq!(plugin.receive()["error"]["code"], -32001);
    assert_eq!(
        plugin.receive(),
        json!({"jsonrpc": "2.0", "id": 3, "result": {}})
    );
    assert_eq!(plugin.thread.join().unwrap(), Ended::Shutdown);
}

#[test]
fn the_end_of_input_ends_the_loop_even_during_a_scan() {
    let mut plugin = Plugin::initialized();
    plugin.send(&request(2, "scan", json!({"cursor": "wait"})));
    let began = Instant::now();
    assert_eq!(plugin.end(), Ended::EndOfInput);
    assert!(began.elapsed() < Duration::from_secs(2));
}
