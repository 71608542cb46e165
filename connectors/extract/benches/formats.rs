//! Time and memory per megabyte, format by format, against those of plain text in the same run.
//!
//! `cargo bench -p dpe-extract --bench formats [-- FORMAT…]`
//!
//! Formats that can be written here are made some megabytes long; of the others a file of the tests is
//! read again and again, so that their memory says nothing. Of packages the size is that of the part with the
//! text, unpacked. Each format has a process of its own, whose greatest size is taken at the end.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    missing_docs,
    reason = "a measuring program, not part of the tool"
)]

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use dpe_extract::{Input, Limits, extract};

#[path = "../../../fuzz/src/parsers.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    reason = "a library elsewhere, of which not all is needed here"
)]
mod parsers;

use parsers::{DOCX, ODP, ODS, ODT, PPTX, Package, XLSX};

/// How long the made files are, about.
const BYTES: usize = 4 << 20;

/// So long each format is read, at least once.
const TIME: Duration = Duration::from_secs(1);

const WORDS: &str =
    "The heron stands in shallow water and waits, as herons do, for what the river brings along.";

/// A file to be read: its name, its bytes, and how many of them count.
struct Sample {
    name: &'static str,
    bytes: Vec<u8>,
    counted: usize,
}

/// What reading it came to.
struct Measured {
    /// Seconds for a megabyte.
    seconds: f64,
    /// Bytes of memory for a byte.
    memory: f64,
}

fn main() {
    let mut arguments = std::env::args()
        .skip(1)
        .filter(|argument| argument != "--bench");
    let first = arguments.next();
    if first.as_deref() == Some("--one") {
        one(&arguments.next().unwrap());
        return;
    }
    let chosen: Vec<String> = first.into_iter().chain(arguments).collect();
    let plain = measured("txt");
    println!(
        "{:<10} {:>10} {:>10} {:>12} {:>10}",
        "format", "ms/MB", "x txt", "memory/size", "x txt"
    );
    for format in FORMATS {
        if chosen.is_empty() || chosen.iter().any(|name| name == format) {
            let found = measured(format);
            println!(
                "{format:<10} {:>10.2} {:>10.1} {:>12.1} {:>10.1}",
                1000.0 * found.seconds,
                found.seconds / plain.seconds,
                found.memory,
                found.memory / plain.memory,
            );
        }
    }
}

const FORMATS: &[&str] = &[
    "txt", "md", "html", "rst", "adoc", "org", "csv", "tsv", "json", "ndjson", "yaml", "toml",
    "xml", "source", "ipynb", "eml", "mbox", "msg", "rtf", "svg", "docx", "pptx", "xlsx", "xlsb",
    "odt", "odp", "ods", "epub", "zip", "pdf", "doc", "xls", "ppt", "png", "jpg", "gif", "bmp",
    "tiff", "webp", "heic",
];

/// Reads one format in a process of its own.
fn measured(format: &str) -> Measured {
    let this = std::env::current_exe().unwrap();
    let output = Command::new(this).args(["--one", format]).output().unwrap();
    assert!(output.status.success(), "{format}: {output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let mut numbers = text
        .split_whitespace()
        .map(|number| number.parse().unwrap());
    Measured {
        seconds: numbers.next().unwrap(),
        memory: numbers.next().unwrap(),
    }
}

/// In the child: reads a format again and again and prints what that took.
fn one(format: &str) {
    let sample = sample(format);
    let before = peak();
    let (start, mut rounds) = (Instant::now(), 0u32);
    while rounds == 0 || start.elapsed() < TIME {
        let input = Input {
            name: sample.name.as_bytes(),
            bytes: &sample.bytes,
        };
        let extraction = extract(&input, &Limits::default()).unwrap();
        assert!(!extraction.pages.is_empty(), "{format} gives no page");
        rounds += 1;
    }
    let megabytes = sample.counted as f64 / 1e6;
    let seconds = start.elapsed().as_secs_f64() / f64::from(rounds) / megabytes;
    println!(
        "{seconds} {}",
        (peak() - before) as f64 / sample.counted as f64
    );
}

/// The greatest size of this process so far, in bytes; zero where the system does not tell.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or_default() * 1024
}

fn sample(format: &str) -> Sample {
    match format {
        "txt" => made("a.txt", "", &format!("{WORDS}\n{WORDS}\n\n"), ""),
        "md" => made(
            "a.md",
            "",
            &format!(
                "## Heading\n\n{WORDS} [a](http://a/)\n\n* item\n* *item*\n\n|a|b|\n|-|-|\n|1|2|\n\n"
            ),
            "",
        ),
        "html" => made(
            "a.html",
            "<html><body>",
            &format!(
                "<h2>Heading</h2><p>{WORDS} <a href='b'>c</a></p><ul><li>item</li></ul><table><tr><td>1</td><td>2</td></tr></table>\n"
            ),
            "</body></html>",
        ),
        "rst" => made(
            "a.rst",
            "",
            &format!("Heading\n=======\n\n{WORDS}\n{WORDS}\n\n* item\n* item\n\n"),
            "",
        ),
        "adoc" => made(
            "a.adoc",
            "",
            &format!("== Heading\n\n{WORDS}\n{WORDS}\n\n* item\n* item\n\n"),
            "",
        ),
        "org" => made(
            "a.org",
            "",
            &format!("* Heading\n\n{WORDS}\n{WORDS}\n\n- item\n- item\n\n"),
            "",
        ),
        "csv" => made(
            "a.csv",
            "a,b,c,d\n",
            "1,heron,\"grey, large\",2024-01-02\n",
            "",
        ),
        "tsv" => made(
            "a.tsv",
            "a\tb\tc\td\n",
            "1\theron\tgrey, large\t2024-01-02\n",
            "",
        ),
        "json" => made(
            "a.json",
            "[",
            "{\"name\": \"heron\", \"size\": 1.02},\n",
            "0]",
        ),
        "ndjson" => made(
            "a.ndjson",
            "",
            "{\"name\": \"heron\", \"size\": 1.02}\n",
            "",
        ),
        "yaml" => made("a.yaml", "", "- name: heron\n  size: 1.02\n", ""),
        "toml" => made(
            "a.toml",
            "",
            "[[heron]]\nname = \"grey\"\nsize = 1.02\n",
            "",
        ),
        "xml" => made("a.xml", "<a>", "<heron size='1.02'>grey</heron>\n", "</a>"),
        "source" => made(
            "a.rs",
            "",
            "/// Waits.\nfn wait(heron: &Heron) -> Fish {\n    heron.stand();\n    heron.catch()\n}\n\n",
            "",
        ),
        "ipynb" => made(
            "a.ipynb",
            "{\"nbformat\":4,\"nbformat_minor\":5,\"metadata\":{},\"cells\":[",
            &format!("{{\"cell_type\":\"markdown\",\"metadata\":{{}},\"source\":[\"{WORDS}\"]}},"),
            "{\"cell_type\":\"raw\",\"metadata\":{},\"source\":[]}]}",
        ),
        "eml" => made(
            "a.eml",
            "From: a@b.c\nSubject: Heron\n\n",
            &format!("{WORDS}\n\n"),
            "",
        ),
        "mbox" => made(
            "a.mbox",
            "",
            &format!(
                "From a@b.c Mon Jan  1 00:00:00 2001\nFrom: a@b.c\nSubject: Heron\n\n{WORDS}\n\n"
            ),
            "",
        ),
        "msg" => case("mail/outlook.msg"),
        "rtf" => made(
            "a.rtf",
            "{\\rtf1\\ansi ",
            &format!("\\pard {WORDS} \\b bold\\b0\\par\n"),
            "}",
        ),
        "svg" => made(
            "a.svg",
            "<svg xmlns='http://www.w3.org/2000/svg'>",
            &format!("<g><path d='M0 0L1 1'/><text>{WORDS}</text></g>\n"),
            "</svg>",
        ),
        "docx" => packed(
            &DOCX,
            "<w:document xmlns:w='w'><w:body>",
            &format!("<w:p><w:r><w:t>{WORDS}</w:t></w:r></w:p>"),
            "</w:body></w:document>",
        ),
        "pptx" => packed(
            &PPTX,
            "<p:sld xmlns:p='p' xmlns:a='a'><p:cSld><p:spTree>",
            &format!("<p:sp><p:txBody><a:p><a:r><a:t>{WORDS}</a:t></a:r></a:p></p:txBody></p:sp>"),
            "</p:spTree></p:cSld></p:sld>",
        ),
        "xlsx" => packed(
            &XLSX,
            "<worksheet><sheetData>",
            "<row><c t='inlineStr'><is><t>heron</t></is></c><c><v>1.5</v></c></row>",
            "</sheetData></worksheet>",
        ),
        "odt" => open(&ODT, "text", &format!("<t:p>{WORDS}</t:p>")),
        "odp" => open(
            &ODP,
            "presentation",
            &format!(
                "<d:page><d:frame><d:text-box><t:p>{WORDS}</t:p></d:text-box></d:frame></d:page>"
            ),
        ),
        "ods" => {
            let cell = "<c:table-cell><t:p>heron</t:p></c:table-cell>";
            let row = format!("<c:table-row>{}</c:table-row>", cell.repeat(4));
            open(
                &ODS,
                "spreadsheet",
                &format!("<c:table>{}</c:table>", row.repeat(10_000)),
            )
        }
        "zip" => case("zip/folder.zip"),
        "pdf" => pdf(),
        "epub" => case("epub/pandoc.epub"),
        "doc" => case("doc/libreoffice.doc"),
        "xls" => case("sheets/libreoffice.xls"),
        "xlsb" => case("sheets/sheetjs.xlsb"),
        "ppt" => case("ppt/libreoffice.ppt"),
        "png" => case("image/small.png"),
        "jpg" => case("image/described.jpg"),
        "gif" => case("image/small.gif"),
        "bmp" => case("image/small.bmp"),
        "tiff" => case("image/small.tiff"),
        "webp" => case("image/small.webp"),
        "heic" => case("image/small.heic"),
        _ => panic!("no format {format}"),
    }
}

fn repeated(start: &str, piece: &str, end: &str) -> String {
    let pieces = piece.repeat(BYTES.div_ceil(piece.len()));
    format!("{start}{pieces}{end}")
}

fn made(name: &'static str, start: &str, piece: &str, end: &str) -> Sample {
    let bytes = repeated(start, piece, end).into_bytes();
    let counted = bytes.len();
    Sample {
        name,
        bytes,
        counted,
    }
}

fn packed(package: &Package, start: &str, piece: &str, end: &str) -> Sample {
    let part = repeated(start, piece, end);
    Sample {
        name: "a.zip",
        bytes: package.bytes(part.as_bytes()),
        counted: part.len(),
    }
}

fn open(package: &Package, body: &str, piece: &str) -> Sample {
    let start = format!(
        "<o:document-content xmlns:o='o' xmlns:t='t' xmlns:c='c' xmlns:d='d'><o:body><o:{body}>"
    );
    let end = format!("</o:{body}></o:body></o:document-content>");
    packed(package, &start, piece, &end)
}

fn case(path: &'static str) -> Sample {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let bytes = fs::read(root.join(path)).unwrap();
    let name = path.rsplit('/').next().unwrap();
    let counted = bytes.len();
    Sample {
        name,
        bytes,
        counted,
    }
}

/// A book of pages of 40 lines.
fn pdf() -> Sample {
    const PAGES: usize = BYTES / (40 * 110);
    let mut bytes = b"%PDF-1.4\n".to_vec();
    let mut offsets = Vec::new();
    let mut object = |bytes: &mut Vec<u8>, body: String| {
        offsets.push(bytes.len());
        bytes.extend(format!("{} 0 obj\n{body}\nendobj\n", offsets.len()).bytes());
    };
    object(&mut bytes, "<</Type/Catalog/Pages 2 0 R>>".to_owned());
    let kids: String = (0..PAGES)
        .map(|page| format!("{} 0 R ", 4 + 2 * page))
        .collect();
    object(
        &mut bytes,
        format!("<</Type/Pages/Count {PAGES}/Kids[{kids}]>>"),
    );
    object(
        &mut bytes,
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>".to_owned(),
    );
    for page in 0..PAGES {
        let content = 5 + 2 * page;
        object(
            &mut bytes,
            format!(
                "<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Resources<</Font<</F 3 0 R>>>>/Contents {content} 0 R>>"
            ),
        );
        let lines = format!("({WORDS}) Tj T*\n").repeat(40);
        let stream = format!("BT /F 10 Tf 15 TL 50 700 Td\n{lines}ET");
        object(
            &mut bytes,
            format!("<</Length {}>>stream\n{stream}\nendstream", stream.len()),
        );
    }
    let start = bytes.len();
    let count = offsets.len() + 1;
    bytes.extend(format!("xref\n0 {count}\n0000000000 65535 f \n").bytes());
    bytes.extend(
        offsets
            .iter()
            .flat_map(|offset| format!("{offset:010} 00000 n \n").into_bytes()),
    );
    bytes.extend(
        format!("trailer\n<</Size {count}/Root 1 0 R>>\nstartxref\n{start}\n%%EOF\n").bytes(),
    );
    let counted = bytes.len();
    Sample {
        name: "a.pdf",
        bytes,
        counted,
    }
}
