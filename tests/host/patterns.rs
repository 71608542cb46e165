//! The portable pattern subset: the vectors, the reference implementation as an oracle, and
//! patterns that would be too large for engines.

use std::panic::catch_unwind;
use std::time::{Duration, Instant};

use dpe::host::{Pattern, PatternReason};
use dpe_sdk::run::pattern as reference;
use proptest::prelude::*;
use serde_json::Value;

const VECTORS: &str = include_str!("../../vectors/pattern.json");

#[test]
fn every_case_of_the_vectors_holds() {
    let file: Value = serde_json::from_str(VECTORS).unwrap();
    let texts = |case: &Value, member: &str| -> Vec<String> {
        serde_json::from_value(case[member].clone()).unwrap()
    };
    for case in file["cases"].as_array().unwrap() {
        let text = case["text"].as_str().unwrap();
        let pattern = match (Pattern::parse(text), case.get("reason")) {
            (Err(error), Some(reason)) => {
                assert_eq!(error.reason.to_string(), reason.as_str().unwrap(), "{text}");
                continue;
            }
            (Ok(pattern), None) => pattern,
            (found, _) => panic!("{text}: {found:?}"),
        };
        for (member, expected) in [("matches", true), ("misses", false)] {
            for searched in texts(case, member) {
                assert_eq!(
                    pattern.is_match(&searched),
                    expected,
                    "{text} in {searched:?}"
                );
            }
        }
    }
}

#[test]
fn the_bounds_are_exact() {
    for text in [
        "a".repeat(1024),
        "é".repeat(1024),
        "(".repeat(64) + &")".repeat(64),
        "a{4096}".into(),
        "a{4096,}".into(),
        "(a{64}){64}".into(),
        "[aaaa]{1024}".into(),
        "[^a-cb]{2048}".into(),
        "a{4095}(|)".into(),
        "(a|b|c|d){1024}".into(),
        "a{2048}|^a{2048}$".into(),
    ] {
        assert!(Pattern::parse(&text).is_ok(), "{text}");
    }
    for (text, reason) in [
        ("é".repeat(1025), PatternReason::Length),
        (
            "(?:".repeat(65) + &")".repeat(65),
            PatternReason::NestingDepth,
        ),
        ("a{2048}|^a{2049}$".into(), PatternReason::Expansion),
        ("a{4096}()".into(), PatternReason::Expansion),
        // Beyond what a machine can count with.
        (
            format!("a{{{}}}", "9".repeat(1000)),
            PatternReason::Expansion,
        ),
        (
            format!("(a{{0,}}){{{}}}", "9".repeat(1000)),
            PatternReason::Expansion,
        ),
    ] {
        let error = Pattern::parse(&text).unwrap_err();
        assert_eq!(error.reason, reason, "{text}");
    }
}

/// §5.1: `{m,n}` needs m ≤ n. The reference implementation compares what fits into a machine word.
#[test]
fn counts_are_compared_digit_by_digit() {
    let counts = |low: &str, high: &str| format!("(a{{{low},{high}}}){{0}}");
    let nines = "9".repeat(30);
    assert!(Pattern::parse(&counts(&nines, &nines)).is_ok());
    assert!(Pattern::parse(&counts("00010", "10")).is_ok());
    assert!(Pattern::parse(&counts("9", "10")).is_ok());
    let smaller = nines.replacen("99", "98", 1);
    let error = Pattern::parse(&counts(&nines, &smaller)).unwrap_err();
    assert_eq!(error.reason, PatternReason::InvalidRepetition);
}

#[test]
fn an_error_names_the_place_and_not_the_pattern() {
    let error = Pattern::parse("geheim\\b").unwrap_err();
    assert_eq!(error.at, 6);
    assert_eq!(error.to_string(), "unknown_escape at character 6");
}

/// What takes an engine long, or more memory than it grants, is answered at once.
#[test]
fn the_largest_members_are_matched_at_once() {
    let nested = |part: &str, depth: usize| "(".repeat(depth) + part + &")*".repeat(depth);
    let long = "é".repeat(100_000);
    for (text, searched, expected) in [
        (r"^\W{4096}$".to_owned(), "é".repeat(4096), true),
        (r"^\W{4096}$".to_owned(), "é".repeat(4097), false),
        (r"\W{4095}x".to_owned(), long.clone(), false),
        (format!("^{}$", nested(r"\W", 64)), long.clone(), true),
        (format!("^{}x$", nested(r"\W?", 64)), long.clone(), false),
        (r"^((\W?){64}){64}$".to_owned(), "é".repeat(4096), true),
        (
            r"^(((\W{1,16}){1,16}){1,16})$".to_owned(),
            "é".repeat(4097),
            false,
        ),
        (
            r"^(((é{999999999}){999999999}){999999999}){0,}$".to_owned(),
            long.clone(),
            false,
        ),
        (
            r"^(((é?){999999999}){999999999}x?){0,}$".to_owned(),
            long.clone(),
            true,
        ),
        (
            r"^((é{1,9999}é){9,9999}x){0,}$".to_owned(),
            long.clone(),
            false,
        ),
        (r"(.*)*(.*)*(.*)*(.*)*x$".to_owned(), long.clone(), false),
        (r"(é|éé|ééé)*x".to_owned(), long.clone(), false),
        (r"^(.é)*.(.é)*.(éé.)*x".to_owned(), long, false),
        (r"(){4096}$".to_owned(), String::new(), true),
        // Loops inside of loops: each asks the one inside of it at least twice.
        (
            format!("^{}x$", "(".repeat(64) + "é" + &"+)".repeat(64)),
            "é".repeat(1000),
            false,
        ),
        (
            format!("^{}$", "(".repeat(64) + "é" + &"+x?)".repeat(64)),
            "é".repeat(1000),
            true,
        ),
        (
            format!("^({}x){{0,}}$", "(".repeat(63) + "é" + &"{1,2})".repeat(63)),
            "é".repeat(1000),
            false,
        ),
    ] {
        let begun = Instant::now();
        let found = Pattern::parse(&text).unwrap().is_match(&searched);
        let elapsed = begun.elapsed();
        assert_eq!(found, expected, "{text}");
        println!("{:>12?} {text}", elapsed);
        assert!(elapsed < Duration::from_secs(10), "{text}: {elapsed:?}");
    }
}

/// Pieces of patterns, and of what looks like it.
fn piece() -> impl Strategy<Value = String> {
    let fixed = prop::sample::select(vec![
        "a",
        "b",
        "ab",
        ".",
        "^",
        "$",
        "|",
        "(",
        ")",
        "(?:",
        "(?",
        "[",
        "]",
        "[^",
        "-",
        "*",
        "+",
        "?",
        "{",
        "}",
        ",",
        "{2}",
        "{0}",
        "{1,3}",
        "{2,}",
        "{0,}",
        "{3,1}",
        "{,2}",
        "\\d",
        "\\D",
        "\\w",
        "\\W",
        "\\s",
        "\\S",
        "\\-",
        "\\]",
        "\\[",
        "\\^",
        "\\n",
        "\\x41",
        "\\x4",
        "\\q",
        "\\",
        "[a-c]",
        "[^b]",
        "[-a]",
        "[a-]",
        "[\\d-]",
        "&",
        "&&",
        "~",
        "é",
        "\u{10FFFF}",
        "\n",
        "1",
        "(a|b)",
        "()",
        "(a*)*",
        "[^\\w]",
        "$|^",
    ]);
    fixed.prop_map(str::to_owned)
}

/// Patterns of the subset, and nothing else.
fn member() -> impl Strategy<Value = String> {
    let atom = prop::sample::select(vec![
        "a", "b", "é", ".", "\\d", "\\W", "\\s", "[ab]", "[^a]", "[a-é]", "[-b\\s]", "\\x61",
        "\\n", "",
    ])
    .prop_map(str::to_owned);
    let quantifier = prop::sample::select(vec![
        "", "", "*", "+", "?", "{0}", "{2}", "{1,2}", "{2,}", "{0,3}",
    ]);
    let body = atom.prop_recursive(4, 24, 3, move |inner| {
        let branch = prop::collection::vec((inner, quantifier.clone()), 0..3).prop_map(|parts| {
            let part = |(atom, quantifier): (String, &str)| format!("({atom}){quantifier}");
            parts.into_iter().map(part).collect::<String>()
        });
        prop::collection::vec(branch, 1..3).prop_map(|branches| branches.join("|"))
    });
    let top = (any::<bool>(), body, any::<bool>()).prop_map(|(start, body, end)| {
        let (start, end) = (if start { "^" } else { "" }, if end { "$" } else { "" });
        format!("{start}({body}){end}")
    });
    prop::collection::vec(top, 1..3).prop_map(|tops| tops.join("|"))
}

fn text() -> impl Strategy<Value = String> {
    let characters = vec![
        'a',
        'b',
        'é',
        '1',
        '_',
        '-',
        ' ',
        '\n',
        '\r',
        'c',
        '\u{10FFFF}',
    ];
    prop::collection::vec(prop::sample::select(characters), 0..9)
        .prop_map(|characters| characters.into_iter().collect())
}

/// Returns whether the reference finds the pattern; nothing if its engine gives up.
fn found_by_reference(pattern: &str, text: &str) -> Option<bool> {
    catch_unwind(|| reference::search(pattern, text).unwrap()).ok()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn membership_is_the_same_as_in_the_reference(
        pieces in prop::collection::vec(piece(), 0..12),
        searched in text(),
    ) {
        let pattern = pieces.concat();
        let ours = Pattern::parse(&pattern);
        let theirs = reference::check_pattern(&pattern);
        prop_assert_eq!(ours.is_ok(), theirs.is_ok(), "{:?} {:?}", ours.err(), theirs);
        if let Ok(ours) = ours {
            prop_assert_eq!(Some(ours.is_match(&searched)), found_by_reference(&pattern, &searched));
        }
    }

    #[test]
    fn members_match_the_same_texts_as_in_the_reference(
        pattern in member(),
        texts in prop::collection::vec(text(), 1..6),
    ) {
        let Ok(ours) = Pattern::parse(&pattern) else {
            prop_assert!(reference::check_pattern(&pattern).is_err());
            return Ok(());
        };
        for searched in texts {
            prop_assert_eq!(
                Some(ours.is_match(&searched)),
                found_by_reference(&pattern, &searched),
                "{:?} in {:?}", pattern, searched
            );
        }
    }
}
