//! Credentials: where they come from, whom they reach, and that nobody sees them (§7).

use std::fs;

use serde_json::{Value, json};

use super::instance::{EMPTY, Instance};

const SECRET: &str = "s3cr3t/t0ken+v\u{e4}lue";

/// Writes the names and values of all its variables down.
const PROBE: &str = r#"
initialize()
open(sys.argv[1] + "/environment", "w").write(json.dumps(dict(os.environ)))
result(read(), FINAL)
shutdown()
"#;

fn with_secret(body: &str) -> Instance {
    let mut instance = Instance::new(body);
    instance.write_manifest(
        &json!({"secrets": [{"name": "TOKEN"}, {"name": "EXTRA", "required": false}]}),
    );
    instance.definition["secrets"] = json!({"TOKEN": {"env": "SOURCE"}});
    instance.variables = vec![("SOURCE".into(), SECRET.into())];
    instance
}

fn environment(instance: &Instance) -> serde_json::Map<String, Value> {
    let text = fs::read_to_string(instance.path("environment")).unwrap();
    let mut variables: serde_json::Map<_, _> = serde_json::from_str(&text).unwrap();
    // The interpreter coerces the locale and says so to its children.
    variables.remove("LC_CTYPE");
    variables
}

#[test]
fn a_plugin_sees_base_secrets_and_its_own_variables_and_nothing_else() {
    let mut instance = with_secret(PROBE);
    instance.definition["plugin"]["env"] = json!({"LOCALE": "en"});
    instance.definition["remote"]["credential"] = json!({"env": "REMOTE"});
    instance.variables.extend([
        ("REMOTE".into(), "Bearer remote-token".into()),
        ("DPE_AUTHORIZATION".into(), "Bearer other".into()),
        ("TZ".into(), "UTC".into()),
        ("LC_ALL".into(), "C".into()),
        ("TEMP".into(), "/tmp".into()),
        ("XDG_STATE_HOME".into(), "/x".into()),
    ]);
    assert_eq!(instance.run().code, Some(0));
    let found = environment(&instance);
    let names: Vec<&str> = found.keys().map(String::as_str).collect();
    assert_eq!(names, ["HOME", "LC_ALL", "LOCALE", "PATH", "TOKEN", "TZ"]);
    assert_eq!(found["TOKEN"], SECRET);
    assert_eq!(found["LOCALE"], "en");
}

#[test]
fn a_secret_in_a_file_loses_one_line_end_and_is_read_anew_for_every_run() {
    let mut instance = with_secret(PROBE);
    instance.definition["secrets"] =
        json!({"TOKEN": {"file": "token"}, "EXTRA": {"file": "missing"}});
    for (bytes, expected) in [("first\r\n", "first"), ("second\n\n", "second\n")] {
        instance.write("token", bytes);
        assert_eq!(instance.run().code, Some(0));
        let found = environment(&instance);
        assert_eq!(found["TOKEN"], expected);
        assert!(
            !found.contains_key("EXTRA"),
            "an optional secret is left out"
        );
    }
}

#[test]
fn a_required_secret_that_cannot_be_had_is_told_by_its_name() {
    let mut instance = with_secret(EMPTY);
    for (reference, bytes) in [
        (json!({}), None),
        (json!({"TOKEN": {"env": "UNSET"}}), None),
        (json!({"TOKEN": {"env": "EMPTY"}}), None),
        (json!({"TOKEN": {"file": "missing"}}), None),
        (json!({"TOKEN": {"file": "."}}), None),
        (json!({"TOKEN": {"file": "token"}}), Some(&b"\n"[..])),
        (json!({"TOKEN": {"file": "token"}}), Some(b"a\0b")),
        (json!({"TOKEN": {"file": "token"}}), Some(b"hunter2\xff")),
    ] {
        instance.variables.push(("EMPTY".into(), String::new()));
        if let Some(bytes) = bytes {
            instance.write("token", bytes);
        }
        instance.definition["secrets"] = reference;
        let ran = instance.run();
        ran.assert_failed(3, "instance", "runner", "secret_missing");
        assert!(ran.message().contains("TOKEN"), "{ran:?}");
        assert!(!format!("{ran:?}").contains("hunter2"), "{ran:?}");
    }
}

#[test]
fn no_secret_of_a_plugin_may_be_where_the_credential_of_the_remote_is() {
    let mut instance = with_secret(EMPTY);
    instance.write("token", "Bearer x");
    fs::create_dir(instance.path("sub")).unwrap();
    let link = |target: &str, name: &str| {
        std::os::unix::fs::symlink(target, instance.path(name)).unwrap();
    };
    link("token", "link");
    link("loop", "loop");
    link("nothing", "dangling");
    let absolute = instance.path("sub/../token");
    for (credential, secret, place) in [
        (json!({"env": "A"}), json!({"env": "A"}), "/secrets/TOKEN"),
        (
            json!({"file": "token"}),
            json!({"file": "sub/../token"}),
            "/secrets/TOKEN",
        ),
        (
            json!({"file": "token"}),
            json!({"file": "link"}),
            "/secrets/TOKEN",
        ),
        (
            json!({"file": absolute}),
            json!({"file": "link"}),
            "/secrets/TOKEN",
        ),
        (
            json!({"file": "nothing"}),
            json!({"file": "dangling"}),
            "/secrets/TOKEN",
        ),
        (
            json!({"file": "loop"}),
            json!({"env": "A"}),
            "/remote/credential",
        ),
        (
            json!({"env": "A"}),
            json!({"file": "loop"}),
            "/secrets/TOKEN",
        ),
    ] {
        instance.definition["remote"]["credential"] = credential.clone();
        instance.definition["secrets"] = json!({ "TOKEN": secret });
        let ran = instance.run();
        ran.assert_failed(3, "instance", "runner", "definition_invalid");
        assert!(
            ran.message().starts_with(place),
            "{credential} {secret}: {ran:?}"
        );
    }
    // The same text in another place is another source.
    instance.write("other", "Bearer x");
    instance.definition["remote"]["credential"] = json!({"file": "token"});
    instance.definition["secrets"] = json!({"TOKEN": {"file": "other"}});
    assert_eq!(instance.run().code, Some(0));
}

#[test]
fn a_secret_is_hidden_wherever_a_plugin_repeats_it() {
    let instance = with_secret(
        r#"
import base64, urllib.parse
initialize()
token = os.environ["TOKEN"]
forms = [token, urllib.parse.quote(token, safe=""), base64.b64encode(token.encode()).decode()]
request = read()
for form in forms:
    sys.stderr.write("before " + form + " after\n")
sys.stderr.write("x" * 8186 + token + "y" * 9000 + "\n")
sys.stderr.flush()
items = [{"kind": "error", "code": "internal", "message": "m " + form, "retryable": False,
          "file_uri": "t://p/" + form} for form in forms]
result(request, {"items": items, "cursor": None, "incremental": False})
shutdown()
"#,
    );
    let ran = instance.run();
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let lines = ran.events("plugin.stderr");
    for line in &lines[..3] {
        assert_eq!(line["line"], "before [REDACTED] after");
        assert_eq!(line["truncated"], false);
    }
    assert_eq!(lines[3]["line"], json!("x".repeat(8186) + "[REDACTED]"));
    assert_eq!(lines[3]["truncated"], true);
    let report = ran.report();
    for failure in report["failures"].as_array().unwrap() {
        assert_eq!(failure["message"], "m [REDACTED]");
        assert_eq!(failure["file_uri"], "t://p/[REDACTED]");
    }
    let said = format!("{}{}", ran.stdout, ran.stderr);
    for part in ["s3cr3t", "t0ken", "dDBrZW4"] {
        assert!(!said.contains(part), "{part}: {said}");
    }
}

#[test]
fn a_secret_in_the_refusal_of_a_plugin_is_hidden() {
    let instance = with_secret(
        r#"
request = read()
send({"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32005,
    "message": "bad " + os.environ["TOKEN"], "data": {"token": os.environ["TOKEN"]}}})
sys.stdin.readline()
"#,
    );
    let ran = instance.run();
    ran.assert_failed(3, "instance", "plugin", "invalid_config");
    assert_eq!(ran.message(), "bad [REDACTED]");
    assert!(!format!("{ran:?}").contains("s3cr3t"), "{ran:?}");
}

#[test]
fn the_credential_of_the_remote_is_sent_as_it_is_and_hidden_from_the_plugin() {
    let mut instance = Instance::with_remote(
        r#"
initialize()
request = read()
sys.stderr.write("is it remote-token?\n")
sys.stderr.flush()
result(request, {"items": [{"kind": "document", "file_uri": "t://p/a",
    "document": {"file_type": "md"}, "pages": []}], "cursor": None, "incremental": False})
shutdown()
"#,
        &["--grant", "Bearer remote-token", "t://p/", "--require-auth"],
    );
    let ran = instance.run();
    ran.assert_failed(3, "instance", "remote", "remote_unauthorized");
    instance.definition["remote"]["credential"] = json!({"file": "remote-auth"});
    instance.write("remote-auth", "Bearer remote-token\n");
    let ran = instance.run();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.events("plugin.stderr")[0]["line"], "is it [REDACTED]?");
}

/// §7.1: only the credential is named; where the definition says where it is, and what is wrong there, helps too.
#[test]
fn a_missing_credential_is_told_by_its_name_and_why() {
    let mut instance = with_secret(EMPTY);
    instance.write("empty", "");
    instance.write("no-text", [0xff]);
    let rows = [
        (
            json!({"TOKEN": {"env": "NOWHERE"}}),
            "/secrets/TOKEN",
            "is not set",
        ),
        (
            json!({"TOKEN": {"env": "EMPTY"}}),
            "/secrets/TOKEN",
            "is empty",
        ),
        (
            json!({"TOKEN": {"file": "nowhere"}}),
            "/secrets/TOKEN",
            "No such file",
        ),
        (
            json!({"TOKEN": {"file": "empty"}}),
            "/secrets/TOKEN",
            "is empty",
        ),
        (
            json!({"TOKEN": {"file": "no-text"}}),
            "/secrets/TOKEN",
            "not UTF-8",
        ),
        (
            json!({"TOKEN": {"file": "."}}),
            "/secrets/TOKEN",
            "no regular file",
        ),
        (json!({}), "/secrets", "is not there"),
    ];
    instance.variables = vec![("EMPTY".into(), String::new())];
    for (secrets, place, why) in rows {
        instance.definition["secrets"] = secrets;
        let ran = instance.run();
        ran.assert_failed(3, "instance", "runner", "secret_missing");
        let message = ran.message();
        let parts = [
            "the secret TOKEN",
            &format!("{place} of the definition"),
            why,
        ];
        assert!(parts.iter().all(|part| message.contains(part)), "{message}");
        assert!(
            !message.contains("nowhere") && !message.contains("NOWHERE"),
            "{message}"
        );
    }
    instance.definition["remote"]["credential"] = json!({"env": "NOWHERE"});
    let message = instance.run().message();
    assert!(
        message
            .contains("/remote/credential of the definition: its environment variable is not set"),
        "{message}"
    );
}
