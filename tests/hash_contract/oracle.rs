//! The published crate `dpe-hash` as an oracle: value, code and path of generated objects.
//!
//! It shares no code with us. The one precise exclusion: its parser gives up at 68 nested
//! containers, ours at 128. Hash contract §8 allows both, so texts that nest deeper than 68 are
//! not compared.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use dpe::json::{Text, Value, Writer, canonical};
use dpe::model::{
    BlobRef, Contract, Contracts, FileUri, Hash, TreeBuilder, Violation, check_file_type,
    check_remote_url, doc_hash, document, element, expanded, expanded_text, nesting_depth, page,
    page_hash,
};
use dpe_hash::ObjectKind;

use super::generate::Generator;

const CASES: usize = 60_000;
/// Where the oracle's parser gives up.
const ORACLE_GUARD: usize = 68;

/// An accepted value in comparable form, or code and path.
type Judgement = Result<String, (String, String)>;

#[test]
fn generated_objects_are_judged_as_the_published_crate_judges_them() {
    let seed = match std::env::var("DPE_ORACLE_SEED") {
        Ok(seed) => seed.parse().unwrap(),
        Err(_) => SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap()
            .as_nanos() as u64,
    };
    println!("DPE_ORACLE_SEED={seed}");
    let mut generator = Generator::new(seed);
    let mut tally = BTreeMap::new();
    for case in 0..CASES {
        let kind = &KINDS[case % KINDS.len()];
        let mut text = (kind.generate)(&mut generator).into_bytes();
        if generator.below(4) == 0 {
            generator.mutate(&mut text);
        }
        let declares_both = generator.below(2) == 0;
        let selects_drill = generator.below(4) == 0;
        let setting = Setting::new(selects_drill, declares_both);
        let (ours, theirs) = ((kind.ours)(&text, setting), (kind.theirs)(&text, setting));
        if is_beyond_oracle(&text) {
            *tally
                .entry((kind.name, "beyond the oracle".to_owned()))
                .or_insert(0) += 1;
            continue;
        }
        assert_eq!(
            ours,
            theirs,
            "DPE_ORACLE_SEED={seed}, case {case}, {} {setting:?}, ours left: {}",
            kind.name,
            String::from_utf8_lossy(&text)
        );
        let verdict = ours.map_or_else(|(code, _)| code, |_| "accepted".to_owned());
        *tally.entry((kind.name, verdict)).or_insert(0) += 1;
    }
    check_tally(&tally);
}

/// A run in which everything was rejected for the same reason would prove nothing.
fn check_tally(tally: &BTreeMap<(&str, String), usize>) {
    println!("{tally:#?}");
    let count = |kind: &'static str, verdict: &str| {
        tally.get(&(kind, verdict.to_owned())).copied().unwrap_or(0)
    };
    for kind in KINDS {
        assert!(count(kind.name, "accepted") > 100, "{}", kind.name);
        if kind.name != "blob" && kind.name != "depth" {
            assert!(count(kind.name, "DPE_VALIDATION") > 100, "{}", kind.name);
        }
    }
    for kind in ["element", "expanded", "tree"] {
        assert!(count(kind, "DPE_CATEGORY_UNKNOWN") > 20, "{kind}");
    }
    for kind in ["page", "document", "hash"] {
        assert!(count(kind, "DPE_CONTRACT_UNSUPPORTED") > 20, "{kind}");
    }
    let beyond: usize = KINDS
        .iter()
        .map(|kind| count(kind.name, "beyond the oracle"))
        .sum();
    assert!(beyond < CASES / 50, "{beyond} cases could not be compared");
}

/// Contracts of one call.
#[derive(Clone, Copy, Debug)]
struct Setting {
    contract: Contract,
    declared: Contracts,
}

impl Setting {
    fn new(selects_drill: bool, declares_both: bool) -> Self {
        let contract = if selects_drill {
            Contract::Dpex
        } else {
            Contract::Dpe1
        };
        let declared = match declares_both {
            true => Contracts::SUPPORTED.with(Contract::Dpex),
            false => Contracts::SUPPORTED,
        };
        Self { contract, declared }
    }

    fn declared_names(self) -> Vec<&'static str> {
        self.declared.iter().map(Contract::name).collect()
    }
}

/// One way of asking both sides the same question about a text.
struct Kind {
    name: &'static str,
    generate: fn(&mut Generator) -> String,
    ours: fn(&[u8], Setting) -> Judgement,
    theirs: fn(&[u8], Setting) -> Judgement,
}

const KINDS: &[Kind] = &[
    Kind {
        name: "element",
        generate: Generator::element,
        ours: |text, setting| {
            our_value(text, |value| {
                let element = element(value, setting.contract)?;
                Ok(with_children(element.hash, element.blob.iter()))
            })
        },
        theirs: |text, setting| their_object(text, ObjectKind::Element, setting),
    },
    Kind {
        name: "page",
        generate: Generator::page,
        ours: |text, setting| {
            our_value(text, |value| {
                let page = page(value, setting.contract, setting.declared)?;
                Ok(with_children(page.hash, page.elements.iter()))
            })
        },
        theirs: |text, setting| their_object(text, ObjectKind::Page, setting),
    },
    Kind {
        name: "document",
        generate: Generator::document,
        ours: |text, setting| {
            our_value(text, |value| {
                let document = document(value, setting.contract, setting.declared)?;
                Ok(with_children(document.hash, document.pages.iter()))
            })
        },
        theirs: |text, setting| their_object(text, ObjectKind::Document, setting),
    },
    Kind {
        name: "expanded",
        generate: Generator::expanded,
        ours: |text, setting| {
            let hashes = expanded_text(text, setting.contract);
            let parsed = Text::parse(text).map_err(Violation::from);
            let of_value = parsed.and_then(|text| expanded(text.root(), setting.contract));
            assert_eq!(hashes, of_value, "{}", String::from_utf8_lossy(text));
            hashes.map_err(code_and_path).map(|hashes| {
                let pages = hashes.pages.iter();
                let pages: Vec<String> = pages
                    .map(|page| with_children(page.page_hash, page.elements.iter()))
                    .collect();
                format!("{} {pages:?}", hashes.doc_hash)
            })
        },
        theirs: their_expanded,
    },
    Kind {
        name: "tree",
        generate: Generator::deliverable,
        ours: our_tree,
        theirs: |text, setting| their_expanded(text, setting),
    },
    Kind {
        name: "page fields",
        generate: Generator::page_fields,
        ours: |text, setting| {
            our_value(text, |fields| {
                let children = some_hashes(setting);
                page_hash(fields, &children, setting.contract, setting.declared)
                    .map(|hash| hash.to_string())
            })
        },
        theirs: |text, setting| {
            their_value(text, |fields| {
                let (children, declared) = (some_hash_texts(setting), setting.declared_names());
                dpe_hash::page_hash_with(fields, &children, setting.contract.name(), &declared)
            })
        },
    },
    Kind {
        name: "document fields",
        generate: Generator::document_fields,
        ours: |text, setting| {
            our_value(text, |fields| {
                let children = some_hashes(setting);
                doc_hash(fields, &children, setting.contract, setting.declared)
                    .map(|hash| hash.to_string())
            })
        },
        theirs: |text, setting| {
            their_value(text, |fields| {
                let (children, declared) = (some_hash_texts(setting), setting.declared_names());
                dpe_hash::doc_hash_with(fields, &children, setting.contract.name(), &declared)
            })
        },
    },
    Kind {
        name: "jcs",
        generate: |generator| generator.value(4),
        ours: |text, _| {
            our_value(text, |value| {
                let mut bytes = Vec::new();
                canonical::write(value, &mut bytes)
                    .map_err(|error| Violation::here("").under(&value.pointer_to(error.offset)))?;
                Ok(String::from_utf8(bytes).unwrap())
            })
        },
        theirs: |text, _| their_value(text, dpe_hash::jcs),
    },
    Kind {
        name: "depth",
        generate: Generator::page,
        ours: |text, _| {
            our_value(text, |value| {
                Ok(nesting_depth(value, Some("elements")).to_string())
            })
        },
        theirs: |text, _| {
            their_value(text, |value| {
                Ok(dpe_hash::nesting_depth(value, Some("elements")).to_string())
            })
        },
    },
    Kind {
        name: "uri",
        generate: Generator::uri,
        ours: |text, _| {
            our_text(text, |text| {
                FileUri::parse(text).ok().map(|uri| uri.as_str().to_owned())
            })
        },
        theirs: |text, _| their_text(text, dpe_hash::normalize_file_uri),
    },
    Kind {
        name: "remote URL",
        generate: Generator::remote_url,
        ours: |text, _| {
            our_text(text, |text| {
                check_remote_url(text).ok().map(|()| String::new())
            })
        },
        theirs: |text, _| {
            let text = std::str::from_utf8(text).map_err(|_| invalid())?;
            dpe_hash::check_remote_url(text)
                .map(|()| String::new())
                .map_err(|_| invalid())
        },
    },
    Kind {
        name: "file_type",
        generate: Generator::file_type,
        ours: |text, _| {
            our_text(text, |text| {
                check_file_type(text).ok().map(|()| String::new())
            })
        },
        theirs: |text, _| {
            their_text(text, |text| {
                dpe_hash::validate_file_type(text).map(|()| String::new())
            })
        },
    },
    Kind {
        name: "hash",
        generate: |generator| generator.hash("dpe1"),
        ours: |text, setting| {
            let text = std::str::from_utf8(text).map_err(|_| invalid())?;
            Hash::parse(text, setting.declared)
                .map(|hash| hash.to_string())
                .map_err(|error| (error.code().as_str().to_owned(), String::new()))
        },
        theirs: |text, setting| {
            their_text(text, |text| {
                dpe_hash::parse_hash_with(text, &setting.declared_names())
                    .map(|(contract, digits)| format!("{contract}:{digits}"))
            })
        },
    },
    Kind {
        name: "blob reference",
        generate: |generator| generator.hash("sha256"),
        ours: |text, _| {
            our_text(text, |text| {
                BlobRef::parse(text).ok().map(|blob| blob.to_string())
            })
        },
        theirs: |text, _| {
            their_text(text, |text| {
                dpe_hash::parse_blob_ref(text).map(|digits| format!("sha256:{digits}"))
            })
        },
    },
    Kind {
        name: "blob",
        generate: |generator| generator.value(3),
        ours: |text, _| Ok(BlobRef::of(text).to_string()),
        theirs: |text, _| Ok(dpe_hash::blob_ref(text)),
    },
];

/// Delivers an expanded document through the builder, as if a connector had sent it.
fn our_tree(text: &[u8], setting: Setting) -> Judgement {
    our_value(text, |value| {
        let Some(pages) = value.member("pages").filter(|list| list.items().is_some()) else {
            return expanded(value, setting.contract).map(|_| unreachable!("it has no pages"));
        };
        // The expanded view judges the document first; the builder sees it last.
        let head = own_members(value, None);
        let outline = own_members(value, Some("[]"));
        expanded(outline.root(), setting.contract)?;
        let mut builder = TreeBuilder::new(setting.contract);
        builder.add_pages(pages, |_| Ok(None))?;
        let tree = builder.finish(head.root())?;
        let elements: BTreeMap<Hash, &str> = tree
            .elements
            .iter()
            .map(|object| (object.hash, &*object.text))
            .collect();
        let pages: BTreeMap<Hash, Vec<Hash>> = tree
            .pages
            .iter()
            .map(|object| {
                let text = Text::parse(object.text.as_bytes()).unwrap();
                let page = page(text.root(), setting.contract, setting.declared).unwrap();
                (page.hash, page.elements)
            })
            .collect();
        for (hash, text) in &elements {
            let text = Text::parse(text.as_bytes()).unwrap();
            assert_eq!(element(text.root(), setting.contract).unwrap().hash, *hash);
        }
        let listed = tree.page_list.iter();
        let listed: Vec<String> = listed
            .map(|page| {
                assert!(
                    pages[page]
                        .iter()
                        .all(|element| elements.contains_key(element))
                );
                with_children(*page, pages[page].iter())
            })
            .collect();
        Ok(format!("{} {listed:?}", tree.doc_hash))
    })
}

/// Returns a document with other `pages`, or none.
fn own_members(document: Value<'_>, pages: Option<&str>) -> Text<'static> {
    let mut text = Writer::new();
    text.begin_object();
    for (name, member) in document.members().unwrap() {
        if name != "pages" {
            text.name(&name).raw(member.raw());
        }
    }
    if let Some(pages) = pages {
        text.name("pages").raw(pages);
    }
    text.end_object();
    Text::parse_owned(text.into_bytes()).unwrap()
}

/// Children that are right for the contract, and now and then one that is not.
fn some_hashes(setting: Setting) -> Vec<Hash> {
    let right = Hash::new(setting.contract, [7; 32]);
    let dpe1 = Hash::new(Contract::Dpe1, [8; 32]);
    match setting.declared == Contracts::SUPPORTED {
        true => vec![right, right],
        false => vec![right, dpe1],
    }
}

fn some_hash_texts(setting: Setting) -> Vec<String> {
    some_hashes(setting).iter().map(Hash::to_string).collect()
}

fn with_children<C: ToString>(hash: Hash, children: impl Iterator<Item = C>) -> String {
    let children: Vec<String> = children.map(|child| child.to_string()).collect();
    format!("{hash} {children:?}")
}

fn our_value(text: &[u8], judge: impl FnOnce(Value<'_>) -> Result<String, Violation>) -> Judgement {
    let judged = match Text::parse(text) {
        Ok(text) => judge(text.root()),
        Err(error) => Err(error.into()),
    };
    judged.map_err(code_and_path)
}

fn code_and_path(violation: Violation) -> (String, String) {
    (violation.code.as_str().to_owned(), violation.pointer)
}

fn our_text(text: &[u8], judge: impl FnOnce(&str) -> Option<String>) -> Judgement {
    let text = std::str::from_utf8(text).map_err(|_| invalid())?;
    judge(text).ok_or_else(invalid)
}

fn their_object(text: &[u8], kind: ObjectKind, setting: Setting) -> Judgement {
    let (contract, declared) = (setting.contract.name(), setting.declared_names());
    their_value(text, |value| {
        let hash = dpe_hash::object_hash_with(value, kind, contract, &declared)?;
        let children = dpe_hash::children_with(value, kind, contract, &declared)?;
        Ok(format!("{hash} {children:?}"))
    })
}

fn their_expanded(text: &[u8], setting: Setting) -> Judgement {
    their_value(text, |value| {
        let hashes = dpe_hash::document_hashes(value, setting.contract.name())?;
        let pages = hashes.pages.iter();
        let pages: Vec<String> = pages
            .map(|page| format!("{} {:?}", page.page_hash, page.elements))
            .collect();
        Ok(format!("{} {pages:?}", hashes.doc_hash))
    })
}

fn their_value(
    text: &[u8],
    judge: impl FnOnce(&serde_json::Value) -> dpe_hash::Result<String>,
) -> Judgement {
    their_text(text, |text| judge(&dpe_hash::parse_ijson(text)?))
}

fn their_text(text: &[u8], judge: impl FnOnce(&str) -> dpe_hash::Result<String>) -> Judgement {
    let text = std::str::from_utf8(text).map_err(|_| invalid())?;
    judge(text).map_err(|error| (error.code().to_owned(), error.path().to_owned()))
}

/// What is not UTF-8 never reaches the oracle.
fn invalid() -> (String, String) {
    ("DPE_VALIDATION".to_owned(), String::new())
}

fn is_beyond_oracle(text: &[u8]) -> bool {
    Text::parse(text).is_ok_and(|text| text.root().depth_bound() > ORACLE_GUARD)
}
