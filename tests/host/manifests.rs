//! Manifests and configurations: the tables of connector contract §4, and the reference
//! implementation as an oracle.

use dpe::host::{HostError, config_violation, read_manifest};
use dpe::json::Text;
use dpe_sdk::run::manifest as reference;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn manifest_text(schema: &str) -> String {
    format!(
        r#"{{"manifest_version":1,"name":"n","version":"1","protocol_versions":["dpe-connector/1"],"config_schema":{schema}}}"#
    )
}

/// Returns why the schema is refused, if it is, and compares with the reference.
fn refused(schema: &Value) -> Option<HostError> {
    let text = manifest_text(&schema.to_string());
    let ours = read_manifest(text.as_bytes()).err();
    let theirs = reference::parse_manifest(&serde_json::from_str(&text).unwrap());
    assert_eq!(
        ours.is_some(),
        theirs.is_err(),
        "{schema}: {ours:?} {theirs:?}"
    );
    ours
}

/// Returns the violation of a configuration, and compares with the reference.
fn violation(schema: &Value, config: &Value) -> Option<String> {
    let text = manifest_text(&schema.to_string());
    let manifest = read_manifest(text.as_bytes()).unwrap();
    let config_text = config.to_string();
    let parsed = Text::parse(config_text.as_bytes()).unwrap();
    let ours = config_violation(&manifest, parsed.root()).map(|found| found.to_string());
    let theirs = reference::parse_manifest(&serde_json::from_str(&text).unwrap()).unwrap();
    let theirs = reference::validate_config(&theirs, config);
    assert_eq!(
        ours.is_some(),
        theirs.is_err(),
        "{schema} {config}: {ours:?} {theirs:?}"
    );
    ours
}

/// Returns a schema with these keywords below `properties`.
fn inside(keywords: Value) -> Value {
    json!({"type": "object", "properties": {"a": keywords}})
}

#[test]
fn every_keyword_of_the_contract_is_taken() {
    let schemas = json!([
        {"type": "string"}, {"type": ["null", "integer"]}, {"enum": []}, {"enum": [1, null, {}]},
        {"const": null}, {"pattern": "^a$"}, {"minLength": 0, "maxLength": 2.0},
        {"minimum": -1.5, "maximum": 2, "exclusiveMinimum": 0, "exclusiveMaximum": 1e300},
        {"minItems": 1, "maxItems": 1e300, "uniqueItems": true, "items": false},
        {"minProperties": 1, "maxProperties": 2, "dependentRequired": {"a": ["b"], "c": []}},
        {"properties": {}, "patternProperties": {"^x": true}, "additionalProperties": {}},
        {"required": [], "propertyNames": {"maxLength": 3}},
        {"allOf": [true], "anyOf": [{}], "oneOf": [false], "not": {}},
        {"if": true, "then": {}, "else": {}}, {"then": {}}, {"else": false},
        {"title": "", "description": "", "default": null, "examples": [], "deprecated": true},
        {"readOnly": true, "writeOnly": false, "format": "uri", "$comment": ""},
        {"contentEncoding": "base64", "contentMediaType": "x/y"},
        // Data may look like a schema.
        {"default": {"$id": 1, "type": "nothing"}, "examples": [{"pattern": "("}]},
        {"const": {"multipleOf": 0}, "enum": [{"$ref": "x"}]},
        true, false, {},
    ]);
    for schema in schemas.as_array().unwrap() {
        assert!(refused(&inside(schema.clone())).is_none(), "{schema}");
    }
    for dialect in ["", "#"] {
        let dialect = format!("https://json-schema.org/draft/2020-12/schema{dialect}");
        let root = json!({"type": "object", "$schema": dialect, "$defs": {"x": true}});
        assert!(refused(&root).is_none());
    }
}

#[test]
fn every_other_keyword_is_refused() {
    for keyword in [
        "$id",
        "$anchor",
        "$dynamicRef",
        "$dynamicAnchor",
        "$recursiveRef",
        "$vocabulary",
        "id",
        "definitions",
        "dependencies",
        "prefixItems",
        "contains",
        "minContains",
        "maxContains",
        "dependentSchemas",
        "unevaluatedProperties",
        "unevaluatedItems",
        "contentSchema",
        "multipleOf",
        "additionalItems",
        "x-extension",
        "",
        "Type",
        "type ",
        // Those of the root, elsewhere.
        "$defs",
        "$schema",
    ] {
        for value in [
            json!({}),
            json!(1),
            json!("https://json-schema.org/draft/2020-12/schema"),
        ] {
            let refused = refused(&inside(json!({keyword: value})));
            let Some(HostError::ManifestSchema(error)) = refused else {
                panic!("{keyword}: {refused:?}");
            };
            assert_eq!(
                error.place,
                format!("/config_schema/properties/a/{keyword}")
            );
        }
    }
}

#[test]
fn keywords_with_wrong_values_are_refused() {
    let wrong = json!({
        "type": ["", "any", null, [], ["string", "string"], ["text"], [["string"]], {}, 1],
        "enum": [null, {}, "a"],
        "required": [null, "a", ["a", "a"], [1], {}],
        "dependentRequired": [[], {"a": "b"}, {"a": ["b", "b"]}, {"a": [1]}, null],
        "allOf": [[], {}, true, null, [1]],
        "anyOf": [[], {}, [null]],
        "oneOf": [[], "a", [[]]],
        "properties": [[], null, {"a": 1}, {"a": null}],
        "patternProperties": [[], {"a": []}, {"(": true}, {"a{4097}": true}, {"\\p{L}": {}}],
        "additionalProperties": [null, 1, []],
        "propertyNames": [null, "a"],
        "items": [[], [{}], null, 1],
        "not": [null, []], "if": [1], "then": ["a"], "else": [null],
        "minLength": [-1, 1.5, "1", null, true],
        "maxLength": [-0.5, []],
        "minItems": [-1], "maxItems": [0.1], "minProperties": ["0"], "maxProperties": [null],
        "minimum": ["1", null, true], "maximum": [[]], "exclusiveMinimum": [true],
        "exclusiveMaximum": [{}],
        "uniqueItems": [null, 1, "true"], "deprecated": [0], "readOnly": [null],
        "writeOnly": ["no"],
        "examples": [null, {}, "a"],
        "pattern": [null, 1, ["a"], "(?i)a", "[", "a{2,1}"],
        "title": [1, null], "description": [[]], "$comment": [{}], "format": [null],
        "contentEncoding": [1], "contentMediaType": [true], "$ref": [1, null, {}],
    });
    for (keyword, values) in wrong.as_object().unwrap() {
        for value in values.as_array().unwrap() {
            let refused = refused(&inside(json!({keyword: value})));
            assert!(
                matches!(refused, Some(HostError::ManifestSchema(_))),
                "{keyword} {value}"
            );
        }
    }
    for dialect in ["", "http://json-schema.org/draft-07/schema#"] {
        assert!(refused(&json!({"type": "object", "$schema": dialect})).is_some());
    }
}

#[test]
fn the_root_is_an_object_of_type_object() {
    for root in [
        json!({}),
        json!({"type": ["object"]}),
        json!({"type": "string"}),
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"type": "object"}}}),
    ] {
        assert!(
            matches!(refused(&root), Some(HostError::ManifestSchema(_))),
            "{root}"
        );
    }
    for root in [json!(true), json!([]), json!(null)] {
        assert!(
            matches!(refused(&root), Some(HostError::ManifestInvalid(_))),
            "{root}"
        );
    }
}

fn referring(reference: &str, names: &[&str]) -> Value {
    let definitions: Map<_, _> = names
        .iter()
        .map(|name| ((*name).to_owned(), json!({})))
        .collect();
    json!({"type": "object", "$defs": definitions, "items": {"$ref": reference}})
}

#[test]
fn references_are_decoded_before_they_are_split() {
    for (reference, name) in [
        ("#/$defs/a", "a"),
        ("#/%24defs/a", "a"),
        ("#/$defs%2Fa", "a"),
        ("#/$defs/%c3%A9", "é"),
        ("#/$defs/a b", "a b"),
        ("#/$defs/~1~0", "/~"),
        ("#/$defs/~01", "~1"),
        ("#/$defs/%7E1", "/"),
        ("#/$defs/a%25", "a%"),
    ] {
        assert!(
            refused(&referring(reference, &[name])).is_none(),
            "{reference}"
        );
    }
    let names = ["a", "a/b", "", "b", "a%", "~", "%zz", "a~"];
    for reference in [
        "",
        "#",
        "#/",
        "#/$defs",
        "#/$defs/",
        "$defs/a",
        "/$defs/a",
        "x#/$defs/a",
        "#/definitions/a",
        "#/$defs/a/b",
        "#/$defs/a%2Fb",
        "#/$defs//a",
        "#/$defs/c",
        "#%2F$defs/a",
        "#/$defs/a%",
        "#/$defs/a%2",
        "#/$defs/%zz",
        "#/$defs/%ff",
        "#/$defs/~",
        "#/$defs/a~",
        "#/$defs/~2",
        "#a",
        "https://example.org/#/$defs/a",
        "#/properties/a",
        "#/$Defs/a",
        "#/$defs/A",
    ] {
        let found = refused(&referring(reference, &names));
        assert!(
            matches!(found, Some(HostError::ManifestSchema(_))),
            "{reference}"
        );
    }
}

#[test]
fn definitions_form_no_circle() {
    let schema = |definitions: Value| json!({"type": "object", "$defs": definitions});
    for definitions in [
        json!({"a": {"$ref": "#/$defs/a"}}),
        json!({"a": {"items": {"$ref": "#/$defs/b"}}, "b": {"not": {"$ref": "#/$defs/a"}}}),
        json!({"x": {"$ref": "#/$defs/a"}, "a": {"properties": {"n": {"$ref": "#/$defs/a"}}}}),
    ] {
        assert!(
            refused(&schema(definitions.clone())).is_some(),
            "{definitions}"
        );
    }
    let diamond = json!({
        "a": {"allOf": [{"$ref": "#/$defs/b"}, {"$ref": "#/$defs/c"}]},
        "b": {"items": {"$ref": "#/$defs/d"}}, "c": {"$ref": "#/$defs/d"}, "d": true,
    });
    assert!(refused(&schema(diamond)).is_none());
}

/// A chain of `count` definitions, each referring to the next, the last one a boolean.
fn chain(count: usize, used: bool) -> Value {
    let mut definitions = Map::new();
    for index in 0..count {
        let next = format!("#/$defs/d{}", index + 1);
        definitions.insert(format!("d{index}"), json!({"$ref": next}));
    }
    definitions.insert(format!("d{count}"), json!(true));
    let mut root = json!({"type": "object", "$defs": definitions});
    if used {
        root["$ref"] = json!("#/$defs/d0");
    }
    root
}

#[test]
fn the_expansion_depth_is_counted_over_references() {
    let nested = |depth: usize| {
        (1..depth).fold(
            json!(true),
            |inner, _| json!({"additionalProperties": inner}),
        )
    };
    let root = |depth: usize| json!({"type": "object", "additionalProperties": nested(depth - 1)});
    // 63 nested ones below the root, the last a boolean, is the largest legal shape; one more is
    // too deep for the file as well.
    assert!(refused(&root(64)).is_none());
    // Root 1, d0 2, …: the boolean at the end of n definitions stands at n + 2.
    assert!(refused(&chain(62, true)).is_none());
    assert!(refused(&chain(63, true)).is_some());
    // What nobody refers to does not count, and exhausts no stack.
    assert!(read_manifest(manifest_text(&chain(20_000, false).to_string()).as_bytes()).is_ok());
    assert!(read_manifest(manifest_text(&chain(20_000, true).to_string()).as_bytes()).is_err());
    // Both ways are counted, the reference and its siblings.
    let mixed = |depth: usize| {
        json!({"type": "object", "$defs": {"a": nested(20)},
               "items": {"$ref": "#/$defs/a", "additionalProperties": nested(depth - 2)}})
    };
    assert!(refused(&mixed(60)).is_none());
    let through = |depth: usize| {
        let leaf = (0..depth).fold(
            json!({"$ref": "#/$defs/a"}),
            |inner, _| json!({"items": inner}),
        );
        json!({"type": "object", "$defs": {"a": nested(30)}, "not": leaf})
    };
    // Root 1, `not` 2, then `items`, the reference, and what it leads to: 32 + 31 + 1.
    assert!(refused(&through(32)).is_none());
    assert!(refused(&through(33)).is_some());
}

#[test]
fn an_error_of_a_pattern_has_its_tag_and_place_and_not_its_text() {
    let Some(HostError::ManifestSchema(error)) = refused(&inside(json!({"pattern": "geheim\\b"})))
    else {
        panic!("a word boundary is outside of the subset");
    };
    let shown = error.to_string();
    assert_eq!(
        shown,
        "/config_schema/properties/a/pattern: the pattern is outside of the portable subset: \
         unknown_escape at character 6"
    );
}

#[test]
fn members_of_the_manifest_are_closed_and_never_null() {
    let good = json!({
        "manifest_version": 1, "name": "n", "version": "1", "description": "d",
        "protocol_versions": ["x"], "config_schema": {"type": "object"},
        "secrets": [{"name": "A", "description": "d", "required": false}, {"name": "B_1"}],
    });
    let verdict = |manifest: &Value| {
        let ours = read_manifest(manifest.to_string().as_bytes());
        let theirs = reference::parse_manifest(manifest);
        assert_eq!(
            ours.is_ok(),
            theirs.is_ok(),
            "{manifest}: {ours:?} {theirs:?}"
        );
        ours.is_ok()
    };
    assert!(verdict(&good));
    for member in [
        "manifest_version",
        "name",
        "version",
        "protocol_versions",
        "config_schema",
    ] {
        let mut lacking = good.clone();
        lacking.as_object_mut().unwrap().remove(member);
        assert!(!verdict(&lacking), "{member}");
    }
    for (pointer, values) in [
        ("/manifest_version", json!([0, 2, 1.0, "1", null, true])),
        ("/name", json!(["", null, 1])),
        ("/version", json!(["", null, 1])),
        ("/description", json!([null, 1])),
        ("/protocol_versions", json!([[], null, "x", [1], [null]])),
        ("/config_schema", json!([null, true, []])),
        (
            "/secrets",
            json!([null, {}, ["A"], [null], [{}], [{"name": null}]]),
        ),
        (
            "/secrets/0/name",
            json!([
                "",
                "a",
                "1A",
                "_A",
                "A-B",
                "Ä",
                "A\n",
                "DPE_",
                "DPE_X",
                "PATH",
                "HOME",
                "LANG",
                "TZ",
                "TMPDIR",
                "LC_",
                "LC_ALL",
                "SYSTEMROOT",
                "TEMP",
                "TMP",
                "USERPROFILE",
                "PATHEXT",
                "COMSPEC",
                "B_1",
                1
            ]),
        ),
        ("/secrets/0/description", json!([null, 1])),
        ("/secrets/0/required", json!([null, 0, "yes"])),
    ] {
        for value in values.as_array().unwrap() {
            let mut changed = good.clone();
            *changed.pointer_mut(pointer).unwrap() = value.clone();
            assert!(!verdict(&changed), "{pointer} {value}");
        }
    }
    for pointer in ["", "/secrets/0"] {
        let mut more = good.clone();
        more.pointer_mut(pointer).unwrap()["licence"] = json!("MIT");
        assert!(!verdict(&more));
    }
    for name in ["A", "DPE", "LC", "PATHS", "Z9_"] {
        let mut named = good.clone();
        named["secrets"][0]["name"] = json!(name);
        assert!(verdict(&named), "{name}");
    }
}

#[test]
fn configurations_are_judged_as_the_table_says() {
    let (yes, no) = (true, false);
    for (schema, config, expected) in [
        (json!({"type": "integer"}), json!(1.0), yes),
        (json!({"type": "integer"}), json!(1e300), yes),
        (json!({"type": "integer"}), json!(1.5), no),
        (json!({"type": "number"}), json!("1"), no),
        (json!({"type": ["null", "string"]}), json!(null), yes),
        (json!({"type": "boolean"}), json!(0), no),
        (json!({"const": 1}), json!(1.0), yes),
        (json!({"const": 1}), json!(true), no),
        (
            json!({"const": [1, {"a": 0, "b": 2}]}),
            json!([1.0, {"b": 2.0, "a": -0.0}]),
            yes,
        ),
        (json!({"enum": ["a", false]}), json!(0), no),
        (json!({"enum": []}), json!("a"), no),
        (
            json!({"uniqueItems": true}),
            json!([1, true, "1", [1], {"a": 1}]),
            yes,
        ),
        (
            json!({"uniqueItems": true}),
            json!([{"a": 1, "b": 2}, {"b": 2, "a": 1.0}]),
            no,
        ),
        (json!({"uniqueItems": false}), json!([1, 1]), yes),
        (json!({"uniqueItems": true}), json!([0.0, -0.0]), no),
        (json!({"maxLength": 1}), json!("\u{1F600}"), yes),
        (json!({"minLength": 2}), json!("\u{1F600}"), no),
        (json!({"minLength": 2.0}), json!("ab"), yes),
        (json!({"minLength": 1e300}), json!("ab"), no),
        (json!({"maxLength": 0}), json!(17), yes),
        (json!({"pattern": "b"}), json!("abc"), yes),
        (json!({"pattern": "^b"}), json!("abc"), no),
        (json!({"minimum": 2}), json!(2.0), yes),
        (json!({"minimum": 2}), json!(1.999), no),
        (json!({"exclusiveMinimum": 2}), json!(2), no),
        (json!({"exclusiveMaximum": 2}), json!(2), no),
        (json!({"maximum": 2}), json!("3"), yes),
        (json!({"minItems": 1}), json!([]), no),
        (json!({"maxItems": 1}), json!({"a": 1, "b": 2}), yes),
        (json!({"minProperties": 1}), json!({}), no),
        (json!({"maxProperties": 1}), json!({"a": 1, "b": 2}), no),
        (json!({"items": {"type": "string"}}), json!(["a", 1]), no),
        (json!({"items": false}), json!([]), yes),
        (json!({"required": ["a"]}), json!({"a": null}), yes),
        (json!({"required": ["a"]}), json!({"b": 1}), no),
        (json!({"required": ["a"]}), json!([]), yes),
        (
            json!({"dependentRequired": {"a": ["b"]}}),
            json!({"a": 1}),
            no,
        ),
        (
            json!({"dependentRequired": {"a": ["b"]}}),
            json!({"c": 1}),
            yes,
        ),
        (
            json!({"propertyNames": {"pattern": "^a"}}),
            json!({"ab": 1, "b": 2}),
            no,
        ),
        (
            json!({"additionalProperties": false, "properties": {"a": {}},
                "patternProperties": {"^x": {}}}),
            json!({"a": 1, "xy": 2}),
            yes,
        ),
        (
            json!({"additionalProperties": false, "properties": {"a": {}}}),
            json!({"b": 1}),
            no,
        ),
        // Only the same object counts.
        (
            json!({"allOf": [{"properties": {"a": {}}}], "additionalProperties": false}),
            json!({"a": 1}),
            no,
        ),
        (
            json!({"additionalProperties": {"type": "string"}}),
            json!({"a": 1}),
            no,
        ),
        (
            json!({"patternProperties": {"b": {"type": "string"}}}),
            json!({"abc": 1}),
            no,
        ),
        (json!({"then": false, "else": false}), json!(1), yes),
        (
            json!({"if": {"type": "string"}, "then": {"minLength": 1}, "else": {"minimum": 1}}),
            json!(""),
            no,
        ),
        (
            json!({"if": {"type": "string"}, "then": {"minLength": 1}, "else": {"minimum": 1}}),
            json!(0),
            no,
        ),
        (
            json!({"if": {"type": "string"}, "then": {"minLength": 1}}),
            json!(0),
            yes,
        ),
        (
            json!({"if": {"type": "string"}, "else": false}),
            json!("x"),
            yes,
        ),
        (
            json!({"anyOf": [{"type": "string"}, {"minimum": 1}]}),
            json!(0),
            no,
        ),
        (
            json!({"oneOf": [{"type": "number"}, {"minimum": 1}]}),
            json!(2),
            no,
        ),
        (
            json!({"oneOf": [{"type": "number"}, {"minimum": 1}]}),
            json!("a"),
            yes,
        ),
        (
            json!({"oneOf": [false, {"type": "number"}]}),
            json!("a"),
            no,
        ),
        (json!({"not": {"type": "string"}}), json!("a"), no),
        (json!({"not": true}), json!(1), no),
        (json!(false), json!(1), no),
        (json!(true), json!(1), yes),
        (
            json!({"format": "email", "contentEncoding": "base64"}),
            json!("no @ ="),
            yes,
        ),
        (
            json!({"$ref": "#/$defs/short", "pattern": "^a"}),
            json!("ab"),
            yes,
        ),
        (
            json!({"$ref": "#/$defs/short", "pattern": "^a"}),
            json!("abc"),
            no,
        ),
        (
            json!({"$ref": "#/$defs/short", "pattern": "^a"}),
            json!("b"),
            no,
        ),
        (json!({"default": 7, "type": "string"}), json!("x"), yes),
    ] {
        let root = json!({"type": "object", "properties": {"v": schema},
                          "$defs": {"short": {"maxLength": 2}}});
        let found = violation(&root, &json!({"v": config}));
        assert_eq!(found.is_none(), expected, "{schema} {config}: {found:?}");
    }
    // Equality is about numbers, not their spelling.
    let root = json!({"type": "object", "properties": {"v": {"enum": [100, "x"]}}});
    let manifest = read_manifest(manifest_text(&root.to_string()).as_bytes()).unwrap();
    for (config, expected) in [
        (r#"{"v":1e2}"#, yes),
        (r#"{"v":1000.0E-1}"#, yes),
        (r#"{"v":"\u0078"}"#, yes),
        (r#"{"v":"100"}"#, no),
        (r#"{"v":100.00000000001}"#, no),
    ] {
        let text = Text::parse(config.as_bytes()).unwrap();
        let found = config_violation(&manifest, text.root());
        assert_eq!(found.is_none(), expected, "{config}");
    }
    // Nothing is filled in: a default does not satisfy `required`.
    let root = json!({"type": "object", "properties": {"a": {"default": 1}}, "required": ["a"]});
    assert!(violation(&root, &json!({})).is_some());
}

#[test]
fn a_violation_tells_place_keyword_and_constraint_but_nothing_of_the_configuration() {
    let schema = json!({
        "type": "object",
        "properties": {
            "space": {"type": "string", "pattern": "^[A-Z]{2,10}$"},
            "list": {"items": {"properties": {"n/m": {"maximum": 20}}}},
            "open": {"additionalProperties": {"properties": {"x": {"const": 5}}},
                     "propertyNames": {"maxLength": 9}},
            "closed": {"properties": {"x": {}}, "additionalProperties": false, "required": ["x"]},
            "some": {"anyOf": [{"type": "string"}, {"const": 1}]},
            "by": {"patternProperties": {"^s": {"enum": ["a", 1]}}},
        },
        "dependentRequired": {"space": ["some"]},
    });
    for (config, expected) in [
        (
            json!({"space": "geheim", "some": 1}),
            "/space of the configuration breaks `pattern`: \"^[A-Z]{2,10}$\"",
        ),
        (
            json!({"space": "AB"}),
            "the configuration breaks `dependentRequired`: \"space\" needs \"some\", which is missing",
        ),
        (
            json!({"list": [{}, {"n/m": 21}]}),
            "/list/1/n~1m of the configuration breaks `maximum`: 20",
        ),
        (
            json!({"open": {"geheim": {"x": "geheim"}}}),
            "/open/*/x of the configuration breaks `const`: 5",
        ),
        (
            json!({"open": {"geheimgeheim": {}}}),
            "/open of the configuration breaks `propertyNames`: for a name, `maxLength`: 9",
        ),
        (
            json!({"closed": {"x": 1, "geheim": 1}}),
            "/closed of the configuration breaks `additionalProperties`: only the declared members are allowed",
        ),
        (
            json!({"closed": {}}),
            "/closed of the configuration breaks `required`: \"x\" is missing",
        ),
        (
            json!({"some": "geheim".len()}),
            "/some of the configuration breaks `anyOf`: one of 2 schemas has to hold",
        ),
        (
            json!({"by": {"sgeheim": "geheim"}}),
            "/by/* of the configuration breaks `enum`: [\"a\",1]",
        ),
        (json!([]), "the configuration breaks `type`: \"object\""),
    ] {
        assert_eq!(violation(&schema, &config).unwrap(), expected);
    }
}

/// Definitions that refer to the next one twice, 30 times over: 2^30 ways through them.
#[test]
fn shared_definitions_are_evaluated_once() {
    let mut definitions = Map::new();
    for index in 0..30 {
        let next = json!({"$ref": format!("#/$defs/d{}", index + 1)});
        definitions.insert(format!("d{index}"), json!({"allOf": [next, next]}));
    }
    definitions.insert("d30".into(), json!({"maximum": 1}));
    let schema = json!({"type": "object", "$defs": definitions,
                        "additionalProperties": {"$ref": "#/$defs/d0"}});
    let text = manifest_text(&schema.to_string());
    let manifest = read_manifest(text.as_bytes()).unwrap();
    let text = Text::parse(br#"{"a":1,"b":2}"#).unwrap();
    let found = config_violation(&manifest, text.root()).unwrap();
    assert_eq!((found.place.as_str(), found.keyword), ("/*", "maximum"));
}

fn data() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(|value| json!(value)),
        prop::sample::select(vec![
            json!(0),
            json!(1),
            json!(1.0),
            json!(2),
            json!(-1.5),
            json!(-0.0),
            json!(3)
        ]),
        prop::sample::select(vec!["", "a", "ab", "b", "é", "1"]).prop_map(|text| json!(text)),
    ];
    leaf.prop_recursive(3, 16, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            object(inner),
        ]
    })
}

fn object(value: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    let name = prop::sample::select(vec!["a", "b", "ab", "é", ""]);
    prop::collection::vec((name, value), 0..4).prop_map(|members| {
        let members = members
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value));
        Value::Object(members.collect())
    })
}

/// Keywords with values they can have, and now and then with ones they cannot.
fn keyword(inner: BoxedStrategy<Value>) -> BoxedStrategy<(String, Value)> {
    let named = |names: Vec<&'static str>, value: BoxedStrategy<Value>| {
        (prop::sample::select(names), value).prop_map(|(name, value)| (name.to_owned(), value))
    };
    let count = prop::sample::select(vec![
        json!(0),
        json!(1),
        json!(2.0),
        json!(3),
        json!(-1),
        json!(0.5),
    ]);
    let number = prop::sample::select(vec![
        json!(0),
        json!(1),
        json!(1.0),
        json!(2),
        json!(-1.5),
        json!("1"),
    ]);
    let types = prop::sample::select(vec![
        json!("object"),
        json!("string"),
        json!("integer"),
        json!("number"),
        json!(["array", "null"]),
        json!("boolean"),
        json!(["string", "object"]),
        json!(["null", "null"]),
        json!("text"),
    ]);
    let pattern =
        prop::sample::select(vec!["a", "^a", "b$", "^[ab]{1,2}$", "", "^é?$", "(", "\\b"]);
    let names = prop::sample::select(vec![
        json!([]),
        json!(["a"]),
        json!(["a", "b"]),
        json!(["a", "a"]),
    ]);
    let reference = prop::sample::select(vec![
        "#/$defs/a",
        "#/$defs/b",
        "#/%24defs/%61",
        "#/$defs/c",
        "#",
    ]);
    prop_oneof![
        3 => named(vec!["type"], types.boxed()),
        2 => named(vec!["const", "default", "minimum"], data().boxed()),
        2 => named(vec!["enum", "examples"], prop::collection::vec(data(), 0..3).prop_map(Value::Array).boxed()),
        2 => named(vec!["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"], count.boxed()),
        2 => named(vec!["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"], number.boxed()),
        1 => named(vec!["uniqueItems", "deprecated"], any::<bool>().prop_map(|value| json!(value)).boxed()),
        1 => named(vec!["pattern", "format", "title"], pattern.clone().prop_map(|text| json!(text)).boxed()),
        2 => named(vec!["required"], names.clone().boxed()),
        1 => named(vec!["dependentRequired"], object(names).boxed()),
        1 => named(vec!["multipleOf", "contains", "$defs", "$schema"], Just(json!(1)).boxed()),
        2 => named(vec!["$ref"], reference.prop_map(|text| json!(text)).boxed()),
        3 => named(vec!["properties"], object(inner.clone()).boxed()),
        1 => named(vec!["patternProperties"], (pattern, inner.clone())
            .prop_map(|(pattern, schema)| json!({pattern: schema})).boxed()),
        4 => named(vec!["additionalProperties", "propertyNames", "items", "not", "if", "then", "else"], inner.clone()),
        2 => named(vec!["allOf", "anyOf", "oneOf"], prop::collection::vec(inner, 0..3).prop_map(Value::Array).boxed()),
    ]
    .boxed()
}

fn keywords(inner: BoxedStrategy<Value>) -> BoxedStrategy<Value> {
    prop::collection::vec(keyword(inner), 0..4)
        .prop_map(|keywords| Value::Object(keywords.into_iter().collect()))
        .boxed()
}

fn schema() -> BoxedStrategy<Value> {
    any::<bool>()
        .prop_map(|verdict| json!(verdict))
        .prop_recursive(3, 12, 3, |inner| keywords(inner.boxed()))
        .boxed()
}

fn root() -> impl Strategy<Value = Value> {
    (keywords(schema()), schema(), schema()).prop_map(|(mut root, a, b)| {
        root["type"] = json!("object");
        root["$defs"] = json!({"a": a, "b": b});
        root
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn schemas_and_configurations_have_the_verdicts_of_the_reference(
        schema in root(),
        configs in prop::collection::vec(object(data()), 1..6),
    ) {
        if refused(&schema).is_none() {
            for config in configs {
                violation(&schema, &config);
            }
        }
    }
}
