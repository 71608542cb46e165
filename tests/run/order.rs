//! Which of several failures is told (§24), and what of the remote's is told in which way (§25.2).

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Command;

use serde_json::{Value, json};

use super::instance::{EMPTY, Instance, Ran};

/// Everything is wrong; it is mended step by step, and each time the next failure shows.
#[test]
fn the_first_step_that_fails_is_the_one_that_is_told() {
    let mut instance = Instance::new("error(read(), -32005)");
    let url = instance.served.url.clone();
    instance.definition = json!({
        "definition_version": 1, "id": "i", "uri_prefix": "t://p/",
        "remote": {"url": "http://127.0.0.1:1", "credential": {"env": "REMOTE"}},
        "plugin": {"manifest": "missing.json", "command": ["./missing", "x"], "env": {"TOKEN": "x"}},
        "config": {}, "runner": {"max_items": 0}, "more": 1,
    });
    instance.write_manifest(&json!({
        "config_schema": {"type": "object", "required": ["a"]},
        "secrets": [{"name": "TOKEN"}],
    }));
    let told = |instance: &Instance, code: &str| {
        let ran = instance.run();
        assert_eq!(ran.report()["failures"][0]["code"], code, "{ran:?}");
        ran
    };
    told(&instance, "definition_invalid");
    instance.definition.as_object_mut().unwrap().remove("more");
    told(&instance, "manifest_invalid");
    instance.definition["plugin"]["manifest"] = json!("manifest.json");
    let ran = told(&instance, "definition_invalid");
    assert!(ran.message().contains("/plugin/env/TOKEN"), "{ran:?}");
    instance.definition["plugin"]["env"] = json!({});
    told(&instance, "config_schema_violation");
    instance.definition["config"] = json!({"a": 1});
    let ran = told(&instance, "definition_invalid");
    assert!(ran.message().contains("/runner/max_items"), "{ran:?}");
    instance.definition["runner"] = json!({});
    let ran = told(&instance, "secret_missing");
    assert!(ran.message().contains("remote"), "{ran:?}");
    instance.variables = vec![("REMOTE".into(), "Bearer x".into())];
    let ran = told(&instance, "secret_missing");
    assert!(ran.message().contains("TOKEN"), "{ran:?}");
    instance.definition["secrets"] = json!({"TOKEN": {"env": "SOURCE"}});
    instance.variables.push(("SOURCE".into(), "s".into()));
    let ran = told(&instance, "definition_invalid");
    assert!(ran.message().contains("/plugin/command/0"), "{ran:?}");
    assert_eq!(instance.state_files(), ["instances/i/lock"]);
    assert_eq!(ran.report()["cursor_held_since"], Value::Null);
    let usual = Instance::new(EMPTY).definition["plugin"]["command"][0].clone();
    instance.definition["plugin"]["command"] =
        json!([usual, instance.path("plugin.py"), instance.path("")]);
    let ran = told(&instance, "remote_unavailable");
    assert_eq!(ran.code, Some(2));
    assert!(ran.events("plugin.started").is_empty(), "{ran:?}");
    // From here on there is state, which notes since when the cursor is held.
    let since = ran.report()["cursor_held_since"].clone();
    assert_eq!(since, ran.report()["started_at"]);
    instance.definition["remote"]["url"] = json!(url);
    let ran = told(&instance, "invalid_config");
    assert_eq!(ran.code, Some(3));
    assert_eq!(ran.events("plugin.started").len(), 1);
    assert_eq!(ran.report()["cursor_held_since"], since, "{ran:?}");
    assert_eq!(ran.report()["plugin"], Value::Null);
    instance.write_plugin(EMPTY);
    let ran = instance.run();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let report = ran.report();
    assert_eq!(
        report["plugin"],
        json!({"name": "scripted", "version": "1"})
    );
    assert_eq!(report["protocol_version"], "dpe-connector/1");
    assert_eq!(report["cursor_held_since"], Value::Null);
}

#[test]
fn an_overlap_of_prefixes_is_told_before_the_remote_is_asked() {
    let mut instance = Instance::new(EMPTY);
    assert_eq!(instance.run().code, Some(0));
    // Nobody listens there any more; the overlap does not need it.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    instance.definition["remote"]["url"] = json!(url);
    instance.definition["id"] = json!("first");
    let ran = instance.run();
    ran.assert_failed(2, "round", "remote", "remote_unavailable");
    let before = instance.state_files();
    instance.definition["id"] = json!("second");
    for prefix in ["t://p/", "t://p/sub", "t://"] {
        instance.definition["uri_prefix"] = json!(prefix);
        let ran = instance.run();
        ran.assert_failed(3, "instance", "runner", "definition_invalid");
        assert_eq!(ran.report()["cursor_held_since"], Value::Null);
    }
    let mut after = instance.state_files();
    after.retain(|name| name != "instances/second/lock");
    assert_eq!(after, before);
    instance.definition["uri_prefix"] = json!("t://q/");
    instance
        .run()
        .assert_failed(2, "round", "remote", "remote_unavailable");
}

#[test]
fn an_overlapping_instance_is_named_so_that_it_is_found_from_anywhere() {
    let mut instance = Instance::new(EMPTY);
    let absolute = instance.path("definition.json");
    let command = instance.command(&[]);
    let mut arguments: Vec<_> = command.get_args().map(ToOwned::to_owned).collect();
    *arguments.last_mut().unwrap() = "definition.json".into();
    let mut relative = Command::new(command.get_program());
    relative
        .args(arguments)
        .current_dir(absolute.parent().unwrap());
    assert_eq!(relative.output().unwrap().status.code(), Some(0));
    instance.definition["id"] = json!("second");
    let ran = instance.run();
    ran.assert_failed(3, "instance", "runner", "definition_invalid");
    let named = absolute.display().to_string();
    assert!(ran.message().contains(&named), "{ran:?}");
}

/// Runs against a server that gives every request this one answer.
fn run_against(answer: &'static str) -> Ran {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut buffer = [0; 4096];
            let _ = stream.read(&mut buffer);
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    let mut instance = Instance::new(EMPTY);
    instance.definition["remote"]["url"] = json!(url);
    instance.run()
}

#[test]
fn a_remote_that_wants_a_credential_is_a_failure_of_the_instance() {
    let ran =
        run_against("HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    ran.assert_failed(3, "instance", "remote", "remote_unauthorized");
}

#[test]
fn what_is_not_dpe_is_told_with_its_status_and_is_retryable_only_from_500_on() {
    let page = "HTTP/1.1 404 Not Found\r\ncontent-type: text/html\r\ncontent-length: 12\r\nconnection: close\r\n\r\n<p>hunter2</";
    let ran = run_against(page);
    ran.assert_failed(2, "round", "remote", "remote_protocol_error");
    assert_eq!(ran.report()["failures"][0]["retryable"], false);
    assert!(
        ran.message().contains("404") && !format!("{ran:?}").contains("hunter2"),
        "{ran:?}"
    );
}

#[test]
fn a_credential_that_no_header_can_hold_makes_the_remote_unavailable() {
    let mut instance = Instance::new(EMPTY);
    instance.definition["remote"]["credential"] = json!({"env": "REMOTE"});
    instance.variables = vec![("REMOTE".into(), "Bearer hunter2\u{1}".into())];
    let ran = instance.run();
    ran.assert_failed(2, "round", "remote", "remote_unavailable");
    assert_eq!(ran.report()["failures"][0]["retryable"], true);
    assert!(!format!("{ran:?}").contains("hunter2"), "{ran:?}");
}

#[test]
fn a_plugin_of_another_version_is_refused_before_it_is_asked_for_anything() {
    let instance = Instance::new(
        "initialize(version=\"2\")\nopen(sys.argv[1] + \"/next\", \"w\").write(sys.stdin.readline())",
    );
    let ran = instance.run();
    ran.assert_failed(3, "instance", "runner", "plugin_mismatch");
    let next = std::fs::read_to_string(instance.path("next")).unwrap_or_default();
    assert!(!next.contains("scan"), "{next}");
}
