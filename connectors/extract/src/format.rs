//! Which format a file has: the table of formats.
//!
//! What the first bytes say for certain comes first, then the extension or a well-known whole name, then what
//! the first bytes look like. Knows nothing of how a format is read: [`crate::formats`] does; and
//! of packages and compound files it says only that they are such, for only their entries tell more.

use crate::languages;
use crate::sniff::{self, Signature};

/// How many bytes of the beginning of a file [`format_of`] looks at.
pub const HEAD_BYTES: usize = 8192;

/// A format this crate can read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    file_type: &'static str,
    reader: Reader,
    is_guess: bool,
}

/// The ways to read. One per file or folder under `formats/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reader {
    Markdown,
    Plain,
    Source,
    Json,
    Ndjson,
    Html,
    /// With the delimiter, if it is not for the file to decide.
    Delimited(Option<u8>),
    /// With the media type.
    Image(&'static str),
    Pdf,
    Rtf,
    /// A ZIP archive: OOXML, OpenDocument, EPUB or just files.
    Package,
    /// A compound file: the office formats before 2007, and messages of Outlook.
    Compound,
    /// One message of electronic mail.
    Mail,
    /// A file of such messages.
    Mailbox,
    Notebook,
    ReStructured,
    AsciiDoc,
    Org,
}

impl Format {
    /// Returns the `file_type` of a document of this format (hash contract §10), as far as its
    /// name and first bytes tell. A file of no bytes has the type `empty` whatever its format; packages and
    /// compound files have that of what is found in them.
    pub fn file_type(&self) -> &'static str {
        self.file_type
    }

    /// Returns whether its reader looks at the first [`crate::IMAGE_HEAD_BYTES`] only: pictures are
    /// delivered as they are. Drawings have words and are read whole.
    pub fn is_read_from_head(&self) -> bool {
        matches!(self.reader, Reader::Image(_)) && self.file_type != "svg"
    }

    /// Returns whether files of this format are texts and pictures that this crate looks through itself, in
    /// one pass; the parsers of all others are better kept in a process of their own.
    pub fn is_simple(&self) -> bool {
        matches!(
            self.reader,
            Reader::Plain | Reader::Source | Reader::Json | Reader::Ndjson | Reader::Delimited(_)
        ) || self.is_read_from_head()
    }

    /// Whether it is a text that shows pictures which lie beside it.
    pub(crate) fn has_pictures_beside(&self) -> bool {
        matches!(self.reader, Reader::Markdown | Reader::Html)
    }

    pub(crate) fn reader(&self) -> Reader {
        self.reader
    }

    /// Whether only the beginning of the file spoke for the format, and not its name.
    pub(crate) fn is_guess(&self) -> bool {
        self.is_guess
    }

    /// The same format under the type that its content turned out to have.
    pub(crate) fn as_type(self, file_type: &'static str) -> Self {
        Self { file_type, ..self }
    }

    const fn named(file_type: &'static str, reader: Reader) -> Self {
        Self {
            file_type,
            reader,
            is_guess: false,
        }
    }

    const fn guessed(self) -> Self {
        Self {
            is_guess: true,
            ..self
        }
    }
}

/// One row of the table: a format and the extensions that mean it.
struct Row {
    format: Format,
    extensions: &'static [&'static str],
}

const fn row(file_type: &'static str, reader: Reader, extensions: &'static [&'static str]) -> Row {
    Row {
        format: Format::named(file_type, reader),
        extensions,
    }
}

/// Languages and configuration texts have their own table, [`languages`].
static FORMATS: &[Row] = &[
    row(
        "md",
        Reader::Markdown,
        &[
            "md", "markdown", "mdown", "mkd", "mkdn", "mdx", "qmd", "rmd",
        ],
    ),
    row("txt", Reader::Plain, &["txt", "text", "log"]),
    row("rst", Reader::ReStructured, &["rst"]),
    row("org", Reader::Org, &["org"]),
    row("asciidoc", Reader::AsciiDoc, &["adoc", "asciidoc"]),
    row(
        "json",
        Reader::Json,
        &["json", "geojson", "webmanifest", "har", "topojson"],
    ),
    row("ipynb", Reader::Notebook, &["ipynb"]),
    row("ndjson", Reader::Ndjson, &["ndjson", "jsonl"]),
    row(
        "html",
        Reader::Html,
        &["html", "htm", "xhtml", "xht", "shtml"],
    ),
    row("csv", Reader::Delimited(None), &["csv"]),
    row("tsv", Reader::Delimited(Some(b'\t')), &["tsv", "tab"]),
    row("png", Reader::Image("image/png"), &["png", "apng"]),
    row(
        "jpg",
        Reader::Image("image/jpeg"),
        &["jpg", "jpeg", "jpe", "jfif"],
    ),
    row("gif", Reader::Image("image/gif"), &["gif"]),
    row("webp", Reader::Image("image/webp"), &["webp"]),
    row("bmp", Reader::Image("image/bmp"), &["bmp", "dib"]),
    row("tiff", Reader::Image("image/tiff"), &["tiff", "tif"]),
    row("heic", Reader::Image("image/heic"), &["heic", "heif"]),
    row("svg", Reader::Image("image/svg+xml"), &["svg"]),
    row("pdf", Reader::Pdf, &["pdf"]),
    row("rtf", Reader::Rtf, &["rtf"]),
    row("docx", Reader::Package, &["docx", "docm", "dotx", "dotm"]),
    row(
        "pptx",
        Reader::Package,
        &["pptx", "pptm", "ppsx", "ppsm", "potx", "potm"],
    ),
    row("xlsx", Reader::Package, &["xlsx", "xlsm", "xltx", "xltm"]),
    row("xlsb", Reader::Package, &["xlsb"]),
    row("odt", Reader::Package, &["odt", "ott", "odm"]),
    row("ods", Reader::Package, &["ods", "ots"]),
    row("odp", Reader::Package, &["odp", "otp"]),
    row("epub", Reader::Package, &["epub"]),
    row("zip", Reader::Package, &["zip"]),
    row("doc", Reader::Compound, &["doc", "dot"]),
    row("xls", Reader::Compound, &["xls", "xlt"]),
    row("ppt", Reader::Compound, &["ppt", "pps"]),
    row("msg", Reader::Compound, &["msg", "oft"]),
    row("eml", Reader::Mail, &["eml"]),
    row("mbox", Reader::Mailbox, &["mbox", "mbx"]),
];

/// Whole names that mean plain text.
static TEXT_NAMES: &[&str] = &[
    "readme",
    "license",
    "licence",
    "copying",
    "copyright",
    "authors",
    "contributors",
    "changelog",
    "changes",
    "news",
    "notice",
    "install",
    "todo",
    "thanks",
    "history",
    "version",
];

/// Extensions of formats that hold no text, or text this crate cannot read. Some of them look
/// like plain text in their first bytes, some like archives of files worth reading.
static NOT_READ: &[&str] = &[
    "ps", "eps", "ai", "odg", "mobi", "azw3", "pages", "numbers", "key", "gz", "tgz", "bz2", "xz",
    "zst", "7z", "rar", "tar", "jar", "war", "ear", "aar", "apk", "ipa", "whl", "egg", "nupkg",
    "vsix", "xpi", "crx", "class", "pyc", "o", "a", "so", "dylib", "dll", "exe", "msi", "wasm",
    "rlib", "rmeta", "iso", "img", "mp3", "mp4", "m4a", "mov", "avi", "mkv", "webm", "wav", "flac",
    "ogg", "ttf", "otf", "woff", "woff2", "ico", "icns", "avif", "psd", "sqlite", "sqlite3", "db",
    "npz", "pem", "der", "p12", "pfx", "jks",
];

/// Returns the format of a file by its name and its first [`HEAD_BYTES`] bytes; later bytes of
/// `head` are not looked at. `None` if no format claims it.
pub fn format_of(name: &[u8], head: &[u8]) -> Option<Format> {
    let head = &head[..head.len().min(HEAD_BYTES)];
    let name = name.to_ascii_lowercase();
    let extension = extension(&name);
    if extension.is_some_and(|extension| NOT_READ.contains(&extension)) {
        return None;
    }
    if let Some(signature) = sniff::signature(head) {
        return Some(signed(signature));
    }
    if let Some(language) = languages::by_name(&name) {
        return textual(source(language), head);
    }
    match extension.and_then(by_extension) {
        Some(format) => textual(format, head),
        None => by_looks(&name, head),
    }
}

/// Returns the format that the name of a file claims, whatever is in it.
pub fn format_by_name(name: &[u8]) -> Option<Format> {
    let name = name.to_ascii_lowercase();
    let whole = || is_text_name(&name).then_some(PLAIN);
    let language = languages::by_name(&name).map(source);
    language
        .or_else(|| by_extension(extension(&name)?))
        .or_else(whole)
}

/// Returns the row of a type that a reader found out about.
pub(crate) fn format_of_type(file_type: &str) -> Option<Format> {
    FORMATS
        .iter()
        .map(|row| row.format)
        .find(|format| format.file_type == file_type)
}

fn by_extension(extension: &str) -> Option<Format> {
    let known = FORMATS
        .iter()
        .find(|row| row.extensions.contains(&extension))
        .map(|row| row.format);
    known.or_else(|| languages::by_extension(extension).map(source))
}

fn signed(signature: Signature) -> Format {
    match signature {
        Signature::Image(file_type) => format_of_type(file_type).unwrap_or(PLAIN),
        Signature::Pdf => Format::named("pdf", Reader::Pdf),
        Signature::Rtf => Format::named("rtf", Reader::Rtf),
        Signature::Package => Format::named("zip", Reader::Package),
        Signature::Compound => Format::named("doc", Reader::Compound),
    }
}

/// Lets the first bytes, which have no signature, have a say against the name: binary data is no source code,
/// though a `.ts` may be a video; and what is called a `.doc` is often a page or a table of some program.
fn textual(format: Format, head: &[u8]) -> Option<Format> {
    match format.reader {
        Reader::Source if sniff::is_binary(head) => None,
        Reader::Package | Reader::Compound | Reader::Rtf if looks_like_text(head) => {
            Some(by_markup(head).unwrap_or(PLAIN))
        }
        // A drawing, or the page that a server gave instead of the picture.
        Reader::Image(_) if format.is_read_from_head() => {
            let markup = sniff::markup(head).filter(|markup| matches!(*markup, "svg" | "html"));
            Some(markup.and_then(format_of_type).unwrap_or(format))
        }
        _ => Some(format),
    }
}

fn looks_like_text(head: &[u8]) -> bool {
    !head.trim_ascii().is_empty() && (sniff::is_text(head) || sniff::is_encoded_text(head))
}

fn by_looks(name: &[u8], head: &[u8]) -> Option<Format> {
    if let Some(language) = sniff::interpreter(head).and_then(languages::by_interpreter) {
        return Some(source(language).guessed());
    }
    if is_text_name(name) {
        return Some(PLAIN);
    }
    if !sniff::is_text(head) {
        return None;
    }
    Some(by_markup(head).unwrap_or(PLAIN).guessed())
}

/// Returns the format that the first words of a text speak for.
fn by_markup(head: &[u8]) -> Option<Format> {
    let file_type = sniff::markup(head)?;
    format_of_type(file_type).or_else(|| languages::by_extension(file_type).map(source))
}

fn is_text_name(name: &[u8]) -> bool {
    TEXT_NAMES.iter().any(|text| text.as_bytes() == name)
}

const PLAIN: Format = Format::named("txt", Reader::Plain);

fn source(language: &'static str) -> Format {
    Format::named(language, Reader::Source)
}

/// Returns what follows the last dot; a name that is nothing but a dot and a word has none.
fn extension(name: &[u8]) -> Option<&str> {
    let dot = memchr::memrchr(b'.', name).filter(|dot| *dot > 0)?;
    std::str::from_utf8(&name[dot + 1..])
        .ok()
        .filter(|extension| !extension.is_empty())
}

#[cfg(test)]
mod tests {
    use super::{FORMATS, NOT_READ, format_by_name, format_of};
    use crate::languages;

    fn file_type(name: &str, head: &[u8]) -> Option<&'static str> {
        format_of(name.as_bytes(), head).map(|format| format.file_type())
    }

    #[test]
    fn extension_decides_whatever_its_case() {
        assert_eq!(file_type("Notes.MD", b""), Some("md"));
        assert_eq!(file_type("a.tar.rs", b""), Some("rust"));
        assert_eq!(file_type("x.JSONL", b""), Some("ndjson"));
    }

    #[test]
    fn well_known_whole_name_wins_over_its_extension() {
        assert_eq!(file_type("CMakeLists.txt", b""), Some("cmake"));
        assert_eq!(file_type("Makefile", b""), Some("makefile"));
        assert_eq!(file_type("Dockerfile", b""), Some("dockerfile"));
        assert_eq!(file_type("Cargo.lock", b""), Some("toml"));
    }

    #[test]
    fn a_name_claims_a_format_whatever_is_in_the_file() {
        let claimed = |name: &str| format_by_name(name.as_bytes()).map(|format| format.file_type());
        for (name, expected) in [
            ("dump.SQL", Some("sql")),
            ("Makefile", Some("makefile")),
            ("README", Some("txt")),
            ("a.png", Some("png")),
            ("a.pdf", Some("pdf")),
            ("a.docm", Some("docx")),
            ("a.jar", None),
            ("noext", None),
        ] {
            assert_eq!(claimed(name), expected, "{name}");
        }
    }

    #[test]
    fn drawings_have_a_parser_and_other_pictures_none() {
        let is_simple = |name: &str| format_of(name.as_bytes(), b"").unwrap().is_simple();
        assert!(is_simple("a.png") && is_simple("a.csv"));
        assert!(!is_simple("a.svg") && !is_simple("a.pdf"));
    }

    #[test]
    fn first_line_names_the_language_of_a_script_without_extension() {
        assert_eq!(
            file_type("configure", b"#!/usr/bin/env bash\n"),
            Some("shell")
        );
        assert_eq!(file_type("tool", b"#!/opt/strange\n"), Some("txt"));
    }

    #[test]
    fn unknown_extension_is_text_only_if_it_looks_like_it() {
        assert_eq!(file_type("a.unknown", b"some words"), Some("txt"));
        assert_eq!(file_type("a.unknown", b"\0\x01\x02"), None);
        assert_eq!(file_type("README", b"caf\xE9"), Some("txt"));
    }

    #[test]
    fn image_is_known_by_its_first_bytes() {
        let png = b"\x89PNG\r\n\x1A\n\0\0\0\rIHDR";
        assert_eq!(file_type("a.png", png), Some("png"));
        assert_eq!(file_type("a.jpeg", png), Some("png"));
        assert_eq!(file_type("a", png), Some("png"));
        assert_eq!(file_type("a.gif", b"damaged"), Some("gif"));
        assert_eq!(
            file_type("a.png", b"<svg><text>a</text></svg>"),
            Some("svg")
        );
        assert_eq!(file_type("a.png", b"<!DOCTYPE html><p>404"), Some("html"));
        assert_eq!(
            file_type("a.svg", b"<?xml version='1.0'?><!-- a --><svg/>"),
            Some("svg")
        );
        assert_eq!(file_type("a.md", png), Some("png"));
    }

    #[test]
    fn binary_data_is_no_source_code() {
        assert_eq!(file_type("a.ts", b"G\x40\0\x10\0\0"), None);
        assert_eq!(file_type("a.ts", b"\xFF\xFEl\0e\0t\0"), Some("typescript"));
        assert_eq!(file_type("a.ts", b"let caf\xE9"), Some("typescript"));
    }

    #[test]
    fn what_the_first_bytes_say_for_certain_comes_before_the_name() {
        assert_eq!(file_type("a.txt", b"%PDF-1.4 only ascii"), Some("pdf"));
        assert_eq!(file_type("a.doc", b"{\\rtf1\\ansi words}"), Some("rtf"));
        assert_eq!(file_type("a.docx", b"PK\x03\x04"), Some("zip"));
        assert_eq!(file_type("a.jar", b"PK\x03\x04"), None);
    }

    #[test]
    fn text_that_is_called_a_document_of_some_program_is_a_text() {
        assert_eq!(file_type("a.doc", b"<html><body>"), Some("html"));
        assert_eq!(
            file_type("a.xls", b"<?xml version='1.0'?><Workbook>"),
            Some("xml")
        );
        assert_eq!(file_type("a.doc", b"words"), Some("txt"));
        assert_eq!(file_type("a.doc", b"<html>caf\xE9"), Some("html"));
        assert_eq!(file_type("a.xls", b"gr\xFCn\tblau\r\n"), Some("txt"));
        assert_eq!(file_type("a.doc", b"\0\x01\x02"), Some("doc"));
        assert_eq!(file_type("a.docx", b""), Some("docx"));
    }

    #[test]
    fn text_without_a_name_is_what_its_first_words_speak_for() {
        assert_eq!(file_type("a", b"<!DOCTYPE html>\n<p>"), Some("html"));
        assert_eq!(file_type("a", b"<?xml version='1.0'?><html"), Some("html"));
        assert_eq!(file_type("a", b"<svg xmlns='http"), Some("svg"));
        assert_eq!(
            file_type("a", b"From a@b Mon Jan  1 00:00:00 2001\nTo: b"),
            Some("mbox")
        );
        assert_eq!(
            file_type("a", b"Return-Path: <a@b>\nTo: b\n\nwords"),
            Some("eml")
        );
        assert_eq!(file_type("a", b"From here on: words"), Some("txt"));
    }

    #[test]
    fn every_file_type_keeps_to_the_grammar_of_the_hash_contract() {
        let types = FORMATS.iter().map(|row| row.format.file_type);
        for file_type in types.chain(languages::all()) {
            let bytes = file_type.as_bytes();
            assert!((1..=32).contains(&bytes.len()), "{file_type}");
            assert!(bytes[0].is_ascii_lowercase() || bytes[0].is_ascii_digit());
            assert!(
                bytes
                    .iter()
                    .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_')),
                "{file_type}"
            );
        }
    }

    #[test]
    fn no_extension_means_two_things() {
        let mut seen = std::collections::BTreeSet::new();
        let formats = FORMATS.iter().flat_map(|row| row.extensions);
        for extension in formats.chain(NOT_READ).chain(languages::extensions()) {
            assert!(seen.insert(extension), "{extension} is listed twice");
        }
    }
}
