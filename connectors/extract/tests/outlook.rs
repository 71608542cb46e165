//! Messages of Outlook, built here as the format has them (MS-OXMSG): a compound file of properties.

#![cfg(feature = "mail")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::io::{Cursor, Write};

use cfb::CompoundFile;
use dpe_extract::{Extraction, Input, Limits, extract};
use serde_json::json;

const UNICODE: u16 = 0x001F;
const STRING8: u16 = 0x001E;
const BINARY: u16 = 0x0102;
const INTEGER: u16 = 0x0003;
const TIME: u16 = 0x0040;

type File = CompoundFile<Cursor<Vec<u8>>>;

/// Writes a storage: its streams, and its values of fixed length behind a header of so many bytes.
fn storage(
    file: &mut File,
    base: &str,
    header: usize,
    fixed: &[(u16, u16, u64)],
    streams: &[(u16, u16, &[u8])],
) {
    if !base.is_empty() {
        file.create_storage(base).unwrap();
    }
    let mut properties = vec![0; header];
    for (id, kind, value) in fixed {
        properties.extend(kind.to_le_bytes());
        properties.extend(id.to_le_bytes());
        properties.extend([6, 0, 0, 0]);
        properties.extend(value.to_le_bytes());
    }
    write(
        file,
        &format!("{base}/__properties_version1.0"),
        &properties,
    );
    for (id, kind, bytes) in streams {
        write(
            file,
            &format!("{base}/__substg1.0_{id:04X}{kind:04X}"),
            bytes,
        );
    }
}

fn write(file: &mut File, path: &str, bytes: &[u8]) {
    file.create_stream(path).unwrap().write_all(bytes).unwrap();
}

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

fn new() -> File {
    CompoundFile::create(Cursor::new(Vec::new())).unwrap()
}

fn read(file: File) -> (Vec<u8>, Extraction) {
    let bytes = file.into_inner().into_inner();
    let input = Input {
        name: b"a.msg",
        bytes: &bytes,
    };
    let extraction = extract(&input, &Limits::default()).unwrap();
    (bytes, extraction)
}

/// A message with a page, a picture, a file, and a message of an old code page within.
fn whole() -> File {
    let mut file = new();
    let page = "<h1>Hello</h1><p>Gr\u{FC}\u{DF}e <img src='cid:dot'></p>".as_bytes();
    storage(
        &mut file,
        "",
        32,
        // 2024-02-04T10:30:00Z, UTF-8.
        &[
            (0x0039, TIME, 133_515_162_000_000_000),
            (0x3FDE, INTEGER, 65001),
        ],
        &[
            (0x0037, UNICODE, &utf16("A subject")),
            (0x0C1A, UNICODE, &utf16("Ann")),
            (0x5D01, UNICODE, &utf16("ann@example.com")),
            (0x1000, UNICODE, &utf16("Hello\r\n\r\nGr\u{FC}\u{DF}e\r\n")),
            (0x1013, BINARY, page),
        ],
    );
    for (number, kind, name) in [(0, 1, "Bob"), (1, 2, "Carol")] {
        let address = format!("{}@example.com", name.to_lowercase());
        storage(
            &mut file,
            &format!("/__recip_version1.0_#{number:08X}"),
            8,
            &[(0x0C15, INTEGER, kind)],
            &[
                (0x3001, UNICODE, &utf16(name)),
                (0x39FE, UNICODE, &utf16(&address)),
            ],
        );
    }
    storage(
        &mut file,
        "/__attach_version1.0_#00000000",
        8,
        &[],
        &[
            (0x3712, UNICODE, &utf16("dot")),
            (0x370E, UNICODE, &utf16("image/gif")),
            (0x3701, BINARY, b"GIF89a"),
        ],
    );
    storage(
        &mut file,
        "/__attach_version1.0_#00000001",
        8,
        &[],
        &[
            (0x3707, UNICODE, &utf16("table.csv")),
            (0x3701, BINARY, b"a,b\n1,2\n"),
        ],
    );
    storage(&mut file, "/__attach_version1.0_#00000002", 8, &[], &[]);
    storage(
        &mut file,
        "/__attach_version1.0_#00000002/__substg1.0_3701000D",
        24,
        &[(0x3FFD, INTEGER, 1251)],
        &[
            (0x0037, STRING8, b"\xD2\xE5\xEC\xE0"),
            (0x1000, STRING8, b"\xCF\xF0\xE8\xE2\xE5\xF2"),
        ],
    );
    file
}

#[test]
fn message_is_read_with_all_that_is_in_it() {
    let (_, extraction) = read(whole());
    let head = serde_json::to_value(&extraction.head).unwrap();
    let expected = json!({
        "file_type": "msg",
        "title": "A subject",
        "doc_metadata": {
            "from": ["Ann <ann@example.com>"],
            "to": ["Bob <bob@example.com>"],
            "cc": ["Carol <carol@example.com>"],
            "date": "2024-02-04T10:30:00Z",
            "attachments": ["table.csv"],
        },
    });
    assert_eq!(head, expected);
    let address = |field: &str, text: &str| json!({"category": "EmailAddress", "text": text, "metadata": {"field": field}});
    let expected = json!([
        {"elements": [
            address("from", "Ann <ann@example.com>"),
            address("to", "Bob <bob@example.com>"),
            address("cc", "Carol <carol@example.com>"),
            {"category": "Title", "text": "Hello", "metadata": {"level": 1}},
            {"category": "NarrativeText", "text": "Gr\u{FC}\u{DF}e"},
            {"category": "Image", "mime_type": "image/gif", "blob": {"handle": "0", "size": 6}},
        ]},
        {"title": "table.csv", "page_metadata": {"attachment": "table.csv", "file_type": "csv"}, "elements": [
            {"category": "Table", "text": "a\tb\n1\t2",
             "text_as_html": "<table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>1</td><td>2</td></tr></tbody></table>"},
        ]},
        {"title": "\u{422}\u{435}\u{43C}\u{430}", "elements": [
            {"category": "NarrativeText", "text": "\u{41F}\u{440}\u{438}\u{432}\u{435}\u{442}"},
        ]},
    ]);
    assert_eq!(serde_json::to_value(&extraction.pages).unwrap(), expected);
    assert_eq!(extraction.blobs, [b"GIF89a"]);
}

#[test]
fn page_inside_formatted_text_is_read() {
    let rtf = br"{\rtf1\ansi\ansicpg1252\fromhtml1 {\*\htmltag64 <p>}\htmlrtf \b\htmlrtf0 Words \'e4{\*\htmltag72 </p>}}";
    let size = u32::try_from(rtf.len()).unwrap();
    let mut packed = Vec::new();
    packed.extend((size + 12).to_le_bytes());
    packed.extend(size.to_le_bytes());
    packed.extend(b"MELA\0\0\0\0");
    packed.extend(rtf);
    let mut file = new();
    storage(&mut file, "", 32, &[], &[(0x1009, BINARY, &packed)]);
    let (_, extraction) = read(file);
    let pages = serde_json::to_value(&extraction.pages).unwrap();
    let expected = json!([{"elements": [{"category": "NarrativeText", "text": "Words \u{E4}"}]}]);
    assert_eq!(pages, expected);
}

#[test]
fn cut_and_changed_messages_give_a_document_or_a_reason() {
    let (bytes, _) = read(whole());
    let try_it = |bytes: &[u8]| {
        let input = Input {
            name: b"a.msg",
            bytes,
        };
        let first = extract(&input, &Limits::default());
        assert_eq!(first, extract(&input, &Limits::default()));
    };
    for part in 0..16 {
        try_it(&bytes[..bytes.len() * part / 16]);
    }
    // One byte in each run of 61 is changed, a run after the other.
    for start in 0..61 {
        let mut changed = bytes.clone();
        for at in (start..changed.len()).step_by(61 * 61) {
            changed[at] ^= 0xFF;
        }
        try_it(&changed);
    }
}
