//! What it writes where, and how it ends.

use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tempfile::TempDir;

const MARKDOWN: &str = "---\nauthor: Ann\n---\n# Über\n\nSome *words*,\nin lines.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n";

/// An image of one pixel.
const GIF: &[u8] = b"GIF89a\x01\0\x01\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\0;";

struct Place(TempDir);

impl Place {
    fn with(files: &[(&str, &[u8])]) -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        for (name, bytes) in files {
            fs::write(place.0.path().join(name), bytes).unwrap();
        }
        place
    }

    /// Runs the command in the place, without any environment.
    fn extract(&self, arguments: &[&str], input: &[u8]) -> (Option<i32>, String, String) {
        let mut child = Command::new(env!("CARGO_BIN_EXE_dpe"))
            .env_clear()
            .current_dir(self.0.path())
            .arg("extract")
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // Whoever names other files reads nothing.
        let _ = child.stdin.take().unwrap().write_all(input);
        let output = child.wait_with_output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (
            output.status.code(),
            text(output.stdout),
            text(output.stderr),
        )
    }
}

fn lines(stdout: &str) -> Vec<Value> {
    let lines = stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn a_file_is_a_line_of_json_with_its_document() {
    let place = Place::with(&[("a.md", MARKDOWN.as_bytes())]);
    let (code, stdout, stderr) = place.extract(&["--json", "a.md"], b"");
    let table = &lines(&stdout)[0]["pages"][0]["elements"][2];
    assert!(
        table["text_as_html"]
            .as_str()
            .unwrap()
            .contains("<td>1</td>")
    );
    let expected = json!({
        "file": "a.md",
        "file_type": "md",
        "title": "Über",
        "doc_metadata": {"author": "Ann"},
        "pages": [{"title": null, "page_metadata": {}, "elements": [
            {"category": "Title", "text": "Über", "metadata": {"level": 1}},
            {"category": "NarrativeText", "text": "Some words,\nin lines.", "metadata": {}},
            {"category": "Table", "text": "a\tb\n1\t2", "text_as_html": table["text_as_html"], "metadata": {}},
        ]}],
        "notes": [],
    });
    assert_eq!(lines(&stdout), [expected]);
    assert_eq!((code, &*stderr), (Some(0), ""));
}

#[test]
fn a_picture_is_told_by_its_digest_and_size_and_a_wrong_name_is_noted() {
    let place = Place::with(&[("a.png", GIF)]);
    let (code, stdout, _) = place.extract(&["--json", "a.png"], b"");
    let line = &lines(&stdout)[0];
    let digest: String = Sha256::digest(GIF)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let element = &line["pages"][0]["elements"][0];
    assert_eq!(
        element["blob"],
        json!({"sha256": digest, "size": GIF.len()})
    );
    assert_eq!(element["mime_type"], "image/gif");
    assert_eq!(
        line["notes"],
        json!(["named as png, but its content is gif"])
    );
    assert_eq!(code, Some(0));
}

#[test]
fn people_see_a_tree_without_colours_in_a_pipe() {
    let place = Place::with(&[("a.md", MARKDOWN.as_bytes()), ("a.gif", GIF)]);
    let (code, stdout, stderr) = place.extract(&["a.md", "a.gif"], b"");
    let lines: Vec<&str> = stdout.lines().collect();
    assert_eq!(
        lines[..8],
        [
            "a.md  md, 1 page",
            "  title: Über",
            "  author: Ann",
            "    Title             Über",
            "                      level: 1",
            "    NarrativeText     Some words, ⏎ in lines.",
            "    Table             2 × 2",
            "                      a │ b",
        ]
    );
    let image = format!(
        "a.gif  gif, 1 page\n    Image             image/gif, {} B, sha256:",
        GIF.len()
    );
    assert!(stdout.contains(&image), "{stdout}");
    assert_eq!((code, &*stderr), (Some(0), ""));
}

#[test]
fn a_file_that_gives_no_document_is_named_and_the_others_are_printed() {
    let place = Place::with(&[
        ("a.md", b"# A"),
        ("a.bin", b"\0\x01\x02"),
        ("a.json", b"\0\x01"),
    ]);
    let files = ["a.bin", "a.json", "missing.md", ".", "a.md"];
    let (code, stdout, stderr) = place.extract(&files, b"");
    assert_eq!(code, Some(1));
    assert!(stdout.starts_with("a.md  md, 1 page\n"), "{stdout}");
    let beginnings = [
        "a.bin: unsupported_format: ",
        "a.json: damaged: ",
        "missing.md: unreadable: ",
        ".: unreadable: it is a folder; ",
    ];
    for (line, beginning) in stderr.lines().zip(beginnings) {
        assert!(line.starts_with(beginning), "{line}");
    }
    let (code, stdout, stderr) = place.extract(&[&["--json"], &files[..]].concat(), b"");
    let reasons: Vec<Value> = lines(&stdout)
        .iter()
        .map(|line| line["error"]["reason"].clone())
        .collect();
    let expected = ["unsupported_format", "damaged", "unreadable", "unreadable"];
    assert_eq!(reasons[..4], expected.map(Value::from));
    assert_eq!((code, reasons.len(), &*stderr), (Some(1), 5, ""));
}

#[test]
fn standard_input_has_the_name_it_is_given() {
    let place = Place::with(&[]);
    let of = |arguments: &[&str]| {
        let (code, stdout, _) = place.extract(arguments, b"a;b\n1;2\n");
        assert_eq!(code, Some(0));
        lines(&stdout)[0]["file_type"].clone()
    };
    assert_eq!(of(&["--json", "-"]), "txt");
    assert_eq!(of(&["--json", "--name", "a.csv", "-"]), "csv");
}

#[test]
fn standard_input_is_read_once() {
    let place = Place::with(&[]);
    let (code, stdout, stderr) = place.extract(&["--json", "-", "-"], b"a");
    let error = &lines(&stdout)[0]["error"];
    assert_eq!(code, Some(64));
    assert_eq!(error["code"], "dpe::extract::stdin");
    assert!(error["message"].as_str().unwrap().contains("named twice"));
    assert!(stderr.contains("named twice"), "{stderr}");
    let (code, stdout, stderr) = place.extract(&["-", "-"], b"a");
    assert_eq!((code, &*stdout), (Some(64), ""));
    assert!(stderr.contains("named twice"), "{stderr}");
}

#[test]
fn a_file_that_a_push_would_find_too_large_is_so_here() {
    let place = Place::with(&[("a.txt", b"")]);
    let file = std::fs::File::options()
        .write(true)
        .open(place.0.path().join("a.txt"));
    file.unwrap().set_len((128 << 20) + 1).unwrap();
    let (code, stdout, _) = place.extract(&["--json", "a.txt"], b"");
    assert_eq!(code, Some(1));
    assert_eq!(lines(&stdout)[0]["error"]["reason"], "too_large");
}

#[test]
fn no_file_is_a_wrong_command_line() {
    let place = Place::with(&[]);
    assert_eq!(place.extract(&[], b"").0, Some(64));
}

#[test]
fn a_text_shows_the_pictures_around_its_file_and_those_of_standard_input_none() {
    let text = b"![one](pictures%20of/a.gif)\n\n![two](../missing.gif)\n\n![three](fake.gif)\n";
    let place = Place::with(&[("fake.gif", b"words")]);
    let folder = place.0.path();
    fs::create_dir(folder.join("d")).unwrap();
    fs::create_dir(folder.join("d/pictures of")).unwrap();
    fs::write(folder.join("d/a.md"), text).unwrap();
    fs::write(folder.join("d/pictures of/a.gif"), GIF).unwrap();
    let digest: String = Sha256::digest(GIF)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let (code, stdout, _) = place.extract(&["--json", "d/a.md"], b"");
    assert_eq!(code, Some(0));
    let elements = lines(&stdout)[0]["pages"][0]["elements"].clone();
    let expected = json!([
        {
            "category": "Image", "text": "one", "mime_type": "image/gif", "metadata": {},
            "blob": {"sha256": digest, "size": GIF.len()},
        },
        {"category": "Image", "text": "two", "metadata": {"url": "../missing.gif"}},
        {"category": "Image", "text": "three", "metadata": {"url": "fake.gif"}},
    ]);
    assert_eq!(elements, expected);
    let (_, drawn, _) = place.extract(&["d/a.md"], b"");
    assert!(drawn.contains(&digest[..8]), "{drawn}");
    let (_, stdout, _) = place.extract(&["--json", "--name", "d/a.md", "-"], text);
    let first = lines(&stdout)[0]["pages"][0]["elements"][0].clone();
    assert_eq!(first["metadata"], json!({"url": "pictures%20of/a.gif"}));
}
