//! Requests as they travel, and a client's requests against the embedded remote.

use dpe::model::{Contract, Contracts, FileUri, Hash};
use dpe::protocol::wire::{self, commit::Precondition};
use dpe::protocol::{Request, Response};
use dpe::server::{InProcess, OpenMode, Options, Service, Store};
use dpe::sync::ports::Transport;
use http::Method;
use serde_json::{Value, json};

const CONTRACT: Contract = Contract::Dpe1;
/// Document `{"file_type":"empty","pages":[]}` (hash contract §16).
const EMPTY: &str = "dpe1:5044788699fbc5362d08cae535a0c6ba274b6d6c9a8d7e8179366163b22f05ee";

fn uri(text: &str) -> FileUri {
    FileUri::parse(text).unwrap()
}

fn empty() -> Hash {
    Hash::parse(EMPTY, Contracts::SUPPORTED).unwrap()
}

/// Method, target, headers and body, in the form this file compares.
fn seen(request: Request) -> (Method, String, Vec<(String, String)>, Value) {
    let body = request.body.as_deref().unwrap_or(b"null");
    let mut headers: Vec<_> = request
        .headers
        .into_iter()
        .map(|(name, value)| (name.as_str().to_owned(), value))
        .collect();
    headers.sort();
    let body = serde_json::from_slice(body).unwrap();
    (request.method, request.target, headers, body)
}

fn headers(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    pairs.iter().map(owned).collect()
}

#[test]
fn requests_are_spelled_as_the_binding_says() {
    let contract = ("dpe-hash-contract", "dpe1");
    let json_body = ("content-type", "application/json");
    let document = uri("feishu://doc/a%20b");
    let target = "documents?uri=feishu%3A%2F%2Fdoc%2Fa%2520b".to_owned();
    let tag = format!("\"{EMPTY}\"");
    let null = Value::Null;

    let request = wire::capabilities::Request.into_http();
    assert_eq!(
        seen(request),
        (Method::GET, "capabilities".into(), vec![], null.clone())
    );
    let request = wire::head::Request {
        uri: document.as_str(),
    }
    .into_http(CONTRACT);
    assert_eq!(
        seen(request),
        (
            Method::HEAD,
            target.clone(),
            headers(&[contract]),
            null.clone()
        )
    );
    let request = wire::skeleton::Request { uri: &document }.into_http(CONTRACT);
    assert_eq!(
        seen(request),
        (
            Method::GET,
            target.clone(),
            headers(&[contract]),
            null.clone()
        )
    );
    let request = wire::heads::Request {
        uris: &["x:a", "x:\"b"],
    }
    .into_http(CONTRACT);
    let expected = json!({"uris": ["x:a", "x:\"b"]});
    assert_eq!(
        seen(request),
        (
            Method::POST,
            "heads".into(),
            headers(&[json_body, contract]),
            expected
        )
    );
    let request = wire::list::Request {
        prefix: "",
        cursor: None,
        limit: None,
    }
    .into_http(CONTRACT);
    assert_eq!(
        seen(request),
        (
            Method::GET,
            "documents?prefix=".into(),
            headers(&[contract]),
            null.clone()
        )
    );
    let request = wire::delete::Request {
        uri: &document,
        base: empty(),
    }
    .into_http(CONTRACT);
    let conditional = headers(&[contract, ("if-match", &tag)]);
    assert_eq!(
        seen(request),
        (Method::DELETE, target.clone(), conditional, null)
    );
    let request = wire::move_::Request {
        from: &document,
        to: &uri("x:b"),
        base: empty(),
    };
    let expected = json!({"from_uri": "feishu://doc/a%20b", "to_uri": "x:b", "base_hash": EMPTY});
    let all = headers(&[json_body, contract]);
    assert_eq!(
        seen(request.into_http(CONTRACT)),
        (Method::POST, "move".into(), all, expected)
    );

    for (precondition, condition, force) in [
        (Precondition::IfAbsent, Some(("if-none-match", "*")), None),
        (
            Precondition::Base(empty()),
            Some(("if-match", tag.as_str())),
            None,
        ),
        (Precondition::Force, None, Some(true)),
    ] {
        let request = wire::commit::Request {
            uri: &document,
            precondition,
            document: "{\"d\":1}",
            pages: &["{\"p\":1}", "{\"p\":2}"],
            objects: &[],
            staging_session: Some("st-1"),
        };
        let mut expected = json!({"document": {"d": 1}, "pages": [{"p": 1}, {"p": 2}],
                                  "staging_session": "st-1"});
        if let Some(force) = force {
            expected["force"] = json!(force);
        }
        let fields = [Some(json_body), Some(contract), condition];
        let fields: Vec<_> = fields.into_iter().flatten().collect();
        let request = seen(request.into_http(CONTRACT));
        assert_eq!(
            request,
            (Method::PUT, target.clone(), headers(&fields), expected)
        );
    }
}

#[tokio::test]
async fn client_and_embedded_remote_understand_each_other() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), OpenMode::Create).unwrap();
    let options = Options {
        prefix: "/r/1".to_owned(),
        ..Options::default()
    };
    let remote = InProcess::new(&Service::new(store, Default::default(), options));
    let send = async |request: Request| -> Response { remote.send(request).await.unwrap() };

    let reply = send(wire::capabilities::Request.into_http()).await;
    let capabilities = wire::capabilities::decode(&reply).unwrap();
    assert!(capabilities.accepts(Contract::Dpe1) && !capabilities.accepts(Contract::Dpex));

    let (from, to) = (uri("x:a"), uri("x:b"));
    let commit = |precondition, document| {
        wire::commit::Request {
            uri: &from,
            precondition,
            document,
            pages: &[],
            objects: &[],
            staging_session: None,
        }
        .into_http(CONTRACT)
    };
    let document = r#"{"file_type":"empty","pages":[]}"#;
    let reply = send(commit(Precondition::IfAbsent, document)).await;
    let reply = wire::commit::decode(&reply, CONTRACT, empty(), 0).unwrap();
    assert_eq!(reply.status, wire::commit::Status::Created);

    let request = wire::move_::Request {
        from: &from,
        to: &to,
        base: empty(),
    };
    let reply = send(request.into_http(CONTRACT)).await;
    assert_eq!(wire::move_::decode(&reply, CONTRACT, empty()), Ok(empty()));

    let uris = [&from, &to].map(FileUri::as_str);
    let reply = send(wire::heads::Request { uris: &uris }.into_http(CONTRACT)).await;
    assert_eq!(
        wire::heads::decode(&reply, CONTRACT, 2),
        Ok(vec![None, Some(empty())])
    );
    for (uri, head) in [(&from, None), (&to, Some(empty()))] {
        let reply = send(wire::head::Request { uri: uri.as_str() }.into_http(CONTRACT)).await;
        assert_eq!(wire::head::decode(&reply, CONTRACT), Ok(head));
        let reply = send(wire::skeleton::Request { uri }.into_http(CONTRACT)).await;
        let skeleton = wire::skeleton::decode(&reply, CONTRACT, uri).unwrap();
        let found = skeleton.map(|skeleton| (skeleton.doc_hash, skeleton.document));
        assert_eq!(found, head.map(|hash| (hash, document.into())));
    }
    let request = wire::list::Request {
        prefix: "x:",
        cursor: None,
        limit: Some(1),
    };
    let reply = send(request.into_http(CONTRACT)).await;
    let list = wire::list::decode(&reply, CONTRACT, "").unwrap();
    assert_eq!((list.documents.len(), list.next_cursor), (1, None));
    assert_eq!(list.documents[0].file_uri, "x:b");

    let delete = || {
        wire::delete::Request {
            uri: &to,
            base: empty(),
        }
        .into_http(CONTRACT)
    };
    assert_eq!(
        wire::delete::decode(&send(delete()).await, CONTRACT),
        Ok(())
    );
    let refused = wire::delete::decode(&send(delete()).await, CONTRACT).unwrap_err();
    assert!(
        refused
            .to_string()
            .starts_with("DPE_NOT_FOUND (status 412)"),
        "{refused}"
    );
}

#[test]
fn replies_have_room_for_what_was_asked_and_not_for_more() {
    let document = uri("x:d");
    // A hash of contract 1 has 69 bytes, and an entry its name and brackets around it.
    let entry = |hash: &str| format!(r#"{{"doc_hash":"{hash}"}},"#).len();
    let entry = entry(&empty().to_string());
    let request = wire::heads::Request {
        uris: &vec!["x:d"; 1_000_000],
    };
    let room = request.into_http(CONTRACT).longest_reply;
    assert!(room > 1_000_000 * entry, "{room}");
    let pages = vec![r#"{"elements":[]}"#; 1_000_000];
    let request = wire::negotiate::Request {
        file_uri: &document,
        document: "{}",
        pages: &pages,
    };
    let request = request.into_http(CONTRACT);
    assert!(request.longest_reply > request.body.unwrap().len());
    let skeleton = wire::skeleton::Request { uri: &document }.into_http(CONTRACT);
    let list = |limit| {
        let (prefix, cursor) = ("", None);
        let request = wire::list::Request {
            prefix,
            cursor,
            limit,
        };
        request.into_http(CONTRACT).longest_reply
    };
    let short = [
        wire::capabilities::Request.into_http().longest_reply,
        wire::heads::Request { uris: &["x:d"] }
            .into_http(CONTRACT)
            .longest_reply,
        list(Some(1)),
    ];
    for short in short {
        assert!((1 << 20..=16 << 20).contains(&short), "{short}");
    }
    for long in [skeleton.longest_reply, list(None), list(Some(u64::MAX))] {
        assert!((256 << 20..1 << 30).contains(&long), "{long}");
    }
}
