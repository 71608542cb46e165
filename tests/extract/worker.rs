//! The worker process, `dpe connector extract-worker`: it ends when nobody needs it any more, and takes no
//! more than it may.

use std::io::{Read as _, Write as _};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

fn worker(memory_bytes: u64) -> Child {
    Command::new(env!("CARGO_BIN_EXE_dpe"))
        .env_clear()
        .args(["connector", "extract-worker", &memory_bytes.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The head of a request for a file of so many bytes, which is called `a.md`.
fn head(file_bytes: u64) -> Vec<u8> {
    let request = json!({
        "limits": {},
        "answer_bytes": 1000,
        "name_bytes": 4,
        "file_bytes": file_bytes,
    });
    let request = request.to_string();
    let mut bytes = u32::try_from(request.len()).unwrap().to_le_bytes().to_vec();
    bytes.extend(request.as_bytes());
    bytes.extend(b"a.md");
    bytes
}

#[test]
fn a_worker_answers_and_ends_with_its_input() {
    let mut child = worker(1 << 30);
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(&head(3)).unwrap();
    stdin.write_all(b"# A").unwrap();
    let mut length = [0; 4];
    let stdout = child.stdout.as_mut().unwrap();
    stdout.read_exact(&mut length).unwrap();
    let mut answer = vec![0; u32::from_le_bytes(length) as usize];
    stdout.read_exact(&mut answer).unwrap();
    let answer: Value = serde_json::from_slice(&answer).unwrap();
    let element = &answer["document"]["pages"][0]["elements"][0];
    assert_eq!(element["text"], "A");
    // In the middle of a request, as when its starter was killed.
    stdin.write_all(&head(100)).unwrap();
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

#[cfg(target_os = "linux")]
#[test]
fn a_worker_that_needs_more_memory_than_it_may_have_dies() {
    let mut child = worker(1 << 20);
    let mut stdin = child.stdin.take().unwrap();
    let part = vec![b'a'; 1 << 20];
    stdin.write_all(&head(1 << 30)).unwrap();
    while stdin.write_all(&part).is_ok() {}
    let output = child.wait_with_output().unwrap();
    assert!(!output.status.success());
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("memory allocation of"), "{said}");
}
