//! `dpe connector list` and `dpe connector manifest`.

use std::fs;

use serde_json::Value;

use super::{connector, objects};

const MANIFEST: &str = r#"{"manifest_version":1,"name":"wiki","version":"2","description":"A wiki",
    "protocol_versions":["dpe-connector/1"],"config_schema":{"type":"object"}}"#;

#[test]
fn bundled_connectors_and_manifests_in_the_directories_are_listed_with_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let at = |path: &str| folder.path().join(path);
    for (path, text) in [
        ("path/wiki/dpe-connector.json", MANIFEST),
        ("path/broken/dpe-connector.json", "{}"),
        ("single/dpe-connector.json", MANIFEST),
        (
            "home/.local/share/dpe/connectors/own/dpe-connector.json",
            MANIFEST,
        ),
        ("path/nothing/other.json", MANIFEST),
    ] {
        fs::create_dir_all(at(path).parent().unwrap()).unwrap();
        fs::write(at(path), text).unwrap();
    }
    let directories = [at("path"), at("single")].map(|path| path.display().to_string());
    let listing = |flags: &[&str]| {
        let arguments = [&["list"], flags].concat();
        let mut command = connector(&arguments);
        command.env("DPE_CONNECTOR_PATH", directories.join(":"));
        command.env("HOME", at("home"));
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        output
    };
    let listed = objects(&listing(&["--json"]));
    assert_eq!(listed[0]["name"], "fs");
    assert_eq!(listed[0]["bundled"], true);
    let theirs: Vec<&Value> = listed
        .iter()
        .filter(|object| object["bundled"] == false)
        .collect();
    let paths: Vec<_> = theirs
        .iter()
        .map(|object| object["manifest"].as_str().unwrap())
        .collect();
    let expected = [
        "path/broken/dpe-connector.json",
        "path/wiki/dpe-connector.json",
        "single/dpe-connector.json",
        "home/.local/share/dpe/connectors/own/dpe-connector.json",
    ];
    assert_eq!(paths, expected.map(|path| at(path).display().to_string()));
    assert!(
        theirs[0]["error"]
            .as_str()
            .unwrap()
            .contains("manifest_version")
    );
    assert_eq!(theirs[1]["version"], "2");
    assert_eq!(theirs[1]["description"], "A wiki");
    let text = String::from_utf8(listing(&[]).stdout).unwrap();
    assert_eq!(text.lines().count(), listed.len());
    assert!(
        text.contains("A wiki") && text.contains("invalid"),
        "{text}"
    );
}

#[test]
fn the_manifest_of_a_bundled_connector_is_printed_as_it_is() {
    let output = connector(&["manifest", "fs"]).output().unwrap();
    assert_eq!(output.stdout, dpe_connector_fs::MANIFEST.as_bytes());
    let output = connector(&["manifest", "unheard_of"]).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    // Nothing is checked here.
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("connector list"), "{stderr}");
    assert!(!stderr.contains("--"), "{stderr}");
}

#[test]
fn a_directory_that_is_named_and_cannot_be_read_is_told_behind_what_was_found() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("dpe-connector.json"), MANIFEST).unwrap();
    let missing = folder.path().join("missing");
    let listing = || {
        let mut command = connector(&["list"]);
        command.env("HOME", folder.path());
        command
    };
    let mut by_flag = listing();
    by_flag.arg("--path").arg(folder.path());
    by_flag.arg("--path").arg(&missing);
    let mut by_variable = listing();
    let both = [folder.path(), &*missing];
    by_variable.env("DPE_CONNECTOR_PATH", std::env::join_paths(both).unwrap());
    for command in [&mut by_flag, &mut by_variable] {
        let output = command.output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(3), "{stderr}");
        assert!(stderr.contains("dpe::connector::read"), "{stderr}");
        // Lines may be broken, names are not.
        assert!(stderr.contains("missing"), "{stderr}");
        let stdout = String::from_utf8(output.stdout).unwrap();
        assert!(stdout.contains("A wiki"), "{stdout}");
    }
    let mut several = listing();
    several.args(["--path", "/nowhere", "--path", "/neither"]);
    let output = several.output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{stderr}");
    for expected in ["/nowhere", "/neither", "dpe::connector::read"] {
        assert!(stderr.contains(expected), "{stderr}");
    }
    // The user's own directory need not be there.
    assert_eq!(listing().output().unwrap().status.code(), Some(0));
}
