//! The table of verdicts against `vectors/replies.json`: each case is a reply as it arrives, read
//! by the decoder of its operation.

use std::fs;
use std::path::Path;

use bytes::Bytes;
use dpe::model::{BlobRef, Contract, Contracts, FileUri, Hash};
use dpe::protocol::verdict::{Operation, verdict};
use dpe::protocol::{OperationError, ReplyError, Response, Staged, wire};
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};

const HASH: &str = "dpe1:5044788699fbc5362d08cae535a0c6ba274b6d6c9a8d7e8179366163b22f05ee";

#[test]
fn every_reply_of_the_vectors_has_its_verdict() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors/replies.json");
    let file: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let cases = file["cases"].as_array().unwrap();
    let mut wrong = Vec::new();
    for case in cases {
        let operation = operation(case["operation"].as_str().unwrap());
        let end = end(operation, case);
        let resent = case["resent"] == json!(true);
        let verdict = snake(&verdict(operation, end.as_ref().copied(), resent));
        if case["verdict"] != json!(verdict) {
            wrong.push(format!("{}: {verdict}", case["name"]));
        }
    }
    assert!(cases.len() > 400);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_operation_is_in_the_vectors() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors/replies.json");
    let text = fs::read_to_string(path).unwrap();
    for operation in Operation::ALL {
        let name = snake(&operation);
        assert!(
            text.contains(&format!("\"operation\": \"{name}\"")),
            "{name}"
        );
    }
}

/// `CommitIfAbsent` as `commit_if_absent`.
fn snake(name: &impl std::fmt::Debug) -> String {
    let mut snake = String::new();
    for letter in format!("{name:?}").chars() {
        if letter.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
    }
    snake
}

fn operation(name: &str) -> Operation {
    let known = Operation::ALL
        .into_iter()
        .find(|operation| snake(operation) == name);
    known.unwrap_or_else(|| panic!("no operation {name}"))
}

fn end(operation: Operation, case: &Value) -> Result<(), OperationError> {
    let message = String::new();
    match case["transport"].as_str() {
        Some("not_sent") => Err(OperationError::NotSent { message }),
        Some("local") => Err(OperationError::LocalRequest { message }),
        Some("lost") => Err(OperationError::Lost { message }),
        _ => decode(operation, &response(case)).map_err(OperationError::Reply),
    }
}

fn response(case: &Value) -> Response {
    let mut headers = HeaderMap::new();
    let mut insert = |name: &'static str, value: &str| {
        let value = HeaderValue::from_str(value).unwrap();
        headers.insert(HeaderName::from_static(name), value);
    };
    for (member, header) in [
        ("header_code", "dpe-error-code"),
        ("offset", "dpe-upload-offset"),
        ("doc_hash", "dpe-doc-hash"),
    ] {
        if let Some(value) = case[member].as_str() {
            insert(header, value);
        }
    }
    let body = if case["code"].is_string() {
        insert("content-type", "application/problem+json");
        json!({"code": case["code"], "retryable": case["retryable"] == json!(true)}).to_string()
    } else if case["body"].is_object() {
        case["body"].to_string()
    } else {
        String::new()
    };
    Response {
        status: u16::try_from(case["status"].as_u64().unwrap()).unwrap(),
        headers,
        body: Bytes::from(body),
    }
}

fn decode(operation: Operation, response: &Response) -> Result<(), ReplyError> {
    let contract = Contract::Dpe1;
    let hash = Hash::parse(HASH, Contracts::SUPPORTED).unwrap();
    let uri = FileUri::parse("x://y").unwrap();
    let blob = Staged::Blob(BlobRef::of(b""));
    match operation {
        Operation::Capabilities => wire::capabilities::decode(response).map(drop),
        Operation::Head => wire::head::decode(response, contract).map(drop),
        Operation::BatchHead => wire::heads::decode(response, contract, 1).map(drop),
        Operation::GetSkeleton => wire::skeleton::decode(response, contract, &uri).map(drop),
        Operation::List => wire::list::decode(response, contract, "").map(drop),
        Operation::ResumeQuery => wire::resume::decode(response, contract).map(drop),
        Operation::Negotiate => wire::negotiate::decode(response, contract).map(drop),
        Operation::UploadWhole | Operation::UploadChunk => {
            let is_chunk = operation == Operation::UploadChunk;
            wire::upload::decode(response, contract, blob, is_chunk).map(drop)
        }
        Operation::CommitIfAbsent | Operation::CommitBase | Operation::CommitForce => {
            wire::commit::decode(response, contract, hash, 3).map(drop)
        }
        Operation::Delete => wire::delete::decode(response, contract),
        Operation::Move => wire::move_::decode(response, contract, hash).map(drop),
    }
}
