//! Random texts that are objects of the contract, nearly so, or not at all.
//!
//! Texts are made as text, not through a JSON library: spelling, member order, duplicates and
//! broken syntax are part of what is compared. Several things may be wrong with one object, so
//! that the order of judgement matters.

use std::fmt::Write;

/// SplitMix64: small, fast, and the same everywhere for a seed.
pub(super) struct Generator {
    state: u64,
}

const CATEGORIES: [&str; 8] = [
    "Title",
    "NarrativeText",
    "Table",
    "Formula",
    "Image",
    "tfchat",
    "PageBreak",
    "Header",
];
const HEX: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
const NUMBERS: [&str; 34] = [
    "0",
    "-0",
    "1",
    "-17",
    "9007199254740991",
    "-9007199254740991",
    "9007199254740992",
    "-9007199254740992",
    "123456789012345678901234567890",
    "0.0",
    "-0.0",
    "1.0",
    "4.50",
    "1e0",
    "1E5",
    "1e+5",
    "2e-3",
    "1e21",
    "1e20",
    "1e-7",
    "0.000001",
    "1e400",
    "-1E400",
    "1e-400",
    "5e-324",
    "1.7976931348623157e308",
    "1.7976931348623159e308",
    "1059438285926254.25",
    "9007199254740993.0",
    "123456789012345680000.0",
    "999999999999999950000.0",
    "0.1",
    "333333333.33333329",
    "0.00000099999999999999995",
];
const CHARACTERS: [char; 24] = [
    'a',
    'b',
    'Z',
    '0',
    ' ',
    '/',
    '~',
    '"',
    '\\',
    '\n',
    '\t',
    '\u{0}',
    '\u{8}',
    '\u{c}',
    '\u{1f}',
    '\u{7f}',
    '\u{80}',
    'é',
    '€',
    '\u{2028}',
    '\u{fb33}',
    '\u{ffff}',
    '😀',
    '\u{10ffff}',
];

impl Generator {
    pub(super) fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    pub(super) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub(super) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    /// True once in `n`.
    fn rarely(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn pick<'c>(&mut self, choices: &[&'c str]) -> &'c str {
        choices[self.below(choices.len())]
    }

    pub(super) fn element(&mut self) -> String {
        self.element_of(&["text", "text_as_html", "blob", "mime_type"])
    }

    /// An element that has only fields of these names.
    fn element_of(&mut self, fields: &[&str]) -> String {
        let mut members = Vec::new();
        let category = self.pick(&CATEGORIES);
        let spelled = match self.below(40) {
            0 => None,
            1 => Some("null".to_owned()),
            2 => Some(self.value(1)),
            3 => Some(self.string("Foo")),
            4 => Some("\"title\"".to_owned()),
            _ => Some(self.string(category)),
        };
        members.extend(spelled.map(|value| ("category".to_owned(), value)));
        let allowed: &[&str] = match category {
            "Image" => &["text", "blob", "mime_type"],
            "Table" | "Formula" => &["text", "text_as_html"],
            _ => &["text"],
        };
        for &field in fields {
            let wanted = if allowed.contains(&field) { 2 } else { 25 };
            if self.rarely(wanted) {
                let value = match field {
                    "blob" => self.blob_reference(),
                    _ => self.optional_text(),
                };
                members.push((field.to_owned(), value));
            }
        }
        self.metadata("metadata", &mut members);
        self.object(members)
    }

    pub(super) fn page(&mut self) -> String {
        let list = self.hash_list("dpe1");
        self.page_around(list)
    }

    pub(super) fn document(&mut self) -> String {
        let list = self.hash_list("dpe1");
        self.document_around(list)
    }

    pub(super) fn expanded(&mut self) -> String {
        let pages = (0..self.below(4))
            .map(|_| {
                let elements = (0..self.below(4)).map(|_| self.element()).collect();
                let list = self.array(elements);
                self.page_around(list)
            })
            .collect();
        let list = self.array(pages);
        self.document_around(list)
    }

    /// An expanded document in which little is wrong and nothing references a blob.
    pub(super) fn deliverable(&mut self) -> String {
        let mut pages = Vec::new();
        for _ in 0..self.below(4) {
            let elements = (0..self.below(4))
                .map(|_| self.element_of(&["text", "text_as_html"]))
                .collect();
            let list = self.array(elements);
            let title = self.text();
            pages.push(format!("{{\"elements\":{list},\"title\":{title}}}"));
        }
        let list = self.array(pages);
        format!("{{\"pages\":{list},\"file_type\":\"md\"}}")
    }

    /// A page without its elements, mostly.
    pub(super) fn page_fields(&mut self) -> String {
        let members = self.page_members();
        self.object(members)
    }

    /// A document without its pages, mostly.
    pub(super) fn document_fields(&mut self) -> String {
        let members = self.document_members();
        self.object(members)
    }

    fn page_around(&mut self, list: String) -> String {
        let mut members = self.page_members();
        let list = self.mandatory(list);
        members.extend(list.map(|value| ("elements".to_owned(), value)));
        self.object(members)
    }

    fn document_around(&mut self, list: String) -> String {
        let mut members = self.document_members();
        let list = self.mandatory(list);
        members.extend(list.map(|value| ("pages".to_owned(), value)));
        self.object(members)
    }

    fn page_members(&mut self) -> Vec<(String, String)> {
        let mut members = Vec::new();
        if self.rarely(2) {
            members.push(("title".to_owned(), self.optional_text()));
        }
        self.metadata("page_metadata", &mut members);
        members
    }

    fn document_members(&mut self) -> Vec<(String, String)> {
        let mut members = Vec::new();
        let file_type = self.file_type();
        let file_type = self.string(&file_type);
        let file_type = self.mandatory(file_type);
        members.extend(file_type.map(|value| ("file_type".to_owned(), value)));
        if self.rarely(2) {
            members.push(("title".to_owned(), self.optional_text()));
        }
        self.metadata("doc_metadata", &mut members);
        members
    }

    /// Mostly the value, sometimes null, nothing or something else.
    fn mandatory(&mut self, value: String) -> Option<String> {
        match self.below(30) {
            0 => None,
            1 => Some("null".to_owned()),
            2 => Some(self.value(2)),
            _ => Some(value),
        }
    }

    fn hash_list(&mut self, contract: &str) -> String {
        let items = (0..self.below(4))
            .map(|_| {
                let hash = self.hash(contract);
                match self.below(20) {
                    0 => self.value(1),
                    _ => self.string(&hash),
                }
            })
            .collect();
        self.array(items)
    }

    /// A hash value, mostly right.
    pub(super) fn hash(&mut self, contract: &str) -> String {
        let prefix = match self.below(12) {
            0 => self.pick(&["dpex", "dpe2", "DPE1", "sha256", "", "dpe9"]),
            1 => "dpex",
            _ => contract,
        };
        match self.below(12) {
            0 => HEX.to_owned(),
            1 => format!("{prefix}:zz"),
            2 => format!("{prefix}:{}", HEX.to_uppercase()),
            3 => format!("{prefix}:{HEX}\n"),
            4 => format!("{prefix}:{}", &HEX[1..]),
            _ => format!("{prefix}:{HEX}"),
        }
    }

    fn blob_reference(&mut self) -> String {
        match self.below(10) {
            0 => self.value(1),
            1 => "null".to_owned(),
            2 => {
                let hash = self.hash("sha256");
                self.string(&hash)
            }
            _ => self.string(&format!("sha256:{HEX}")),
        }
    }

    pub(super) fn file_type(&mut self) -> String {
        let plain = self.pick(&["md", "pdf", "git_repo", "7z", "0", "empty"]);
        match self.below(12) {
            0 => self
                .pick(&["", "MD", "_a", "git-repo", "a.b", "é", "md\n"])
                .to_owned(),
            1 => "a".repeat(31 + self.below(3)),
            _ => plain.to_owned(),
        }
    }

    /// A URI, mostly valid, with what the normalisation cares about.
    pub(super) fn uri(&mut self) -> String {
        let mut uri = self
            .pick(&["http", "HTTP", "s3", "urn", "a+B-c.9", "", "1a", "é"])
            .to_owned();
        uri.push_str(self.pick(&[":", "://", ":///", ":/", "", "://u@", "://["]));
        for _ in 0..self.below(12) {
            uri.push_str(self.pick(&[
                "A", "b", "%41", "%7e", "%7E", "%2f", "%2F", "%c3", "%40", "%3a", "@", ":", "/",
                "?", "#", "[", "]", ".", "..", "-", "%25", "%5B",
            ]));
        }
        if self.rarely(8) {
            uri.push_str(self.pick(&[
                "%", "%4", "%zz", " ", "é", "\\", "|", "\n", "\u{7f}", "%%41",
            ]));
        }
        uri
    }

    /// A remote URL, often valid.
    pub(super) fn remote_url(&mut self) -> String {
        let scheme = match self.below(12) {
            0 => self.pick(&["ftp://", "http:", "HTTP://", "http://u@"]),
            1..6 => "http://",
            _ => "https://",
        };
        let host = match self.below(3) {
            0 => format!("[{}]", self.ipv6()),
            1 => self.host(&["a", "ex_a", "!", "1", "A", ""]),
            _ => self.host(&["1", "127", "0", "255", "01", "256", "0x", "0x7f"]),
        };
        let mut url = format!("{scheme}{host}");
        if self.rarely(4) {
            url.push_str(self.pick(&[":80", ":443", ":1", ":0", ":65535", ":65536", ":", ":080"]));
        }
        for _ in 0..self.below(3) {
            url.push_str(self.pick(&["/r", "/1", "/~", "/%2F", "/a:b@c", "//a"]));
        }
        if self.rarely(6) {
            url.push_str(self.pick(&["/.", "/..", "/%2f", "/", "/[", "?q", "#"]));
        }
        url
    }

    /// Labels with a point between them; the first ones of the choices are the likely ones.
    fn host(&mut self, labels: &[&str]) -> String {
        let labels: Vec<&str> = (0..4)
            .map(|_| {
                let most = if self.rarely(8) { labels.len() } else { 4 };
                labels[self.below(most)]
            })
            .collect();
        let shortest = if self.rarely(4) { 1 } else { 4 };
        labels[..shortest].join(".")
    }

    fn ipv6(&mut self) -> String {
        let groups = ["0", "0", "0", "1", "ffff", "db8", "00", "A"];
        let choices = if self.rarely(3) { 8 } else { 6 };
        let mut address = String::new();
        for position in 0..8 - self.below(5) {
            if position > 0 {
                address.push_str(if self.rarely(5) { "::" } else { ":" });
            }
            address.push_str(groups[self.below(choices)]);
        }
        match self.below(6) {
            0 => format!("::{address}"),
            1 => format!("{address}::"),
            2 => address
                .parse::<std::net::Ipv6Addr>()
                .map_or(address, |valid| valid.to_string()),
            _ => address,
        }
    }

    fn metadata(&mut self, name: &str, members: &mut Vec<(String, String)>) {
        let value = match self.below(24) {
            0..8 => return,
            8 => "null".to_owned(),
            9 => self.value(2),
            10 => {
                let depth = 55 + self.below(16);
                self.nested(depth)
            }
            _ => self.value_object(3),
        };
        members.push((name.to_owned(), value));
    }

    /// Containers of both kinds, one in the other.
    fn nested(&mut self, depth: usize) -> String {
        let mut text = self
            .pick(&["{}", "[]", "null", "1e400", "\"x\""])
            .to_owned();
        for level in (0..depth).rev() {
            text = if level == 0 || self.rarely(2) {
                format!("{{\"k\":{text}}}")
            } else {
                format!("[0,{text}]")
            };
        }
        text
    }

    /// Any JSON value of limited depth.
    pub(super) fn value(&mut self, depth: usize) -> String {
        match self.below(if depth == 0 { 7 } else { 10 }) {
            0 => "null".to_owned(),
            1 => self.pick(&["true", "false"]).to_owned(),
            2 | 3 => self.number(),
            4..=6 => self.text(),
            7 => {
                let items = (0..self.below(4)).map(|_| self.value(depth - 1)).collect();
                self.array(items)
            }
            _ => self.value_object(depth),
        }
    }

    fn value_object(&mut self, depth: usize) -> String {
        let count = if self.rarely(50) { 40 } else { self.below(5) };
        let mut members: Vec<(String, String)> = Vec::new();
        for position in 0..count {
            let name = match self.below(12) {
                0 => "$serde_json::private::Number".to_owned(),
                1 => "elements".to_owned(),
                _ => self.characters(3),
            };
            let taken = members.iter().any(|(other, _)| *other == name);
            let name = if taken {
                format!("{name}{position}")
            } else {
                name
            };
            members.push((name, self.value(depth.saturating_sub(1))));
        }
        self.members_text(members)
    }

    fn number(&mut self) -> String {
        match self.below(4) {
            0 => (self.next() as i64 >> self.below(63)).to_string(),
            1 => {
                let value = f64::from_bits(self.next());
                let value = if value.is_finite() { value } else { 0.5 };
                format!("{value:e}")
            }
            _ => {
                // Overflow is rarer than its place in the list: it would drown everything else.
                let at = self.below(NUMBERS.len());
                let literal = NUMBERS[at];
                let drowned = matches!(at, 6..=8 | 21 | 22 | 26) && !self.rarely(8);
                if drowned { "7" } else { literal }.to_owned()
            }
        }
    }

    fn optional_text(&mut self) -> String {
        match self.below(16) {
            0 => self.value(1),
            1 => "null".to_owned(),
            _ => self.text(),
        }
    }

    fn text(&mut self) -> String {
        let length = if self.rarely(40) { 3000 } else { 12 };
        let value = self.characters(length);
        self.string(&value)
    }

    fn characters(&mut self, most: usize) -> String {
        let length = self.below(most + 1);
        let plain = self.rarely(2);
        (0..length)
            .map(|_| CHARACTERS[self.below(if plain { 5 } else { CHARACTERS.len() })])
            .collect()
    }

    /// Spells a string, with more escapes than needed now and then.
    fn string(&mut self, value: &str) -> String {
        let eager = self.rarely(4);
        let mut text = String::from("\"");
        for character in value.chars() {
            let needed = matches!(character, '"' | '\\' | '\0'..='\u{1f}');
            if needed || (eager && self.rarely(3)) {
                self.push_escape(character, &mut text);
            } else {
                text.push(character);
            }
        }
        text.push('"');
        text
    }

    fn push_escape(&mut self, character: char, text: &mut String) {
        let short = match character {
            '"' | '\\' | '/' => Some(character),
            '\u{8}' => Some('b'),
            '\t' => Some('t'),
            '\n' => Some('n'),
            '\u{c}' => Some('f'),
            '\r' => Some('r'),
            _ => None,
        };
        if let Some(short) = short.filter(|_| !self.rarely(4)) {
            text.push('\\');
            text.push(short);
            return;
        }
        let mut units = [0; 2];
        for unit in character.encode_utf16(&mut units) {
            if self.rarely(2) {
                write!(text, "\\u{unit:04x}").unwrap();
            } else {
                write!(text, "\\u{unit:04X}").unwrap();
            }
        }
    }

    /// An object of the contract: in any order, sometimes with members it must not have.
    fn object(&mut self, mut members: Vec<(String, String)>) -> String {
        if self.rarely(60) {
            return self.value(2);
        }
        while self.rarely(12) {
            let name = match self.below(3) {
                0 => self.characters(3),
                _ => self
                    .pick(&[
                        "number",
                        "id",
                        "file_uri",
                        "elements",
                        "pages",
                        "z\u{fb33}",
                        "z😀",
                    ])
                    .to_owned(),
            };
            if members.iter().all(|(other, _)| *other != name) {
                let value = self.value(2);
                members.push((name, value));
            }
        }
        for last in (1..members.len()).rev() {
            let other = self.below(last + 1);
            members.swap(last, other);
        }
        self.members_text(members)
    }

    fn members_text(&mut self, members: Vec<(String, String)>) -> String {
        let mut text = String::from("{");
        for (position, (name, value)) in members.iter().enumerate() {
            if position > 0 {
                text.push(',');
            }
            self.push_space(&mut text);
            text.push_str(&self.string(name));
            self.push_space(&mut text);
            text.push(':');
            self.push_space(&mut text);
            text.push_str(value);
        }
        if self.rarely(300) && !members.is_empty() {
            let (name, value) = &members[self.below(members.len())];
            let name = self.string(name);
            write!(text, ",{name}:{value}").unwrap();
        }
        self.push_space(&mut text);
        text.push('}');
        text
    }

    fn array(&mut self, items: Vec<String>) -> String {
        let mut text = String::from("[");
        text.push_str(&items.join(", "));
        self.push_space(&mut text);
        text.push(']');
        text
    }

    fn push_space(&mut self, text: &mut String) {
        if self.rarely(6) {
            text.push_str(self.pick(&[" ", "\t", "\n", "\r\n", "  "]));
        }
    }

    /// Damages a text at a few places.
    pub(super) fn mutate(&mut self, text: &mut Vec<u8>) {
        for _ in 0..=self.below(2) {
            if text.is_empty() {
                return;
            }
            let at = self.below(text.len());
            match self.below(8) {
                0 => text[at] ^= 1 << self.below(8),
                1 => text[at] = b"{}[]\",:0e.-\\u \n"[self.below(15)],
                2 => drop(text.remove(at)),
                3 => text.insert(at, b"{}[]\",:0e.-\\u\t\x01\xff"[self.below(16)]),
                4 => text.truncate(at),
                5 => self.insert_fragment(text, at),
                6 => {
                    let end = (at + self.below(20)).min(text.len());
                    let copy = text[at..end].to_vec();
                    text.splice(at..at, copy);
                }
                _ => {
                    let number = self.number();
                    text.splice(at..at, number.into_bytes());
                }
            }
        }
    }

    fn insert_fragment(&mut self, text: &mut Vec<u8>, at: usize) {
        let fragment = self.pick(&[
            "\\ud800",
            "\\udc00",
            "\\ud83d\\ude00",
            "\\u0061",
            "\u{feff}",
            "null",
            "NaN",
            "01",
            "1.",
            "-",
            "/**/",
            "\"a\":1,\"a\":1,",
            "\\/",
            "\\x",
            ",",
            "é",
        ]);
        text.splice(at..at, fragment.bytes());
    }
}
