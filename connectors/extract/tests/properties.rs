//! What holds for every input: nothing panics, equal bytes give equal documents, every element keeps to
//! the schema and the budget, and words are not lost.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::path::Path;

use dpe_extract::{
    ExtractError, Extraction, HEAD_BYTES, Input, Limits, WHOLE_INPUT, extract, format_of,
};
use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, Strategy, any, prop_assert, prop_assert_eq, proptest};
use proptest::sample::{Index, select};
use serde_json::Value;

/// The budget of one element, in bytes of UTF-8.
const BUDGET: usize = 1_048_576;

/// One name for each way to read.
const NAMES: [&str; 19] = [
    "a.adoc", "a.org", "a.eml", "a.mbox", "a.ipynb", "a.md", "a.txt", "a.rs", "a.html", "a.csv",
    "a.tsv", "a.json", "a.ndjson", "a.png", "a.svg", "a.xml", "a.rst", "README", "unknown",
];

/// Pieces from which texts with much markup and little sense are made.
const PIECES: [&str; 96] = [
    "word",
    "two words",
    " ",
    "\n",
    "\n\n",
    "\r\n",
    "\t",
    "    ",
    "# ",
    "## ",
    "===\n",
    "---\n",
    "+++\n",
    "- ",
    "* ",
    "1. ",
    "[ ] ",
    "[x] ",
    "> ",
    "> [!NOTE]\n",
    "```\n",
    "```rust\n",
    "~~~",
    "`",
    "``",
    "|",
    "|-|-|\n",
    "| a | b |\n",
    "*",
    "**",
    "_",
    "~~",
    "[",
    "](",
    ")",
    "![",
    "](u \"t\")",
    "[^1]",
    "[^1]: ",
    "<http://a.b>",
    "[r]: u\n",
    "$",
    "$$",
    "\\",
    "&amp;",
    "&#0;",
    "&",
    "<!--",
    "-->",
    "<",
    ">",
    "<p>",
    "</p>",
    "<div>",
    "</div>",
    "<b>",
    "</b>",
    "<a href=x>",
    "</a>",
    "<ul><li>",
    "</li></ul>",
    "<table>",
    "<tr>",
    "<td>",
    "<th colspan=9>",
    "</table>",
    "<caption>",
    "<pre>",
    "</pre>",
    "<code class=language-x>",
    "<script>",
    "</script>",
    "<style>",
    "<svg>",
    "<text>",
    "<math>",
    "<template>",
    "<br>",
    "<hr>",
    "<img src=i alt=z>",
    "<nav>",
    "<header>",
    "<footer>",
    "<select><option>",
    "<textarea>",
    "<h1>",
    "</h1>",
    "<body>",
    "title: x\n",
    "a: &a [*a]\n",
    "a = 1\n",
    ",",
    ";",
    "\"",
    "ä€😀",
    "\u{0}",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn arbitrary_bytes_never_panic(name in select(&NAMES[..]), bytes in vec(any::<u8>(), 0..2000)) {
        judge(name, &bytes);
    }

    #[test]
    fn arbitrary_text_never_panics(name in select(&NAMES[..]), text in ".{0,400}") {
        judge(name, text.as_bytes());
    }

    #[test]
    fn heaps_of_markup_give_sound_documents(
        name in select(&NAMES[..]),
        pieces in vec(select(&PIECES[..]), 0..200),
        front in select(&["", "---\n", "+++\n", "<!doctype html>"][..]),
    ) {
        judge(name, format!("{front}{}", pieces.concat()).as_bytes());
    }

    #[test]
    fn mutated_cases_never_panic(
        case in any::<Index>(),
        edits in vec((any::<Index>(), any::<u8>(), 0..4u8), 0..20),
    ) {
        let cases = cases();
        let (name, mut bytes) = cases[case.index(cases.len())].clone();
        for (at, byte, edit) in edits {
            if bytes.is_empty() {
                break;
            }
            let at = at.index(bytes.len());
            match edit {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                2 => drop(bytes.remove(at)),
                _ => bytes.truncate(at),
            }
        }
        judge(&name, &bytes);
    }

    #[test]
    fn no_word_of_a_markdown_text_is_lost(blocks in vec(markdown_block(), 1..12)) {
        let words: Vec<&str> = blocks.iter().flat_map(|(_, words)| words).map(String::as_str).collect();
        let text: String = blocks.iter().map(|(text, _)| format!("{text}\n\n")).collect();
        assert_words_in_order("a.md", &text, &words)?;
    }

    #[test]
    fn no_word_of_a_page_is_lost(blocks in vec(html_block(), 1..12)) {
        let words: Vec<&str> = blocks.iter().flat_map(|(_, words)| words).map(String::as_str).collect();
        let text: String = blocks.iter().map(|(text, _)| text.as_str()).collect();
        assert_words_in_order("a.html", &text, &words)?;
    }

    #[test]
    fn code_is_the_text_of_its_file(lines in vec("[ -~]{0,60}", 1..40)) {
        let text = lines.join("\n");
        let extraction = read("a.rs", text.as_bytes()).unwrap();
        let texts: Vec<&str> = texts(&extraction).collect();
        let expected = text.strip_suffix('\n').unwrap_or(&text);
        if expected.trim().is_empty() {
            prop_assert!(texts.is_empty());
        } else {
            prop_assert_eq!(texts, [expected]);
        }
    }

    #[test]
    fn cells_of_a_table_are_the_fields_of_its_file(rows in vec(vec("[a-z \",;|]{0,8}", 3..4), 2..20)) {
        let lines = rows.iter().map(|row| {
            let fields = row.iter().map(|field| format!("\"{}\"", field.replace('"', "\"\"")));
            fields.collect::<Vec<_>>().join("\t") + "\n"
        });
        let text: String = lines.collect();
        let extraction = read("a.tsv", text.as_bytes()).unwrap();
        let expected: Vec<String> = rows.iter().map(|row| row.join("\t")).collect();
        let expected = expected.join("\n");
        let found: Vec<&str> = texts(&extraction).collect();
        if expected.trim().is_empty() {
            prop_assert!(found.is_empty());
        } else {
            prop_assert_eq!(found, [expected.as_str()]);
        }
    }
}

#[test]
fn long_texts_of_every_format_stay_within_the_budget() {
    let line = "word ".repeat(200);
    let lines = format!("{line}\n").repeat(1200);
    let items = format!("- {line}\n").repeat(1100);
    let samples = [
        ("a.txt", lines.clone()),
        ("a.rs", lines.clone()),
        ("a.md", format!("{lines}\n\n```x\n{lines}```\n\n{items}")),
        ("a.html", format!("<p>{lines}<pre>{lines}</pre><td>{lines}")),
        (
            "a.html",
            format!("<table>{}", format!("<tr><td>a<td>{line}").repeat(1100)),
        ),
        (
            "a.csv",
            format!("a,b\n{}", format!("1,{line}\n").repeat(2000)),
        ),
        ("a.csv", format!("a,b\n1,{}\n", "x".repeat(3 * BUDGET))),
        (
            "a.ndjson",
            format!("\"{}\"\n", "x".repeat(2 * BUDGET)).repeat(2),
        ),
        ("a.txt", "ä".repeat(BUDGET)),
        ("a.md", format!("# {}", "x ".repeat(BUDGET))),
        ("a.md", format!("![{}](u)", "x ".repeat(BUDGET))),
    ];
    for (name, text) in samples {
        judge(name, text.as_bytes());
        let extraction = read(name, text.as_bytes()).unwrap();
        let kept: usize = texts(&extraction).map(words).sum();
        assert!(kept >= words(&text) / 2, "{name} lost words");
        assert!(extraction.pages[0].elements.len() > 1, "{name} was not cut");
    }
}

#[test]
fn large_code_is_cut_and_complete() {
    let text: String = (0..200_000).map(|n| format!("let x{n} = {n};\n")).collect();
    let extraction = read("a.rs", text.as_bytes()).unwrap();
    let pieces: Vec<&str> = texts(&extraction).collect();
    assert!(pieces.len() > 2);
    assert_eq!(pieces.join("\n") + "\n", text);
}

#[test]
fn hostile_texts_neither_panic_nor_exhaust_the_stack() {
    // Debug builds parse HTML slowly; this is deep enough for a stack.
    let (n, h) = (100_000, 20_000);
    let samples = [
        ("a.html", "<div>".repeat(h)),
        ("a.html", "<b>".repeat(h) + "x"),
        (
            "a.html",
            (0..h / 10).map(|i| format!("<p><font a={i}>x")).collect(),
        ),
        ("a.html", "<table><tr><td>".repeat(h)),
        ("a.html", "<svg><foreignObject>".repeat(h)),
        ("a.html", "<template>".repeat(h)),
        ("a.html", "<blockquote>".repeat(h)),
        (
            "a.html",
            format!(
                "<a {}>",
                (0..h).map(|i| format!("a{i} ")).collect::<String>()
            ),
        ),
        ("a.html", "<b><p>".repeat(1000) + &"</b>".repeat(h)),
        ("a.md", ">".repeat(n)),
        ("a.md", "- ".repeat(n)),
        ("a.md", "[".repeat(n)),
        ("a.md", "*a_ ".repeat(n)),
        ("a.md", "<!-- ".repeat(n)),
        ("a.md", format!("---\na: {}\n---\n", "[".repeat(n))),
        ("a.md", format!("---\n{}\n---\n", "- ".repeat(n))),
        ("a.md", format!("+++\na = {}\n+++\n", "[".repeat(n))),
        ("a.md", format!("+++\na{} = 1\n+++\n", ".a".repeat(n))),
        ("a.md", "![".repeat(n) + &"x ".repeat(n) + &"](u)".repeat(n)),
        ("a.md", "<a href=u>".repeat(n) + &"x ".repeat(n)),
        (
            "a.md",
            format!("[![]({0}) {1}]({0})", "u".repeat(n), "![](i) ".repeat(n)),
        ),
        (
            "a.md",
            format!("[x]: {}\n\n{}", "u".repeat(n), "[x] ".repeat(n)),
        ),
        (
            "a.md",
            format!(
                "x[^{0}]\n\n[^{0}]: a\n{1}",
                "l".repeat(900),
                "\n    - b\n".repeat(n / 10)
            ),
        ),
        (
            "a.md",
            format!(
                "---\na: &a {}\nb: [{}]\n---\n",
                "x".repeat(n),
                "*a, ".repeat(n)
            ),
        ),
        (
            "a.html",
            format!("<a href={}>{}", "u".repeat(n), "<div>x</div>".repeat(h)),
        ),
        (
            "a.html",
            format!("<a href={}>{}", "u".repeat(n), "<img src=i>".repeat(h)),
        ),
        (
            "a.html",
            format!("<table><tr>{}", "<td colspan=1000>".repeat(h)),
        ),
        ("a.md", "[a](b) ".repeat(n * 5)),
        (
            "a.md",
            format!("```{}\nx\n```\n![a](b \"{0}\")\n", "y".repeat(n)),
        ),
        (
            "a.html",
            format!(
                "<meta name=author content={}><img src=data:{0},>",
                "y".repeat(n)
            ),
        ),
        ("a.json", "[".repeat(n) + &"]".repeat(n)),
        ("a.csv", "\"".repeat(n)),
        ("a.csv", ",".repeat(n)),
        ("a.txt", "\n".repeat(n)),
    ];
    for (name, text) in samples {
        judge(name, text.as_bytes());
    }
}

#[test]
fn later_bytes_do_not_change_what_the_head_says() {
    let text = "word\n".repeat(HEAD_BYTES);
    let head = &text.as_bytes()[..HEAD_BYTES];
    assert_eq!(format_of(b"x", head), format_of(b"x", text.as_bytes()));
}

fn read(name: &str, bytes: &[u8]) -> Result<Extraction, ExtractError> {
    let name = name.as_bytes();
    extract(&Input { name, bytes }, &Limits::default())
}

/// Extracts twice and checks all that must hold of the result.
fn judge(name: &str, bytes: &[u8]) {
    let result = read(name, bytes);
    assert_eq!(result, read(name, bytes), "equal bytes, equal documents");
    let Ok(extraction) = result else { return };
    assert_size(&extraction, bytes.len());
    let head = serde_json::to_value(&extraction.head).unwrap();
    assert!(depth(&head) <= 64);
    assert_numbers(&head);
    for element in extraction.pages.iter().flat_map(|page| &page.elements) {
        assert_element(&serde_json::to_value(element).unwrap(), &extraction.blobs);
    }
}

/// Markup that says little in many bytes must not become a document of many more.
fn assert_size(extraction: &Extraction, input: usize) {
    let pages = serde_json::to_string(&extraction.pages).unwrap().len();
    let head = serde_json::to_string(&extraction.head).unwrap().len();
    let limit = 2 * BUDGET + 100 * input;
    assert!(
        pages + head <= limit,
        "{input} bytes became {}",
        pages + head
    );
}

/// The closed schema of hash contract §5.2, the depth of §7 and the budget.
fn assert_element(element: &Value, blobs: &[Vec<u8>]) {
    let category = element["category"].as_str().unwrap();
    let allowed: &[&str] = match category {
        "Image" => &["text", "blob", "mime_type"],
        "Table" | "Formula" => &["text", "text_as_html"],
        "UncategorizedText" | "CheckBox" | "CompositeElement" | "FigureCaption"
        | "NarrativeText" | "ListItem" | "Title" | "Address" | "EmailAddress" | "PageBreak"
        | "TableChunk" | "Header" | "Footer" | "CodeSnippet" | "PageNumber" | "FormKeysValues"
        | "tfchat" => &["text"],
        other => panic!("unknown category {other}"),
    };
    for (name, value) in element.as_object().unwrap() {
        match name.as_str() {
            "category" => {}
            "metadata" => assert!(value.is_object()),
            "blob" if category == "Image" => {
                let handle = value["handle"].as_str().unwrap();
                if handle != WHOLE_INPUT {
                    let bytes = &blobs[handle.parse::<usize>().unwrap()];
                    assert_eq!(value["size"], bytes.len());
                }
            }
            field => {
                assert!(allowed.contains(&field), "{category} with {field}");
                assert!(
                    value.as_str().unwrap().len() <= BUDGET,
                    "{category} is too long"
                );
            }
        }
    }
    assert!(depth(element) <= 64);
    assert_numbers(element);
    let sent = serde_json::to_string(element).unwrap().len();
    assert!(
        sent <= 8 * BUDGET,
        "{category} of {sent} bytes is more than remotes take"
    );
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// Numbers are within hash contract §9.
fn assert_numbers(value: &Value) {
    match value {
        Value::Array(items) => items.iter().for_each(assert_numbers),
        Value::Object(members) => members.values().for_each(assert_numbers),
        Value::Number(number) => {
            let literal = number.to_string();
            let is_integer = !literal.contains(['.', 'e', 'E']);
            let limit = 9_007_199_254_740_991_i128;
            assert!(!is_integer || literal.parse::<i128>().unwrap().abs() <= limit);
        }
        _ => {}
    }
}

fn texts(extraction: &Extraction) -> impl Iterator<Item = &str> {
    let elements = extraction.pages.iter().flat_map(|page| &page.elements);
    elements.filter_map(|element| element.text.as_deref())
}

fn words(text: &str) -> usize {
    text.split_whitespace().count()
}

fn assert_words_in_order(
    name: &str,
    text: &str,
    words: &[&str],
) -> Result<(), proptest::test_runner::TestCaseError> {
    judge(name, text.as_bytes());
    let extraction = read(name, text.as_bytes()).unwrap();
    let all: Vec<&str> = texts(&extraction).collect();
    let all = all.join("\n");
    let mut rest = all.as_str();
    for word in words {
        let at = rest.find(word);
        prop_assert!(at.is_some(), "{word} is lost in {text:?}: {all:?}");
        rest = &rest[at.unwrap_or_default() + word.len()..];
    }
    Ok(())
}

/// A block with its words, in which no word is part of another.
fn markdown_block() -> impl Strategy<Value = (String, Vec<String>)> {
    block(&[
        "# @ @",
        "@ *@* **@**",
        "@ [@](u) @",
        "- @\n- @\n  - @",
        "1. @\n\n   @\n2. @",
        "> @\n> @",
        "```x\n@ @\n```",
        "| @ | @ |\n|---|---|\n| @ | @ |",
        "    @\n    @",
        "<div>@ <b>@</b></div>",
        "![@](u)",
        "@ `@` ~~@~~  \n@",
        "$$\n@\n$$",
        "- [x] @\n- [ ] @",
        "<p>@</p>\n@",
        "@\n===",
        "Term[^n] @\n\n[^n]: @",
    ])
}

fn html_block() -> impl Strategy<Value = (String, Vec<String>)> {
    block(&[
        "<h1>@ <i>@</i></h1>",
        "<p>@ <b>@</b> @",
        "<ul><li>@<li>@<ul><li>@</ul></ul>",
        "<pre>@\n@</pre>",
        "@ <a href=u>@</a>",
        "<table><tr><th>@<th>@<tr><td>@<td>@</table>",
        "<table><caption>@</caption><tr><td>@</table>",
        "<nav>@</nav>",
        "<blockquote>@<p>@</blockquote>",
        "<dl><dt>@<dd>@</dl>",
        "<select><option>@<option>@</select>",
        "<details><summary>@</summary>@</details>",
        "<div><div>@</div>@<div>@</div></div>",
        "<figure>@<figcaption>@</figcaption></figure>",
        "<table><tr><td><table><tr><td>@<td>@</table></table>",
        "<textarea>@</textarea>",
        "<svg><text>@</text></svg> @",
    ])
}

fn block(templates: &'static [&'static str]) -> impl Strategy<Value = (String, Vec<String>)> {
    (select(templates), vec("[a-z]{3,7}", 4)).prop_map(|(template, words)| {
        let mut text = String::new();
        let mut used = Vec::new();
        let mut words = words.into_iter();
        for (index, part) in template.split('@').enumerate() {
            if index > 0 {
                let word = format!("q{}q", words.next().unwrap_or_default());
                text.push_str(&word);
                used.push(word);
            }
            text.push_str(part);
        }
        (text, used)
    })
}

fn cases() -> Vec<(String, Vec<u8>)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut found = Vec::new();
    let mut folders = vec![root];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.file_name().unwrap().to_str().unwrap().to_owned();
                found.push((name, std::fs::read(path).unwrap()));
            }
        }
    }
    found.sort();
    found
}
