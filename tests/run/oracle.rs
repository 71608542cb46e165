//! Definitions with random changes are judged as another implementation judges them.

use std::path::Path;

use dpe::config::Definition;
use dpe_sdk::run::definition::parse_definition;
use proptest::prelude::{Just, Strategy, prop_assert_eq, prop_oneof, proptest};
use proptest::sample::{Index, select};
use serde_json::{Value, json};

/// The example of §6, with everything that is optional.
fn example() -> Value {
    json!({
        "definition_version": 1,
        "id": "wiki-eng",
        "remote": {"url": "https://dpe.example.net/r/eng", "credential": {"env": "ENG_DPE_AUTH"}},
        "uri_prefix": "wiki://eng/",
        "plugin": {
            "manifest": "wiki/dpe-connector.json",
            "command": ["./wiki/run", "--quiet"],
            "env": {"WIKI_LOCALE": "en"},
        },
        "config": {"space": "ENG", "deep": [{"a": null}]},
        "secrets": {"WIKI_TOKEN": {"file": "secrets/wiki"}},
        "conflict_policy": {"commit": "report", "delete": "source_wins"},
        "runner": {"scan_timeout": 120},
    })
}

/// One change at some place.
#[derive(Clone, Debug)]
enum Change {
    Replace(Index, Value),
    Remove(Index),
    Insert(Index, &'static str, Value),
}

fn values() -> impl Strategy<Value = Value> {
    let strings = [
        "",
        "a",
        "1",
        "A=B",
        "x\0",
        "wiki-eng\n",
        "-x",
        ".x",
        "x.y_z-0",
        "\u{e4}",
        "source_wins",
        "report",
        "force",
        "PATH",
        "wiki:",
        "WIKI:",
        "wiki://eng/%7e",
        "wiki://eng/%7E",
        "w://%2f",
        "http://h",
        "http://h/",
        "http://h:80/r",
        "https://h:80/r",
        "https://u@h/r",
        "https://h/r?q",
        "https://H/r",
        "http://[::1]/r",
        "http://127.1/r",
        "http://h/a/../b",
        "sub/m.json",
        "/abs",
    ];
    prop_oneof![
        4 => select(strings.map(Value::from).to_vec()),
        2 => select(vec![
            json!(null), json!(true), json!(0), json!(1), json!(1.0), json!(-1), json!(2), json!([]),
            json!({}), json!([""]), json!(["a", 1]), json!(["a", "b\0"]), json!({"env": "X"}),
            json!({"file": "x"}), json!({"env": "X", "file": "x"}), json!({"env": null}),
            json!({"value": "x"}), json!({"A": "b"}), json!({"A": 1}),
        ]),
        1 => Just(json!("a".repeat(128))),
        1 => Just(json!("a".repeat(129))),
    ]
}

fn names() -> impl Strategy<Value = &'static str> {
    select(vec![
        "",
        "more",
        "env",
        "file",
        "url",
        "credential",
        "commit",
        "delete",
        "DPE_X",
        "PATH",
        "TEMP",
        "LC_X",
        "LC",
        "A=B",
        "A\0",
        "WIKI_OTHER",
        "id",
        "config",
    ])
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let index = proptest::arbitrary::any::<Index>;
    let change = prop_oneof![
        4 => (index(), values()).prop_map(|(at, value)| Change::Replace(at, value)),
        1 => index().prop_map(Change::Remove),
        2 => (index(), names(), values()).prop_map(|(at, name, value)| Change::Insert(at, name, value)),
    ];
    proptest::collection::vec(change, 1..3)
}

/// Returns the pointers of all values.
fn pointers(value: &Value, at: &str, all: &mut Vec<String>) {
    all.push(at.to_owned());
    let escaped = |name: &str| name.replace('~', "~0").replace('/', "~1");
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                pointers(member, &format!("{at}/{}", escaped(name)), all);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                pointers(item, &format!("{at}/{index}"), all);
            }
        }
        _ => {}
    }
}

fn changed(mut definition: Value, change: &Change) -> Value {
    let mut all = Vec::new();
    pointers(&definition, "", &mut all);
    let (Change::Replace(at, _) | Change::Remove(at) | Change::Insert(at, ..)) = change;
    let pointer = at.get(&all).clone();
    match change {
        Change::Replace(_, value) => *definition.pointer_mut(&pointer).unwrap() = value.clone(),
        Change::Remove(_) => {
            if let Some((parent, name)) = pointer.rsplit_once('/')
                && let Some(Value::Object(members)) = definition.pointer_mut(parent)
            {
                members.remove(name);
            }
        }
        Change::Insert(_, name, value) => {
            if let Some(Value::Object(members)) = definition.pointer_mut(&pointer) {
                members.insert((*name).to_owned(), value.clone());
            }
        }
    }
    definition
}

/// Two sources in one place are no matter of the text alone, so that they are judged elsewhere.
fn has_one_source_twice(definition: &Value) -> bool {
    let credential = &definition["remote"]["credential"];
    let secrets = definition["secrets"].as_object();
    secrets.is_some_and(|secrets| secrets.values().any(|secret| secret == credential))
}

proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(2000))]

    #[test]
    fn both_accept_the_same_definitions(changes in changes()) {
        let definition = changes.iter().fold(example(), changed);
        if !has_one_source_twice(&definition) {
            let directory = Path::new("/nowhere");
            let ours = Definition::parse(definition.to_string().as_bytes(), directory);
            let theirs = parse_definition(&definition, directory);
            prop_assert_eq!(
                ours.is_ok(), theirs.is_ok(), "{}\n{:?}\n{:?}", definition, ours.err(), theirs.err()
            );
        }
    }
}
