//! What is said about one input: its hash, or the code and path of its first violation.
//!
//! One JSON object leaves for every input, whether it was accepted or not. Only bytes go in and
//! out; this file opens nothing.

use std::io::{self, Write};
use std::str::FromStr;

use thiserror::Error;

use crate::json::{NumberError, Text, Value, Writer, canonical};
use crate::model::{
    Code, Contract, Contracts, ExpandedHashes, FileUri, PageHashes, Violation, check_file_type,
    document, element, expanded_text, page,
};

/// What an input is taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An element object.
    Element,
    /// A page object with the hashes of its elements.
    Page,
    /// A document object with the hashes of its pages.
    Document,
    /// A document with its pages and elements inline.
    Expanded,
    /// A file_uri.
    Uri,
    /// A file_type.
    FileType,
    /// Any JSON value, to be written in canonical form.
    Jcs,
}

impl Kind {
    /// All kinds, in the order of the help.
    pub const ALL: [Self; 7] = [
        Self::Element,
        Self::Page,
        Self::Document,
        Self::Expanded,
        Self::Uri,
        Self::FileType,
        Self::Jcs,
    ];

    /// Returns the name a person gives it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Element => "element",
            Self::Page => "page",
            Self::Document => "document",
            Self::Expanded => "expanded",
            Self::Uri => "uri",
            Self::FileType => "file-type",
            Self::Jcs => "jcs",
        }
    }
}

/// The text names no [`Kind`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("there is no such kind of input")]
pub struct UnknownKind;

impl FromStr for Kind {
    type Err = UnknownKind;

    fn from_str(name: &str) -> Result<Self, UnknownKind> {
        let mut all = Self::ALL.into_iter();
        all.find(|kind| kind.name() == name).ok_or(UnknownKind)
    }
}

/// How one input ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The result was written.
    Accepted,
    /// The code and path of this violation were written.
    Rejected(Violation),
}

/// What to do with every input.
#[derive(Clone, Copy, Debug)]
pub struct Judge {
    kind: Kind,
    /// `None` for a contract that cannot be computed.
    contract: Option<Contract>,
}

impl Judge {
    /// Returns a judge for one kind of input under the contract of that name. A name that is not
    /// known rejects every input (hash contract §14.2).
    pub fn new(kind: Kind, contract: &str) -> Self {
        let contract = Contract::from_name(contract);
        Self { kind, contract }
    }

    /// Judges one input and writes one line. An input for [`Kind::Uri`] or [`Kind::FileType`] is a
    /// JSON string if it begins like one, else the plain text without a final line end.
    ///
    /// # Errors
    /// Only those of writing.
    pub fn one(self, input: &[u8], out: &mut dyn Write) -> io::Result<Verdict> {
        let is_plain = matches!(self.kind, Kind::Uri | Kind::FileType)
            && input.trim_ascii_start().first() != Some(&b'"');
        let result = if is_plain {
            self.plain(without_line_end(input))
        } else {
            self.json(input)
        };
        report(result, out)
    }

    /// Judges one line, with or without its end, as one JSON text and writes one line.
    ///
    /// # Errors
    /// Only those of writing.
    pub fn line(self, line: &[u8], out: &mut dyn Write) -> io::Result<Verdict> {
        report(self.json(without_line_end(line)), out)
    }

    fn json(self, input: &[u8]) -> Result<Answer, Violation> {
        let contract = self.contract()?;
        let declared = Contracts::SUPPORTED.with(contract);
        let text = || Text::parse(input).map_err(Violation::from);
        match self.kind {
            Kind::Element => element(text()?.root(), contract).map(|it| hash_answer(it.hash)),
            Kind::Page => page(text()?.root(), contract, declared).map(|it| hash_answer(it.hash)),
            Kind::Document => {
                document(text()?.root(), contract, declared).map(|it| hash_answer(it.hash))
            }
            Kind::Expanded => expanded_text(input, contract).map(Answer::Expanded),
            Kind::Jcs => jcs(text()?.root()),
            Kind::Uri => file_uri(&string(text()?.root())?),
            Kind::FileType => file_type(&string(text()?.root())?),
        }
    }

    fn plain(self, input: &[u8]) -> Result<Answer, Violation> {
        self.contract()?;
        let text = std::str::from_utf8(input).map_err(|_| Violation::here("invalid UTF-8"))?;
        match self.kind {
            Kind::FileType => file_type(text),
            _ => file_uri(text),
        }
    }

    fn contract(self) -> Result<Contract, Violation> {
        let unknown = || {
            let message = "this hash contract is not known";
            Violation::new(Code::ContractUnsupported, String::new(), message)
        };
        self.contract.ok_or_else(unknown)
    }
}

/// What is written for an accepted input.
enum Answer {
    Line(String),
    Expanded(ExpandedHashes),
}

fn without_line_end(input: &[u8]) -> &[u8] {
    let input = input.strip_suffix(b"\n").unwrap_or(input);
    input.strip_suffix(b"\r").unwrap_or(input)
}

fn hash_answer(hash: crate::model::Hash) -> Answer {
    line("hash", &hash.to_string())
}

fn string(value: Value<'_>) -> Result<String, Violation> {
    let text = value.as_str();
    let text = text.ok_or_else(|| Violation::here("the input is not a JSON string"))?;
    Ok(text.into_owned())
}

fn file_uri(text: &str) -> Result<Answer, Violation> {
    let uri = FileUri::parse(text).map_err(|error| Violation::here(error.to_string()))?;
    Ok(line("uri", uri.as_str()))
}

fn file_type(text: &str) -> Result<Answer, Violation> {
    check_file_type(text).map_err(|error| Violation::here(error.to_string()))?;
    Ok(Answer::Line("{\"ok\":true}".to_owned()))
}

fn jcs(value: Value<'_>) -> Result<Answer, Violation> {
    let mut text = Vec::new();
    canonical::write(value, &mut text).map_err(|error: NumberError| {
        Violation::here(error.to_string()).under(&value.pointer_to(error.offset))
    })?;
    let text = String::from_utf8(text).expect("canonical text is UTF-8");
    Ok(line("jcs", &text))
}

fn line(name: &str, value: &str) -> Answer {
    let mut writer = Writer::new();
    writer.begin_object().name(name).string(value).end_object();
    Answer::Line(writer.into_string())
}

fn report(result: Result<Answer, Violation>, out: &mut dyn Write) -> io::Result<Verdict> {
    match result {
        Ok(Answer::Line(line)) => writeln!(out, "{line}")?,
        Ok(Answer::Expanded(hashes)) => write_expanded(&hashes, out)?,
        Err(violation) => {
            let mut writer = Writer::new();
            writer.begin_object().name("error").begin_object();
            writer.name("code").string(violation.code.as_str());
            writer.name("path").string(&violation.pointer);
            writer.end_object().end_object();
            writeln!(out, "{}", writer.into_string())?;
            return Ok(Verdict::Rejected(violation));
        }
    }
    Ok(Verdict::Accepted)
}

/// Writes piece by piece: a document of 100 MB has a megabyte of hashes and more.
fn write_expanded(hashes: &ExpandedHashes, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "{{\"doc_hash\":\"{}\",\"pages\":[", hashes.doc_hash)?;
    for (position, page) in hashes.pages.iter().enumerate() {
        let comma = if position > 0 { "," } else { "" };
        out.write_all(comma.as_bytes())?;
        write_page(page, out)?;
    }
    out.write_all(b"]}\n")
}

fn write_page(page: &PageHashes, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "{{\"page_hash\":\"{}\",\"elements\":[", page.page_hash)?;
    for (position, element) in page.elements.iter().enumerate() {
        let comma = if position > 0 { "," } else { "" };
        write!(out, "{comma}\"{element}\"")?;
    }
    out.write_all(b"]}")
}

#[cfg(test)]
mod tests {
    use super::{Judge, Kind, UnknownKind, Verdict};

    fn one(kind: Kind, contract: &str, input: &[u8]) -> String {
        let mut out = Vec::new();
        let verdict = Judge::new(kind, contract).one(input, &mut out).unwrap();
        let out = String::from_utf8(out).unwrap();
        assert_eq!(verdict == Verdict::Accepted, !out.starts_with("{\"error\""));
        out
    }

    #[test]
    fn kinds_are_known_by_their_names() {
        for kind in Kind::ALL {
            assert_eq!(kind.name().parse(), Ok(kind));
        }
        assert_eq!("blob".parse::<Kind>(), Err(UnknownKind));
    }

    #[test]
    fn every_kind_answers_with_its_own_object() {
        let title = br#"{"category":"Title"}"#;
        // Hash contract §16.
        let hash = "dpe1:b9951fa5f4a46fe7739e70aa614a7201b24ab9a5dd083a7d17a518672c8fcc45";
        assert_eq!(
            one(Kind::Element, "dpe1", title),
            format!("{{\"hash\":\"{hash}\"}}\n")
        );
        let empty = "dpe1:5044788699fbc5362d08cae535a0c6ba274b6d6c9a8d7e8179366163b22f05ee";
        assert_eq!(
            one(
                Kind::Expanded,
                "dpe1",
                br#"{"file_type":"empty","pages":[]}"#
            ),
            format!("{{\"doc_hash\":\"{empty}\",\"pages\":[]}}\n")
        );
        assert_eq!(
            one(Kind::Jcs, "dpe1", b" {\"b\":null,\"a\":1.0} "),
            "{\"jcs\":\"{\\\"a\\\":1,\\\"b\\\":null}\"}\n"
        );
        assert_eq!(
            one(Kind::Jcs, "dpe1", br#"{"b":[1e400]}"#),
            "{\"error\":{\"code\":\"DPE_VALIDATION\",\"path\":\"/b/0\"}}\n"
        );
    }

    #[test]
    fn uri_and_file_type_come_plain_or_as_a_json_string() {
        let normal = "{\"uri\":\"feishu:AbC~\"}\n";
        assert_eq!(one(Kind::Uri, "dpe1", b"FEISHU:AbC%7e\n"), normal);
        assert_eq!(one(Kind::Uri, "dpe1", b"\"FEISHU:AbC%7e\"\n"), normal);
        let error = "{\"error\":{\"code\":\"DPE_VALIDATION\",\"path\":\"\"}}\n";
        assert_eq!(one(Kind::Uri, "dpe1", b"a:b\n\n"), error);
        assert_eq!(one(Kind::Uri, "dpe1", b"a:\xFF"), error);
        assert_eq!(one(Kind::FileType, "dpe1", b"md\n"), "{\"ok\":true}\n");
        assert_eq!(one(Kind::FileType, "dpe1", b"\"md\\n\""), error);
    }

    #[test]
    fn unknown_contract_is_judged_before_the_input() {
        assert_eq!(
            one(Kind::Element, "dpe2", b"not json"),
            "{\"error\":{\"code\":\"DPE_CONTRACT_UNSUPPORTED\",\"path\":\"\"}}\n"
        );
    }

    #[test]
    fn every_line_gets_its_line_even_if_it_is_not_text() {
        let accepted = |line: &[u8]| {
            let mut out = Vec::new();
            let verdict = Judge::new(Kind::FileType, "dpe1").line(line, &mut out);
            assert!(out.ends_with(b"}\n"));
            verdict.unwrap() == Verdict::Accepted
        };
        assert!(accepted(b"\"md\"\n"));
        assert!(accepted(b"\"7z\""));
        for line in [&b"\xFF\n"[..], b"\n", b"\"MD\"\r\n", b"5\n", b"md\n"] {
            assert!(!accepted(line));
        }
    }
}
