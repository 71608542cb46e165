//! Walks `vectors/` and holds every case against the library.

use std::fs;
use std::path::Path;

use dpe::json::{Text, canonical};
use dpe::model::{
    BlobRef, Contract, Contracts, ExpandedHashes, FileUri, Hash, Tree, Violation, check_file_type,
    document, element, expanded_text, nesting_depth, page,
};
use serde_json::{Value, json};

#[test]
fn every_case_of_the_vectors_folder_holds() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors");
    let mut files = 0;
    let mut failures = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path
            .extension()
            .is_some_and(|extension| extension == "json")
        {
            let file: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
            // These have tests of their own.
            if !["reply", "pattern"].contains(&text_of(&file, "kind")) {
                failures.extend(check_file(&path, &file));
            }
            files += 1;
        }
    }
    assert!(files >= 10, "only {files} files of vectors");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn check_file(path: &Path, file: &Value) -> Vec<String> {
    let kind = text_of(file, "kind");
    assert!(!text_of(file, "source").is_empty());
    let cases = file["cases"].as_array().unwrap();
    assert!(!cases.is_empty());
    cases
        .iter()
        .filter_map(|case| {
            let expected = expectation(case);
            let outcome = outcome(kind, case);
            (outcome != expected).then(|| {
                let name = text_of(case, "name");
                format!(
                    "{}: {name}: {outcome} instead of {expected}",
                    path.display()
                )
            })
        })
        .collect()
}

/// The members of a case that say what must come out.
fn expectation(case: &Value) -> Value {
    let mut expected = case.clone();
    let members = expected.as_object_mut().unwrap();
    for input in [
        "name",
        "by",
        "text",
        "bytes",
        "contract",
        "declared",
        "accepted",
        "child_list",
    ] {
        members.remove(input);
    }
    assert!(!members.is_empty(), "{case} expects nothing");
    expected
}

fn outcome(kind: &str, case: &Value) -> Value {
    let result = match kind {
        "uri" => FileUri::parse(text_of(case, "text"))
            .map(|uri| json!({"uri": uri.as_str()}))
            .map_err(|error| Violation::here(error.to_string())),
        "file_type" => check_file_type(text_of(case, "text"))
            .map(|()| json!({"ok": true}))
            .map_err(|error| Violation::here(error.to_string())),
        _ => of_json(kind, case),
    };
    result.unwrap_or_else(
        |violation| json!({"error": {"code": violation.code.as_str(), "path": violation.pointer}}),
    )
}

fn of_json(kind: &str, case: &Value) -> Result<Value, Violation> {
    let contract = match case.get("contract") {
        Some(name) => match Contract::from_name(name.as_str().unwrap()) {
            Some(contract) => contract,
            // The library cannot be asked for a contract it does not know: `dpe hash-object` can.
            None => return Ok(json!({"error": {"code": "DPE_CONTRACT_UNSUPPORTED", "path": ""}})),
        },
        None => Contract::Dpe1,
    };
    let input = input_of(case);
    let text = Text::parse(&input)?;
    let value = text.root();
    match kind {
        "element" => {
            let hash = element(value, contract)?.hash;
            let mut outcome = json!({"hash": hash.to_string()});
            // The canonical text is not at hand, its digest is.
            if let Some(canonical) = case.get("canonical") {
                let digest = BlobRef::of(canonical.as_str().unwrap().as_bytes()).digest();
                assert_eq!(hash.digest(), digest, "{canonical}");
                outcome["canonical"] = canonical.clone();
            }
            Ok(outcome)
        }
        "page" => page(value, contract, contracts(case, "declared"))
            .map(|page| json!({"hash": page.hash.to_string(), "children": list(&page.elements)})),
        "document" => document(value, contract, contracts(case, "declared")).map(
            |document| json!({"hash": document.hash.to_string(), "children": list(&document.pages)}),
        ),
        "expanded" => {
            let hashes = expanded_text(&input, contract);
            assert_same_tree(value, contract, &hashes);
            hashes.map(|hashes| {
            let pages = hashes.pages.iter().map(|page| {
                json!({"page_hash": page.page_hash.to_string(), "elements": list(&page.elements)})
            });
            let pages: Vec<Value> = pages.collect();
            json!({"hashes": {"doc_hash": hashes.doc_hash.to_string(), "pages": pages}})
        })
        }
        "jcs" => {
            let mut bytes = Vec::new();
            canonical::write(value, &mut bytes).map_err(|error| {
                Violation::here(error.to_string()).under(&value.pointer_to(error.offset))
            })?;
            Ok(json!({"jcs": String::from_utf8(bytes).unwrap()}))
        }
        "ijson" => Ok(json!({"ok": true})),
        "hash" => Hash::from_value(value, contracts(case, "accepted")).map(|hash| {
            assert_eq!(hash.to_string(), value.as_str().unwrap());
            json!({"ok": true})
        }),
        "blob" => {
            let text = value.as_str().unwrap_or_default();
            let reference =
                BlobRef::parse(&text).map_err(|error| Violation::here(error.to_string()))?;
            assert_eq!(reference, BlobRef::of(&from_hex(text_of(case, "of"))));
            Ok(json!({"of": case["of"]}))
        }
        "depth" => {
            let child_list = case.get("child_list").map(|name| name.as_str().unwrap());
            Ok(json!({"depth": nesting_depth(value, child_list)}))
        }
        unknown => panic!("no test for vectors of kind {unknown}"),
    }
}

/// What is committed as one text is judged and hashed like what is only hashed; no byte source
/// among the vectors is one.
fn assert_same_tree(
    document: dpe::json::Value<'_>,
    contract: Contract,
    expected: &Result<ExpandedHashes, Violation>,
) {
    let no_source = |_: dpe::json::Value<'_>| Err(Violation::here("no byte source"));
    match (Tree::of_expanded(document, contract, no_source), expected) {
        (Ok(tree), Ok(hashes)) => {
            let pages = hashes.pages.iter().map(|page| page.page_hash);
            assert!(tree.page_list.iter().copied().eq(pages));
            assert_eq!(tree.doc_hash, hashes.doc_hash);
        }
        (Err(found), Err(expected)) => {
            assert_eq!(
                (found.code, found.pointer),
                (expected.code, expected.pointer.clone())
            );
        }
        (found, _) => panic!("{found:?}, {expected:?}"),
    }
}

fn contracts(case: &Value, member: &str) -> Contracts {
    let Some(names) = case.get(member) else {
        return Contracts::SUPPORTED;
    };
    let names = names.as_array().unwrap().iter();
    names
        .map(|name| Contract::from_name(name.as_str().unwrap()).unwrap())
        .collect()
}

fn list(hashes: &[Hash]) -> Vec<String> {
    hashes.iter().map(Hash::to_string).collect()
}

fn input_of(case: &Value) -> Vec<u8> {
    match case.get("bytes") {
        Some(hex) => from_hex(hex.as_str().unwrap()),
        None => text_of(case, "text").as_bytes().to_vec(),
    }
}

fn from_hex(digits: &str) -> Vec<u8> {
    let pairs = digits.as_bytes().chunks(2);
    pairs
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

fn text_of<'v>(value: &'v Value, member: &str) -> &'v str {
    value[member].as_str().unwrap()
}
