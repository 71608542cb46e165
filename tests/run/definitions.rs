//! What a definition, a manifest and a configuration may be (§4, §6), through the whole program; every
//! single rule is tested beside the code.

use serde_json::{Value, json};

use super::instance::{EMPTY, Instance};

#[test]
fn a_definition_that_cannot_be_read_leaves_all_of_the_instance_unknown() {
    let instance = Instance::new(EMPTY);
    for text in [
        None,
        Some("{"),
        Some("[]"),
        Some(r#"{"definition_version":2,"id":"i"}"#),
    ] {
        let mut command = instance.command(&[]);
        let path = instance.path("definition.json");
        match text {
            Some(text) => std::fs::write(path, text).unwrap(),
            None => std::fs::remove_file(path).unwrap(),
        }
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(3));
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(report["instance"], json!({"id": null, "uri_prefix": null}));
        assert_eq!(report["remote_url"], Value::Null);
        assert_eq!(report["failures"][0]["code"], "definition_invalid");
    }
    assert!(instance.state_files().is_empty());
}

#[test]
fn what_is_valid_of_a_broken_definition_is_reported_and_an_invalid_url_is_not_echoed() {
    let mut instance = Instance::new(EMPTY);
    let url = instance.served.url.clone();
    instance.definition["more"] = json!(1);
    let ran = instance.run();
    ran.assert_failed(3, "instance", "runner", "definition_invalid");
    let report = ran.report();
    assert_eq!(
        report["instance"],
        json!({"id": "i", "uri_prefix": "t://p/"})
    );
    assert_eq!(report["remote_url"], json!(url));
    assert_eq!(ran.events("round.finished")[0]["instance"], "i");
    assert_eq!(ran.events("round.finished")[0]["round"], Value::Null);

    instance.definition["remote"]["url"] = json!("http://user:hunter2@127.0.0.1/");
    instance.definition["id"] = json!("-");
    let ran = instance.run();
    let report = ran.report();
    assert_eq!(
        report["instance"],
        json!({"id": null, "uri_prefix": "t://p/"})
    );
    assert_eq!(report["remote_url"], Value::Null);
    assert!(!format!("{ran:?}").contains("hunter2"), "{ran:?}");
    assert!(instance.state_files().is_empty());
}

#[test]
fn a_bad_manifest_is_manifest_invalid() {
    let instance = Instance::new(EMPTY);
    for members in [
        json!({"more": 1}),
        json!({"name": ""}),
        json!({"config_schema": {"type": "string"}}),
        json!({"config_schema": {"type": "object", "$id": "x"}}),
        json!({"config_schema": {"type": "object", "properties": {"a": {"pattern": "(?=a)"}}}}),
        json!({"config_schema": {"type": "object", "properties": {"a": {"pattern": "(a)\\1"}}}}),
        json!({"config_schema": {"type": "object", "properties": {"a": {"pattern": "\\p{L}"}}}}),
        json!({"config_schema": {"type": "object", "properties": {"a": {"pattern": "(a{99}){99}"}}}}),
        json!({"secrets": [{"name": "DPE_X"}]}),
    ] {
        instance.write_manifest(&members);
        let ran = instance.run();
        ran.assert_failed(3, "instance", "runner", "manifest_invalid");
    }
    std::fs::remove_file(instance.path("manifest.json")).unwrap();
    let ran = instance.run();
    ran.assert_failed(3, "instance", "runner", "manifest_invalid");
    // A new instance that fails this early leaves nothing but its lock.
    assert_eq!(instance.state_files(), ["instances/i/lock"]);
}

#[test]
fn a_configuration_that_breaks_the_schema_is_told_without_its_values() {
    let mut instance = Instance::new(EMPTY);
    instance.write_manifest(&json!({"config_schema": {
        "type": "object",
        "properties": {"space": {"type": "string", "pattern": "^[A-Z]+$"}},
        "additionalProperties": false,
    }}));
    for config in [
        json!({"space": "hunter2"}),
        json!({"space": 7_654_321}),
        json!({"hunter2": 1}),
    ] {
        instance.definition["config"] = config;
        let ran = instance.run();
        ran.assert_failed(3, "instance", "runner", "config_schema_violation");
        let said = format!("{ran:?}");
        assert!(
            !said.contains("hunter2") && !said.contains("7654321"),
            "{said}"
        );
    }
    instance.definition["config"] = json!({"space": "ENG"});
    assert_eq!(instance.run().code, Some(0));
}

#[test]
fn the_configuration_reaches_the_plugin_as_it_is_written_and_on_one_line() {
    let instance = Instance::new(
        r#"
line = sys.stdin.readline()
open(sys.argv[1] + "/initialize", "w").write(line)
result(json.loads(line), {"protocol_version": "dpe-connector/1",
    "plugin": {"name": "scripted", "version": "1"}, "capabilities": {"supports_cursor": True}})
result(read(), FINAL)
shutdown()
"#,
    );
    let mut command = instance.command(&[]);
    let text = instance.definition.to_string();
    let config = "{ \"b\" : 1.0,\n\t\"a\": [ 1e2 , \"x \\\" y\" ] , \"n\":null }";
    let text = text.replacen("\"config\":{}", &format!("\"config\":{config}"), 1);
    std::fs::write(instance.path("definition.json"), text).unwrap();
    assert_eq!(command.output().unwrap().status.code(), Some(0));
    let line = std::fs::read_to_string(instance.path("initialize")).unwrap();
    assert!(
        line.contains(r#""config":{"b":1.0,"a":[1e2,"x \" y"],"n":null}"#),
        "{line}"
    );
    let params: Value = serde_json::from_str(&line).unwrap();
    let params = &params["params"];
    assert_eq!(params["protocol_versions"], json!(["dpe-connector/1"]));
    assert_eq!(params["instance"]["uri_prefix"], "t://p/");
    assert_eq!(params["runner"]["name"], "dpe");
    let limits = &params["remote_limits"];
    assert_eq!(
        limits["max_payload_bytes"],
        8 << 20,
        "as the server is by default"
    );
    assert!(limits["page_max_bytes"].is_u64() && limits["blob_max_bytes"].is_u64());
    assert_eq!(params["max_message_bytes"], 32 << 20);
}

#[test]
fn a_program_is_found_from_the_definition_or_in_the_path_of_the_plugin() {
    let mut instance = Instance::new(EMPTY);
    let script = instance.definition["plugin"]["command"][1].clone();
    let python = instance.definition["plugin"]["command"][0].clone();
    std::fs::create_dir(instance.path("bin")).unwrap();
    let program = instance.path("bin/interpreter");
    std::os::unix::fs::symlink(python.as_str().unwrap(), program).unwrap();
    let path = std::env::var("PATH").unwrap();
    let bin = instance.path("bin").display().to_string();
    instance.variables = vec![("PATH".into(), format!("/nowhere:{bin}:{path}"))];
    for word in ["./bin/interpreter", "bin/interpreter", "interpreter"] {
        instance.definition["plugin"]["command"] = json!([word, script, instance.path("")]);
        let ran = instance.run();
        assert_eq!(ran.code, Some(0), "{word}: {ran:?}");
    }
    // Without a PATH nothing is looked for, not even here.
    let mut command = instance.command(&[]);
    command.env_remove("PATH").current_dir(instance.path("bin"));
    assert_eq!(command.output().unwrap().status.code(), Some(3));
    for (word, why) in [
        ("./missing", "is not there"),
        ("./manifest.json", "chmod +x"),
        ("./bin", "is no file"),
        ("/", "is no file"),
        ("no-such-program", "PATH"),
    ] {
        instance.definition["plugin"]["command"] = json!([word]);
        let ran = instance.run();
        ran.assert_failed(3, "instance", "runner", "definition_invalid");
        assert!(ran.message().contains(why), "{word}: {ran:?}");
    }
}

#[test]
fn a_definition_may_come_through_a_pipe() {
    let instance = Instance::new(EMPTY);
    let mut command = instance.command(&[]);
    let text = instance.definition.to_string();
    instance.make_pipe("definition.json");
    let path = instance.path("definition.json");
    let writer = std::thread::spawn(move || std::fs::write(path, text).unwrap());
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    writer.join().unwrap();
}

#[test]
fn a_definition_without_an_end_is_given_up() {
    let instance = Instance::new(EMPTY);
    let mut command = instance.command(&[]);
    let path = instance.path("definition.json");
    std::fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink("/dev/zero", path).unwrap();
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let message = report["failures"][0]["message"].as_str().unwrap();
    assert!(message.ends_with("more than 64 MiB"), "{message}");
}

/// Nobody would hear a signal while something is waited for at the other end.
#[test]
fn pipes_in_place_of_other_files_are_refused_at_once() {
    let mut instance = Instance::new(EMPTY);
    instance.make_pipe("pipe");
    let pipe = instance.path("pipe").display().to_string();
    let ran = instance.run_with(&["--cacert", &pipe]);
    ran.assert_failed(2, "round", "remote", "remote_unavailable");
    assert!(ran.message().contains("no regular file"), "{ran:?}");
    instance.definition["remote"]["credential"] = json!({"file": "pipe"});
    let ran = instance.run();
    ran.assert_failed(3, "instance", "runner", "secret_missing");
    assert!(ran.message().contains("no regular file"), "{ran:?}");
    instance.make_pipe("manifest.json");
    let ran = instance.run();
    ran.assert_failed(3, "instance", "runner", "manifest_invalid");
    assert!(ran.message().contains("no regular file"), "{ran:?}");
}

#[test]
fn names_of_secrets_that_nobody_declared_are_not_told() {
    let mut instance = Instance::new(EMPTY);
    instance.definition["secrets"] = json!({"hunter2": {"env": "A"}});
    for declared in [
        json!([]),
        json!([{"name": "TOKEN"}, {"name": "OTHER", "required": false}]),
    ] {
        instance.write_manifest(&json!({"secrets": declared}));
        let ran = instance.run();
        ran.assert_failed(3, "instance", "runner", "definition_invalid");
        assert!(!format!("{ran:?}").contains("hunter2"), "{ran:?}");
        let told = ran.message().contains("TOKEN, OTHER");
        assert_eq!(told, declared != json!([]), "{ran:?}");
    }
}

/// Flags that mean nothing here may have variables that mean nothing at all; those that do mean
/// something are read as the command line is (§24, step 1).
#[test]
fn variables_of_flags_that_belong_to_other_commands_are_ignored() {
    let mut instance = Instance::new(EMPTY);
    for (name, value) in [
        ("DPE_VERBOSE", "x"),
        ("DPE_VERBOSE", "-1"),
        ("DPE_REMOTE", ""),
        ("DPE_JSON", "x"),
        ("DPE_MAX_PAYLOAD_BYTES", "x"),
    ] {
        instance.variables = vec![(name.into(), value.into())];
        let ran = instance.run();
        assert_eq!(ran.code, Some(0), "{name}: {ran:?}");
        ran.report();
    }
    let wrong = instance.run_with(&["--no-such-flag"]);
    assert_eq!((wrong.code, &*wrong.stdout), (Some(64), ""), "{wrong:?}");
    instance.variables = vec![("DPE_TIMEOUT".into(), "x".into())];
    let wrong = instance.run();
    assert_eq!((wrong.code, &*wrong.stdout), (Some(64), ""), "{wrong:?}");
}
