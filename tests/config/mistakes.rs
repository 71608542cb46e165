//! What is wrong with a file is drawn, all of it, with the way out and without secrets.

use std::fs;

use crate::push::place::{Place, Run};

fn push(toml: &str) -> Run {
    let place = Place::new();
    place.write("a.md", "# A");
    fs::write(place.path().join("dpe.toml"), toml).unwrap();
    let ran = place.dpe(&["push", "docs"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(!place.store().exists(), "{ran:?}");
    ran
}

#[test]
fn each_mistake_is_shown_at_its_line_with_what_to_do() {
    for (toml, at, said) in [
        (
            "[remote.a]\nstroe = \"x\"\n",
            ":2:1]",
            "do you mean `store`?",
        ),
        ("[sources.a]\n", ":1:2]", "do you mean `source`?"),
        (
            "[defaults]\ntimeout = \"soon\"\n",
            ":2:11]",
            "a number of seconds",
        ),
        ("[defaults]\nmax_delete = \"110%\"\n", ":2:14]", "a share"),
        (
            "[remote.a]\nurl = \"https://h/\"\nstore = \"x\"\n",
            ":3:1]",
            "not both",
        ),
        ("[remote.a]\n", ":1:9]", "neither `url` nor `store`"),
        ("[remote.a]\nurl = \"ftp://h/\"\n", ":2:7]", "https://"),
        (
            "[remote.origin]\nstore = \"s\"\n[source.a]\nremote = \"orign\"\nconfig.root = \"docs\"\n",
            ":4:10]",
            "do you mean `origin`?",
        ),
        (
            "[source.a]\nconfig.root = \"docs\"\n[source.b]\nprefix = \"dpe://a/b/\"\nconfig.root = \"docs\"\n",
            ":3:9]",
            "below one prefix",
        ),
        (
            "[source.a]\nconfig = { rot = \"docs\" }\n",
            ":2:12]",
            "do you mean `root`?",
        ),
        (
            "[source.a]\nconfig = { root = \"docs\", hidden = \"yes\" }\n",
            ":2:27]",
            "`config.hidden` of `a`",
        ),
        ("[source.a]\nconfig = { }\n", ":2:10]", "root"),
        ("[source.a]\nconnector = \"wiki\"\n", ":2:13]", "command"),
        (
            "[source.a]\nconflict = { commit = \"mine\" }\nconfig.root = \"d\"\n",
            ":2:23]",
            "\"report\"",
        ),
        (
            "\u{feff}[remote.a]\r\nstroe = \"x\"\r\n",
            ":2:1]",
            "do you mean `store`?",
        ),
        ("[remote.a\n", ":1:10]", "no TOML"),
        (
            "[remote.a]\nstore = \"x\"\nstore = \"y\"\n",
            ":3:1]",
            "duplicate key",
        ),
    ] {
        let ran = push(toml);
        assert!(ran.stderr.contains(at), "{toml}: {}", ran.stderr);
        assert!(ran.stderr.contains(said), "{toml}: {}", ran.stderr);
    }
}

#[test]
fn several_mistakes_of_one_file_are_all_told() {
    let ran = push(
        "[remote.a]\nstroe = \"x\"\n[source.b]\nprefx = \"dpe://b/\"\n[defaults]\ntimeout = -1\n",
    );
    for said in ["`store`", "`prefix`", "a number of seconds"] {
        assert!(ran.stderr.contains(said), "{}", ran.stderr);
    }
}

#[test]
fn a_secret_in_the_file_is_refused_and_shown_to_nobody() {
    for toml in [
        "[remote.a]\nurl = \"https://h/r\"\ncredential = \"Bearer hunter2\"\n",
        "[remote.a]\nurl = \"https://me:hunter2@h/r\"\n",
        "[remote.a]\nurl = \"https://hunter2@h/r\"\n",
        "[remote.a]\nurl = \"https://h/r\"\ncredential = { value = \"hunter2\" }\n",
        "[remote.a]\nurl = \"https://h/r\"\ncredential = { env = 1 }\npassword = \"hunter2\"\n",
        "[source.a]\nconfig = { root = \"docs\", api_key = \"hunter2\" }\n",
        "[source.a]\nconfig = { root = \"docs\" }\nenv = { WIKI_TOKEN = \"hunter2\" }\n",
        "[remote.a]\nurl = \"https://h/r\"\ncredential = \"Bearer hunter2\n",
    ] {
        let ran = push(toml);
        assert!(!ran.stderr.contains("hunter2"), "{}", ran.stderr);
    }
    let ran = push("[remote.a]\nurl = \"https://h/r\"\ncredential = \"Bearer hunter2\"\n");
    assert!(ran.stderr.contains("{ env = \"NAME\" }"), "{}", ran.stderr);
}

#[test]
fn what_needs_no_configuration_works_beside_a_broken_one() {
    let place = Place::new();
    place.write("a.md", "# A");
    fs::write(place.path().join("dpe.toml"), "broken").unwrap();
    for arguments in [
        &["--version"][..],
        &["extract", "docs/a.md"],
        &["help", "push"],
    ] {
        let ran = place.dpe(arguments);
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }
}

#[test]
fn with_json_all_mistakes_are_in_one_object() {
    let place = Place::new();
    fs::write(
        place.path().join("dpe.toml"),
        "[remote.a]\nstroe = 1\n[source.b]\nx = 1\n",
    )
    .unwrap();
    let ran = place.dpe(&["ls", "--json"]);
    let object: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(object["error"]["code"], "dpe::config::mistakes");
    let related = object["error"]["related"].as_array().unwrap();
    assert!(related.len() >= 2, "{ran:?}");
}
