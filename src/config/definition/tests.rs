//! Every rule of §6, §7.1 and §34, one case each, over the example of the contract.

use std::path::Path;
use std::time::Duration;

use miette::Diagnostic;

use super::{ConflictAction, Definition, DefinitionError, Known, Tuning};
use crate::config::CredentialSource;

/// The example of §6.
const WIKI: &str = r#"{"definition_version":1,"id":"wiki-eng",
 "remote":{"url":"https://dpe.example.net/r/eng","credential":{"env":"ENG_DPE_AUTH"}},
 "uri_prefix":"wiki://eng/",
 "plugin":{"manifest":"wiki/dpe-connector.json","command":["./wiki/run","--quiet"],
           "env":{"WIKI_LOCALE":"en"}},
 "config":{"space":"ENG"},
 "secrets":{"WIKI_TOKEN":{"file":"secrets/wiki"}},
 "conflict_policy":{"delete":"source_wins"},
 "runner":{"scan_timeout":120}}"#;

fn parse(text: &str) -> Result<Definition, DefinitionError> {
    Definition::parse(text.as_bytes(), Path::new("/etc/dpe"))
}

/// Returns the example with a part replaced.
fn with(part: &str, replacement: &str) -> String {
    let text = WIKI.replacen(part, replacement, 1);
    assert_ne!(text, WIKI, "{part}");
    text
}

#[test]
fn the_example_of_the_contract_is_read() {
    let definition = parse(WIKI).unwrap();
    assert_eq!(definition.id, "wiki-eng");
    let url = definition.remote_url.as_str();
    assert_eq!(url, "https://dpe.example.net/r/eng");
    let credential = CredentialSource::Env("ENG_DPE_AUTH".into());
    assert_eq!(definition.credential, Some(credential));
    assert_eq!(definition.uri_prefix, "wiki://eng/");
    let manifest = Path::new("/etc/dpe/wiki/dpe-connector.json");
    assert_eq!(definition.manifest, manifest);
    assert_eq!(definition.command, ["./wiki/run", "--quiet"]);
    let environment = [("WIKI_LOCALE".to_owned(), "en".to_owned())];
    assert_eq!(definition.environment, environment);
    assert_eq!(definition.config.source(), r#"{"space":"ENG"}"#);
    let file = CredentialSource::File("/etc/dpe/secrets/wiki".into());
    assert_eq!(definition.secrets, [("WIKI_TOKEN".to_owned(), file)]);
    let policy = definition.conflict_policy;
    assert_eq!(policy.commit, ConflictAction::SourceWins);
    assert_eq!(policy.delete, ConflictAction::SourceWins);
    let tuning = definition.tuning().unwrap();
    assert_eq!(tuning.scan_timeout, Some(Duration::from_secs(120)));
}

#[test]
fn what_is_optional_may_be_missing_or_empty() {
    for (part, replacement) in [
        (",\"credential\":{\"env\":\"ENG_DPE_AUTH\"}", ""),
        (",\n           \"env\":{\"WIKI_LOCALE\":\"en\"}", ""),
        ("{\"WIKI_LOCALE\":\"en\"}", "{}"),
        ("{\"space\":\"ENG\"}", "{}"),
        ("{\"space\":\"ENG\"}", "{\"space\":null}"),
        ("{\"WIKI_TOKEN\":{\"file\":\"secrets/wiki\"}}", "{}"),
        (
            "\n \"secrets\":{\"WIKI_TOKEN\":{\"file\":\"secrets/wiki\"}},",
            "",
        ),
        ("{\"delete\":\"source_wins\"}", "{}"),
        ("\n \"conflict_policy\":{\"delete\":\"source_wins\"},", ""),
        (",\n \"runner\":{\"scan_timeout\":120}", ""),
        (
            "{\"scan_timeout\":120}",
            "{\"scan_timeout\":null,\"colour\":[1]}",
        ),
        ("\"wiki-eng\"", "\"0.a_B-c\""),
        ("\"wiki://eng/\"", "\"wiki:\""),
    ] {
        let definition = parse(&with(part, replacement));
        let definition = definition.unwrap_or_else(|error| panic!("{error}: {replacement}"));
        definition.tuning().unwrap();
    }
    let id = format!("\"{}\"", "a".repeat(128));
    parse(&with("\"wiki-eng\"", &id)).unwrap();
    let usual = parse(&with(",\n \"runner\":{\"scan_timeout\":120}", "")).unwrap();
    assert_eq!(usual.tuning(), Ok(Tuning::default()));
}

#[test]
fn every_broken_rule_is_refused_and_told_with_its_place() {
    for (part, replacement, place) in [
        (
            "\"definition_version\":1",
            "\"definition_version\":1.0",
            "/definition_version",
        ),
        (
            "\"definition_version\":1",
            "\"definition_version\":2",
            "/definition_version",
        ),
        (
            "\"definition_version\":1",
            "\"definition_version\":\"1\"",
            "/definition_version",
        ),
        (
            "\"definition_version\":1",
            "\"definition_version\":null",
            "/definition_version",
        ),
        ("\"definition_version\":1,", "", "the whole"),
        ("\"wiki-eng\"", "\"\"", "/id"),
        ("\"wiki-eng\"", "\"-a\"", "/id"),
        ("\"wiki-eng\"", "\"a/b\"", "/id"),
        ("\"wiki-eng\"", "\"a\\n\"", "/id"),
        ("\"wiki-eng\"", "\"\u{e4}\"", "/id"),
        ("\"wiki-eng\"", "1", "/id"),
        ("\"id\":\"wiki-eng\",", "", "the whole"),
        ("https://dpe", "ftp://dpe", "/remote/url"),
        ("https://dpe", "https://u:p@dpe", "/remote/url"),
        ("r/eng\"", "r/eng/\"", "/remote/url"),
        ("r/eng\",", "r/eng\",\"store\":\"x\",", "/remote"),
        ("\"url\":\"https://dpe.example.net/r/eng\",", "", "/remote"),
        ("{\"env\":\"ENG_DPE_AUTH\"}", "null", "/remote/credential"),
        (
            "{\"env\":\"ENG_DPE_AUTH\"}",
            "\"Bearer x\"",
            "/remote/credential",
        ),
        ("{\"env\":\"ENG_DPE_AUTH\"}", "{}", "/remote/credential"),
        (
            "{\"env\":\"ENG_DPE_AUTH\"}",
            "{\"env\":\"A\",\"file\":\"b\"}",
            "/remote/credential",
        ),
        (
            "{\"env\":\"ENG_DPE_AUTH\"}",
            "{\"env\":null}",
            "/remote/credential/env",
        ),
        (
            "{\"env\":\"ENG_DPE_AUTH\"}",
            "{\"env\":1}",
            "/remote/credential/env",
        ),
        (
            "{\"env\":\"ENG_DPE_AUTH\"}",
            "{\"command\":[\"x\"]}",
            "/remote/credential",
        ),
        ("\"wiki://eng/\"", "\"WIKI://eng/\"", "/uri_prefix"),
        ("\"wiki://eng/\"", "\"wiki://eng/%7e\"", "/uri_prefix"),
        ("\"wiki://eng/\"", "\"eng/\"", "/uri_prefix"),
        ("\"wiki://eng/\"", "null", "/uri_prefix"),
        ("\"wiki/dpe-connector.json\"", "\"\"", "/plugin/manifest"),
        ("\"manifest\":\"wiki/dpe-connector.json\",", "", "/plugin"),
        ("[\"./wiki/run\",\"--quiet\"]", "[]", "/plugin/command"),
        (
            "[\"./wiki/run\",\"--quiet\"]",
            "\"./wiki/run\"",
            "/plugin/command",
        ),
        ("[\"./wiki/run\",\"--quiet\"]", "[\"\"]", "/plugin/command"),
        ("\"--quiet\"", "1", "/plugin/command/1"),
        ("\"--quiet\"", "\"a\\u0000b\"", "/plugin/command/1"),
        ("\"WIKI_LOCALE\"", "\"\"", "/plugin/env"),
        ("\"WIKI_LOCALE\"", "\"A=B\"", "/plugin/env"),
        ("\"WIKI_LOCALE\"", "\"A\\u0000\"", "/plugin/env"),
        ("\"WIKI_LOCALE\"", "\"DPE_X\"", "/plugin/env/DPE_X"),
        ("\"WIKI_LOCALE\"", "\"PATH\"", "/plugin/env/PATH"),
        ("\"WIKI_LOCALE\"", "\"LC_ANY\"", "/plugin/env/LC_ANY"),
        ("\"WIKI_LOCALE\"", "\"COMSPEC\"", "/plugin/env/COMSPEC"),
        ("\"en\"", "\"\\u0000\"", "/plugin/env/WIKI_LOCALE"),
        ("\"en\"", "null", "/plugin/env/WIKI_LOCALE"),
        ("{\"WIKI_LOCALE\":\"en\"}", "null", "/plugin/env"),
        ("{\"space\":\"ENG\"}", "null", "/config"),
        ("{\"space\":\"ENG\"}", "[]", "/config"),
        ("\n \"config\":{\"space\":\"ENG\"},", "", "the whole"),
        (
            "{\"file\":\"secrets/wiki\"}",
            "\"x\"",
            "/secrets/WIKI_TOKEN",
        ),
        ("{\"file\":\"secrets/wiki\"}", "null", "/secrets/WIKI_TOKEN"),
        (
            "{\"WIKI_TOKEN\":{\"file\":\"secrets/wiki\"}}",
            "null",
            "/secrets",
        ),
        (
            "\"delete\":\"source_wins\"",
            "\"delete\":\"force\"",
            "/conflict_policy/delete",
        ),
        (
            "\"delete\":\"source_wins\"",
            "\"delete\":null",
            "/conflict_policy/delete",
        ),
        (
            "\"delete\":\"source_wins\"",
            "\"move\":\"report\"",
            "/conflict_policy",
        ),
        ("{\"delete\":\"source_wins\"}", "null", "/conflict_policy"),
        ("{\"scan_timeout\":120}", "null", "/runner"),
        ("{\"scan_timeout\":120}", "[]", "/runner"),
        (
            "\"definition_version\"",
            "\"more\":1,\"definition_version\"",
            "the whole",
        ),
    ] {
        let refused = parse(&with(part, replacement)).unwrap_err();
        let DefinitionError::Member { place: found, .. } = &refused else {
            panic!("{refused:?}: {replacement}");
        };
        assert_eq!(found, place, "{refused}: {replacement}");
    }
    let long = format!("\"{}\"", "a".repeat(129));
    assert!(parse(&with("\"wiki-eng\"", &long)).is_err());
    assert!(parse("[]").is_err());
}

/// A name that is not defined may be a secret that somebody took for a key.
#[test]
fn names_that_are_not_defined_are_told_by_nobody() {
    for (part, replacement) in [
        ("\"runner\"", "\"hunter2\":1,\"runner\""),
        ("\"credential\"", "\"hunter2\":1,\"credential\""),
        ("\"manifest\"", "\"hunter2\":1,\"manifest\""),
        ("\"delete\"", "\"hunter2\":1,\"delete\""),
        ("{\"env\":\"ENG", "{\"hunter2\":1,\"env\":\"ENG"),
        ("{\"file\"", "{\"hunter2\":1,\"file\""),
        ("\"WIKI_LOCALE\"", "\"A=hunter2\""),
        ("\"space\":\"ENG\"", "\"hunter2\":1e400"),
        ("\"runner\"", "\"hunter2\":1e400,\"runner\""),
        ("\"runner\"", "\"config/hunter2\":1e400,\"runner\""),
    ] {
        let refused = parse(&with(part, replacement)).unwrap_err();
        let said = format!("{refused} {refused:?}");
        assert!(!said.contains("hunter2"), "{said}");
    }
}

/// RFC 6901.
#[test]
fn places_are_pointers_whatever_the_names() {
    let refused = parse(&with(
        "\"WIKI_TOKEN\":{",
        "\"a/b~\":{\"env\":1},\"WIKI_TOKEN\":{",
    ));
    let said = refused.unwrap_err().to_string();
    assert!(said.starts_with("/secrets/a~1b~0/env "), "{said}");
}

#[test]
fn the_whole_text_is_strict_json_within_limits() {
    let deep = |depth: usize| {
        let config = "{\"a\":".repeat(depth) + "1" + &"}".repeat(depth);
        parse(&with("{\"space\":\"ENG\"}", &config))
    };
    assert!(deep(63).is_ok());
    assert!(matches!(
        deep(64),
        Err(DefinitionError::Depth { depth: 65 })
    ));
    for number in ["9007199254740992", "-9007199254740992", "1e400"] {
        let refused = parse(&with("\"ENG\"", number)).unwrap_err();
        assert!(
            matches!(&refused, DefinitionError::Number { place, .. } if place == "/config"),
            "{refused:?}"
        );
    }
    assert!(parse(&with("\"ENG\"", "9007199254740991")).is_ok());
    for text in [
        "{",
        "\u{feff}{}",
        "{\"id\":\"a\",\"id\":\"a\"}",
        "{\"a\":\"\\ud800\"}",
    ] {
        assert!(
            matches!(parse(text), Err(DefinitionError::Syntax(_))),
            "{text}"
        );
    }
}

#[test]
fn tuning_takes_what_the_contract_says_and_refuses_the_rest() {
    let tuning = |text: &str| {
        let definition = parse(&with("{\"scan_timeout\":120}", text)).unwrap();
        definition.tuning()
    };
    let all = r#"{"max_items":7,"scan_timeout":0.5,"blob_timeout":1e300,"max_message_bytes":1,
        "conflict_retries":0,"state_retries":3,"max_delete":"10%"}"#;
    let expected = Tuning {
        max_items: Some(7),
        scan_timeout: Some(Duration::from_millis(500)),
        blob_timeout: Some(Duration::from_secs(u64::from(u32::MAX))),
        max_message_bytes: Some(1),
        conflict_retries: Some(0),
        state_retries: Some(3),
        max_delete: Some("10%".into()),
    };
    assert_eq!(tuning(all), Ok(expected));
    assert_eq!(
        tuning(r#"{"max_delete":5}"#).unwrap().max_delete.as_deref(),
        Some("5")
    );
    for (key, values) in [
        (
            "max_items",
            &["0", "-1", "1.0", "1.5", "true", "\"1\"", "[]"][..],
        ),
        ("scan_timeout", &["0", "0.0", "-1", "true", "\"1\"", "{}"]),
        ("blob_timeout", &["0", "-0.5"]),
        ("max_message_bytes", &["0", "1e3"]),
        ("conflict_retries", &["-1", "3", "1.0", "false"]),
        ("state_retries", &["0", "0.5"]),
        (
            "max_delete",
            &["\"\"", "\"%\"", "-1", "1.5", "\"ten\"", "\"-1\""],
        ),
    ] {
        for value in values {
            let refused = tuning(&format!("{{\"{key}\":{value}}}")).unwrap_err();
            assert!(
                refused.to_string().starts_with(&format!("/runner/{key} ")),
                "{refused}"
            );
        }
    }
}

#[test]
fn what_is_known_of_an_instance_is_known_member_by_member() {
    let known = |text: &str| {
        let Known {
            id,
            uri_prefix,
            remote_url,
        } = Known::of(text.as_bytes());
        [id.is_some(), uri_prefix.is_some(), remote_url.is_some()]
    };
    assert_eq!(known(WIKI), [true, true, true]);
    assert_eq!(
        known(&with("{\"scan_timeout\":120}", "7,\"more\":null")),
        [true, true, true]
    );
    assert_eq!(known(&with("\"wiki-eng\"", "\"-\"")), [false, true, true]);
    assert_eq!(
        known(&with("\"wiki://eng/\"", "\"WIKI:\"")),
        [true, false, true]
    );
    assert_eq!(known(&with("https://", "https://u@")), [true, true, false]);
    assert_eq!(
        known(&with(
            "\"definition_version\":1",
            "\"definition_version\":2"
        )),
        [false; 3]
    );
    assert_eq!(known(&with("120", "9007199254740992")), [false; 3]);
    assert_eq!(known(&WIKI[1..]), [false; 3]);
    assert_eq!(known("[]"), [false; 3]);
}

#[test]
fn a_deletion_needs_no_more_than_version_and_id() {
    let id = |text: &str| Definition::parse_id(text.as_bytes());
    let text = r#"{"definition_version":1,"id":"a","remote":null,"more":{}}"#;
    assert_eq!(id(text), Ok("a".to_owned()));
    for text in [
        r#"{"definition_version":2,"id":"a"}"#,
        r#"{"definition_version":1,"id":"-"}"#,
        r#"{"definition_version":1}"#,
        r#"{"id":"a"}"#,
        r#"{"definition_version":1,"id":"a","n":1e999}"#,
        "[]",
        "",
    ] {
        assert!(id(text).is_err(), "{text}");
    }
}

#[test]
fn no_value_of_a_definition_is_repeated() {
    for (part, replacement) in [
        ("\"wiki-eng\"", "\"hunter2/\""),
        ("https://dpe", "https://hunter2@dpe"),
        ("{\"env\":\"ENG_DPE_AUTH\"}", "\"Bearer hunter2\""),
        ("{\"file\":\"secrets/wiki\"}", "\"hunter2\""),
        ("\"source_wins\"", "\"hunter2\""),
        ("\"en\"", "\"hunter2\\u0000\""),
        ("{\"space\":\"ENG\"}", "\"hunter2\""),
        ("1,", "\"hunter2\","),
    ] {
        let refused = parse(&with(part, replacement)).unwrap_err();
        let said = format!("{refused} {refused:?} {}", refused.help().unwrap());
        assert!(!said.contains("hunter2"), "{said}");
    }
}
