//! `--delete` (§29).

use serde_json::{Value, json};

use super::instance::{EMPTY, Instance, Ran};

const DOCUMENT: &str = r#"
initialize()
result(read(), {"items": [{"kind": "document", "file_uri": "t://p/a",
    "document": {"file_type": "md"}, "pages": []}], "cursor": "c", "incremental": False})
shutdown()
"#;

fn assert_deleted(ran: &Ran, found: bool) {
    assert_eq!((ran.code, &*ran.stdout), (Some(0), ""), "{ran:?}");
    let [line] = &ran.log()[..] else {
        panic!("{ran:?}");
    };
    assert_eq!(line["event"], "instance.deleted");
    assert_eq!(line["found"], found);
    assert_eq!(
        (&line["instance"], &line["round"]),
        (&json!("i"), &Value::Null)
    );
}

#[test]
fn deleting_twice_finds_something_once_and_never_touches_the_remote() {
    let instance = Instance::new(DOCUMENT);
    assert_eq!(instance.run().report()["counts"]["created"], 1);
    assert_deleted(&instance.run_with(&["--delete"]), true);
    assert_deleted(&instance.run_with(&["--delete"]), false);
    assert_eq!(instance.remote(), ["t://p/a"]);
    // A new instance: the round is a full one, and what is there is unchanged.
    let report = instance.run().report();
    assert_eq!(report["counts"]["unchanged"], 1, "{report}");
}

#[test]
fn an_instance_nobody_has_run_has_nothing_to_delete() {
    let instance = Instance::new(EMPTY);
    assert_deleted(&instance.run_with(&["--delete"]), false);
}

#[test]
fn only_version_and_id_of_the_definition_are_read_and_state_is_not_parsed() {
    let mut instance = Instance::new(DOCUMENT);
    assert_eq!(instance.run().code, Some(0));
    let whole = instance.definition.clone();
    std::fs::write(instance.state().join("instances/i/state.db"), "no database").unwrap();
    std::fs::remove_file(instance.path("manifest.json")).unwrap();
    instance.definition = json!({"definition_version": 1, "id": "i", "remote": null, "more": []});
    assert_deleted(&instance.run_with(&["--delete"]), true);
    // Its prefix is free again.
    instance.write_manifest(&json!({}));
    instance.definition = whole;
    instance.definition["id"] = json!("other");
    assert_eq!(instance.run().code, Some(0));
}

#[test]
fn a_definition_without_a_usable_id_is_refused_without_a_report() {
    let mut instance = Instance::new(EMPTY);
    for (member, value) in [("id", json!("-")), ("definition_version", json!(2))] {
        instance.definition[member] = value;
        let ran = instance.run_with(&["--delete"]);
        assert_eq!((ran.code, &*ran.stdout), (Some(3), ""), "{ran:?}");
        let failure = &ran.events("item.failed")[0]["failure"];
        assert_eq!(failure["code"], "definition_invalid");
    }
    assert!(instance.state_files().is_empty());
}

#[test]
fn an_instance_that_is_being_run_is_not_deleted() {
    let instance = Instance::new("initialize()\nread()\ntime.sleep(1000)");
    let mut child = instance.start();
    instance.wait_for("round.started");
    let ran = instance.run_with(&["--delete"]);
    assert_eq!((ran.code, &*ran.stdout), (Some(4), ""), "{ran:?}");
    assert_eq!(
        ran.events("item.failed")[0]["failure"]["code"],
        "instance_busy"
    );
    child.kill().unwrap();
    child.wait().unwrap();
    assert_deleted(&instance.run_with(&["--delete"]), true);
}

#[test]
fn a_registry_that_cannot_be_read_is_told_and_left_alone() {
    let instance = Instance::new(EMPTY);
    assert_eq!(instance.run().code, Some(0));
    let registry = instance.state().join("registry.db");
    std::fs::write(&registry, "no database").unwrap();
    let ran = instance.run_with(&["--delete"]);
    assert_eq!((ran.code, &*ran.stdout), (Some(2), ""), "{ran:?}");
    let failure = &ran.events("item.failed")[0]["failure"];
    assert_eq!(failure["code"], "state_unavailable");
    assert_eq!(failure["retryable"], false);
    assert_eq!(std::fs::read_to_string(registry).unwrap(), "no database");
}
