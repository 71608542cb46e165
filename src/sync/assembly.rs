//! Puts the segments of documents together (connector contract §13) and turns items into
//! operations, in stream order.
//!
//! Fetches no bytes: an item is first asked what it [`needs`](Assembly::needs), then pushed with
//! what became of that.

use std::sync::Arc;

use crate::json::{Text, Value};
use crate::model::{BlobRef, Contract, FileUri, Tree, TreeBuilder, Violation, byte_sources};

use super::blobs::{BlobBytes, Blobs};
use super::byte_source::ByteSource;
use super::failure::{Failure, FailureSource, Subject};
use super::item::{self, Item, Rejected, Segment};
use super::wave::Operation;

/// What an item came to.
#[derive(Debug)]
pub enum Step {
    /// Something to deliver.
    Operation(Operation),
    /// Something to report.
    Failed(Failure),
}

/// The byte sources of one item whose bytes have to be fetched.
#[derive(Debug)]
pub struct Needs {
    /// The document they belong to.
    pub uri: FileUri,
    /// In the order of the document, repetition kept.
    pub sources: Vec<ByteSource>,
}

impl Needs {
    /// Returns what a segment needs, if it needs anything and all of it is well-formed.
    fn of(segment: Segment<'_>) -> Option<Self> {
        let sources = byte_sources(segment.pages).ok()?;
        let sources: Result<Vec<_>, _> = sources.into_iter().map(ByteSource::read).collect();
        let sources = sources.ok().filter(|sources| !sources.is_empty())?;
        let uri = segment.uri;
        Some(Self { uri, sources })
    }
}

/// The bytes behind a byte source, fetched.
#[derive(Clone, Debug)]
pub struct Fetched {
    /// Their reference.
    pub blob: BlobRef,
    /// Where they are now.
    pub bytes: Arc<dyn BlobBytes>,
}

/// Why the bytes behind a byte source could not be had (connector contract §14.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlobTrouble {
    /// One of the three codes of blobs.
    pub code: &'static str,
    /// For people.
    pub message: String,
    /// Whether the next round may succeed as it is.
    pub retryable: bool,
}

impl BlobTrouble {
    /// Returns the trouble of bytes that nobody fetched.
    pub fn unfetched() -> Self {
        Self {
            code: "blob_read_failed",
            message: "its bytes were not fetched".to_owned(),
            retryable: false,
        }
    }
}

/// Assembles the items of one round.
#[derive(Debug)]
pub struct Assembly {
    prefix: String,
    contract: Contract,
    open: Option<Open>,
}

/// The one document that may be open between two items.
#[derive(Debug)]
enum Open {
    /// Its segments so far are in order.
    Growing {
        uri: FileUri,
        head: String,
        builder: Box<TreeBuilder>,
        blobs: Blobs,
    },
    /// It has failed and been reported; its further segments are swallowed.
    Failed { uri: FileUri },
}

impl Open {
    fn uri(&self) -> &FileUri {
        match self {
            Self::Growing { uri, .. } | Self::Failed { uri } => uri,
        }
    }
}

impl Assembly {
    /// Returns an assembly for the documents below `prefix`, hashed under `contract`.
    pub fn new(prefix: impl Into<String>, contract: Contract) -> Self {
        Self {
            prefix: prefix.into(),
            contract,
            open: None,
        }
    }

    /// Returns the byte sources of the item that comes next, if it has any and nothing else is
    /// wrong with it (§12: bytes are fetched last).
    pub fn needs(&self, value: Value<'_>) -> Option<Needs> {
        if !may_have(value, "\"blob\"") {
            return None;
        }
        let Ok(Item::Segment(segment)) = item::judge(value, &self.prefix) else {
            return None;
        };
        let is_growing =
            matches!(&self.open, Some(Open::Growing { uri, .. }) if *uri == segment.uri);
        if segment.head.is_some() == is_growing {
            return None;
        }
        Needs::of(segment)
    }

    /// Returns the byte sources of an item as far as its form says it, whatever comes before it;
    /// nothing if it has no handles.
    pub fn announces(&self, value: Value<'_>) -> Option<Needs> {
        if !may_have(value, "\"handle\"") {
            return None;
        }
        match item::judge(value, &self.prefix) {
            Ok(Item::Segment(segment)) => Needs::of(segment),
            _ => None,
        }
    }

    /// Takes one item and hands what it came to, in order, to `out`. `fetched` has what became of
    /// each byte source that it [needs](Self::needs), in their order; nothing has to follow the
    /// first trouble.
    pub fn push(
        &mut self,
        value: Value<'_>,
        fetched: Vec<Result<Fetched, BlobTrouble>>,
        out: &mut Vec<Step>,
    ) {
        match item::judge(value, &self.prefix) {
            Ok(Item::Segment(segment)) => self.segment(segment, fetched, out),
            Ok(item) => {
                self.interrupt(out);
                out.push(match item {
                    Item::Delete { uri } => Step::Operation(Operation::Delete { uri }),
                    Item::Move { from, to } => Step::Operation(Operation::Move { from, to }),
                    Item::Error(failure) => Step::Failed(failure),
                    Item::Segment(_) => unreachable!("taken by the arm above"),
                });
            }
            Err(rejected) => self.rejected(*rejected, out),
        }
    }

    /// Ends the round: a document that is still open fails.
    pub fn finish(&mut self) -> Option<Failure> {
        match self.open.take()? {
            Open::Failed { .. } => None,
            Open::Growing { uri, .. } => Some(document_failure(
                &uri,
                "segment_unclosed",
                "the round ended before the last segment of this document",
            )),
        }
    }

    fn segment(&mut self, segment: Segment<'_>, fetched: FetchedList, out: &mut Vec<Step>) {
        let follows = self
            .open
            .as_ref()
            .is_some_and(|open| *open.uri() == segment.uri);
        if !follows {
            self.interrupt(out);
            return self.begin(segment, fetched, out);
        }
        match self.open.take().expect("a document is open") {
            Open::Failed { .. } if segment.head.is_some() => {
                self.begin(segment, fetched, out);
            }
            Open::Failed { uri } => self.swallow_rest(uri, segment.continued),
            Open::Growing { .. } if segment.head.is_some() => {
                let message = "only the first segment of a document may carry `document`";
                self.fail(segment.uri, segment.continued, message, out);
            }
            Open::Growing {
                head,
                builder,
                blobs,
                ..
            } => {
                let growing = (head, builder, blobs);
                self.grow(segment, fetched, growing, out);
            }
        }
    }

    fn begin(&mut self, segment: Segment<'_>, fetched: FetchedList, out: &mut Vec<Step>) {
        let Some(head) = segment.head else {
            let message = "the first segment of a document must carry `document`";
            return self.fail(segment.uri, segment.continued, message, out);
        };
        let builder = Box::new(TreeBuilder::new(self.contract));
        let growing = (head.raw().to_owned(), builder, Blobs::default());
        self.grow(segment, fetched, growing, out);
    }

    fn grow(
        &mut self,
        segment: Segment<'_>,
        fetched: FetchedList,
        (head, mut builder, mut blobs): (String, Box<TreeBuilder>, Blobs),
        out: &mut Vec<Step>,
    ) {
        let Segment {
            uri,
            pages,
            continued,
            ..
        } = segment;
        if let Err(failure) = add_pages(&mut builder, pages, fetched, &mut blobs, &uri) {
            out.push(Step::Failed(failure));
            return self.swallow_rest(uri, continued);
        }
        if continued {
            self.open = Some(Open::Growing {
                uri,
                head,
                builder,
                blobs,
            });
            return;
        }
        out.push(match close(*builder, &head) {
            Ok(tree) => Step::Operation(Operation::Commit {
                uri,
                tree: Box::new(tree),
                blobs,
            }),
            Err(violation) => Step::Failed(violated(&uri, &violation)),
        });
    }

    fn rejected(&mut self, rejected: Rejected, out: &mut Vec<Step>) {
        let Rejected { failure, segment } = rejected;
        let swallowed = match (&self.open, &segment) {
            (Some(Open::Failed { uri }), Some(segment)) => *uri == segment.uri && !segment.starts,
            _ => false,
        };
        let continues = match (&self.open, &segment) {
            (Some(open), Some(segment)) => *open.uri() == segment.uri,
            _ => false,
        };
        if continues {
            self.open = None;
        } else {
            self.interrupt(out);
        }
        if !swallowed {
            out.push(Step::Failed(failure));
        }
        if let Some(segment) = segment {
            self.swallow_rest(segment.uri, segment.continued);
        }
    }

    /// Another item came in between: the open document fails, unless it has already.
    fn interrupt(&mut self, out: &mut Vec<Step>) {
        if let Some(Open::Growing { uri, .. }) = self.open.take() {
            out.push(Step::Failed(document_failure(
                &uri,
                "DPE_VALIDATION",
                "the segments of this document are not adjacent",
            )));
        }
    }

    fn fail(&mut self, uri: FileUri, continued: bool, message: &str, out: &mut Vec<Step>) {
        out.push(Step::Failed(document_failure(
            &uri,
            "DPE_VALIDATION",
            message,
        )));
        self.swallow_rest(uri, continued);
    }

    fn swallow_rest(&mut self, uri: FileUri, continued: bool) {
        self.open = continued.then_some(Open::Failed { uri });
    }
}

type FetchedList = Vec<Result<Fetched, BlobTrouble>>;

/// Returns false if an item certainly has no member of this name, without looking at its parts.
fn may_have(value: Value<'_>, quoted: &str) -> bool {
    let text = value.raw();
    // A name may be written in escapes.
    text.contains(quoted) || text.contains("\\u")
}

/// Validates and hashes pages. An element whose bytes could not be had fails the document:
/// dropping them to save the rest is forbidden (§14.2).
fn add_pages(
    builder: &mut TreeBuilder,
    pages: Value<'_>,
    fetched: FetchedList,
    blobs: &mut Blobs,
    uri: &FileUri,
) -> Result<(), Failure> {
    let fetched: Result<Vec<_>, _> = fetched.into_iter().collect();
    let mut fetched = fetched
        .map_err(|trouble| troubled(uri, trouble))?
        .into_iter();
    let mut is_unfetched = false;
    let added = builder.add_pages(pages, |source| {
        let Some(Fetched { blob, bytes }) = fetched.next() else {
            // Of a segment with a malformed byte source nothing was fetched.
            ByteSource::read(source)?;
            is_unfetched = true;
            return Ok(None);
        };
        blobs.insert(blob, bytes);
        Ok(Some(blob))
    });
    added.map_err(|violation| violated(uri, &violation))?;
    if is_unfetched {
        return Err(troubled(uri, BlobTrouble::unfetched()));
    }
    Ok(())
}

fn troubled(uri: &FileUri, trouble: BlobTrouble) -> Failure {
    let subject = Subject::Document(uri.to_string());
    Failure::item(FailureSource::Blob, trouble.code, trouble.message, subject)
        .retryable(trouble.retryable)
}

fn close(builder: TreeBuilder, head: &str) -> Result<Tree, Violation> {
    let head = Text::parse(head.as_bytes()).expect("a value of a parsed text parses again");
    builder.finish(head.root())
}

fn violated(uri: &FileUri, violation: &Violation) -> Failure {
    let place = if violation.pointer.is_empty() {
        String::new()
    } else {
        format!(" at {}", violation.pointer)
    };
    document_failure(
        uri,
        violation.code.as_str(),
        &format!("{}{place}", violation.message),
    )
}

fn document_failure(uri: &FileUri, code: &'static str, message: &str) -> Failure {
    Failure::item(
        FailureSource::Validation,
        code,
        message,
        Subject::Document(uri.to_string()),
    )
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;

    use super::{Assembly, BlobTrouble, Fetched, Step};
    use crate::json::Text;
    use crate::model::{BlobRef, Contract};
    use crate::sync::failure::{FailureSource, Subject};
    use crate::sync::wave::Operation;

    /// Runs items through an assembly and names what came out.
    fn outcome(items: &[String]) -> Vec<String> {
        let mut assembly = Assembly::new("t://", Contract::Dpe1);
        let mut steps = Vec::new();
        for item in items {
            let text = Text::parse(item.as_bytes()).unwrap();
            assembly.push(text.root(), Vec::new(), &mut steps);
        }
        steps.extend(assembly.finish().map(Step::Failed));
        steps
            .iter()
            .map(|step| match step {
                Step::Operation(Operation::Commit { uri, tree, .. }) => {
                    format!("{uri} {} pages", tree.page_list.len())
                }
                Step::Operation(Operation::Delete { uri }) => format!("delete {uri}"),
                Step::Operation(Operation::Move { from, to }) => format!("move {from} {to}"),
                Step::Failed(failure) => failure.code.to_string(),
            })
            .collect()
    }

    fn first(uri: &str, continued: bool) -> String {
        format!(
            r#"{{"kind":"document","file_uri":"t://{uri}","document":{{"file_type":"md"}},"pages":[{{"elements":[]}}],"continued":{continued}}}"#
        )
    }

    fn more(uri: &str, continued: bool) -> String {
        format!(
            r#"{{"kind":"document","file_uri":"t://{uri}","pages":[{{"elements":[]}}],"continued":{continued}}}"#
        )
    }

    fn delete(uri: &str) -> String {
        format!(r#"{{"kind":"delete","file_uri":"t://{uri}"}}"#)
    }

    #[test]
    fn segments_join_in_order() {
        let items = [first("a", true), more("a", true), more("a", false)];
        assert_eq!(outcome(&items), ["t://a 3 pages"]);
    }

    #[test]
    fn a_later_segment_with_a_head_fails_the_document_once() {
        let items = [first("a", true), first("a", true), more("a", false)];
        assert_eq!(outcome(&items), ["DPE_VALIDATION"]);
    }

    #[test]
    fn a_first_segment_without_a_head_fails_the_document_once() {
        let items = [more("a", true), more("a", false), first("a", false)];
        assert_eq!(outcome(&items), ["DPE_VALIDATION", "t://a 1 pages"]);
    }

    #[test]
    fn an_item_in_between_fails_the_open_document_and_is_processed() {
        let items = [first("a", true), delete("b"), first("c", false)];
        assert_eq!(
            outcome(&items),
            ["DPE_VALIDATION", "delete t://b", "t://c 1 pages"]
        );
    }

    #[test]
    fn a_document_open_at_the_end_is_unclosed() {
        assert_eq!(outcome(&[first("a", true)]), ["segment_unclosed"]);
    }

    #[test]
    fn after_a_failed_segment_the_rest_is_swallowed_until_a_new_start() {
        let broken =
            r#"{"kind":"document","file_uri":"t://a","pages":[],"continued":5}"#.to_owned();
        let items = [
            first("a", true),
            broken,
            more("a", true),
            first("a", false),
            delete("b"),
        ];
        assert_eq!(
            outcome(&items),
            ["DPE_VALIDATION", "t://a 1 pages", "delete t://b"]
        );
    }

    /// A segment of document `a` with these pages.
    fn segment(pages: &str) -> String {
        format!(
            r#"{{"kind":"document","file_uri":"t://a","document":{{"file_type":"md"}},"pages":{pages}}}"#
        )
    }

    fn needed(assembly: &Assembly, item: &str) -> usize {
        let text = Text::parse(item.as_bytes()).unwrap();
        let needs = assembly.needs(text.root());
        needs.map_or(0, |needs| needs.sources.len())
    }

    const IMAGES: &str = r#"{"elements":[{"category":"Image","blob":{"handle":"h"}},{"category":"Image","bl\u006fb":{"inline":""}}]}"#;

    #[test]
    fn bytes_are_needed_only_by_segments_with_nothing_else_wrong() {
        let assembly = Assembly::new("t://", Contract::Dpe1);
        assert_eq!(
            needed(&assembly, &segment(&format!("[{IMAGES},{IMAGES}]"))),
            4
        );
        assert_eq!(needed(&assembly, &segment(r#"[{"elements":[]}]"#)), 0);
        for pages in [
            format!(r#"[{IMAGES},{{"title":1,"elements":[]}}]"#),
            format!(r#"[{IMAGES},{{"elements":[{{"category":"Poem"}}]}}]"#),
            format!(r#"[{IMAGES},{{"elements":[{{"category":"Image","blob":{{}}}}]}}]"#),
        ] {
            assert_eq!(needed(&assembly, &segment(&pages)), 0, "{pages}");
        }
        let headless = more("a", false).replace(r#"{"elements":[]}"#, IMAGES);
        assert_eq!(needed(&assembly, &headless), 0);
        let outside = segment(&format!("[{IMAGES}]")).replace("t://a", "u://a");
        assert_eq!(needed(&assembly, &outside), 0);
    }

    #[test]
    fn a_later_segment_needs_bytes_unless_its_document_has_failed() {
        let mut assembly = Assembly::new("t://", Contract::Dpe1);
        let mut steps = Vec::new();
        let headless = more("a", true).replace(r#"{"elements":[]}"#, IMAGES);
        let text = Text::parse_owned(first("a", true).into_bytes()).unwrap();
        assembly.push(text.root(), Vec::new(), &mut steps);
        assert_eq!(needed(&assembly, &headless), 2);
        // Nobody fetched them: that fails the document.
        let text = Text::parse(headless.as_bytes()).unwrap();
        assembly.push(text.root(), Vec::new(), &mut steps);
        assert!(
            matches!(&steps[..], [Step::Failed(failure)] if failure.code == "blob_read_failed")
        );
        assert_eq!(needed(&assembly, &headless), 0);
    }

    #[test]
    fn fetched_bytes_travel_with_their_document_and_trouble_fails_it() {
        let item = segment(&format!("[{IMAGES}]"));
        let text = Text::parse(item.as_bytes()).unwrap();
        let fetched = |bytes: &'static [u8]| {
            Ok(Fetched {
                blob: BlobRef::of(bytes),
                bytes: Arc::new(Bytes::from_static(bytes)),
            })
        };
        let mut assembly = Assembly::new("t://", Contract::Dpe1);
        let mut steps = Vec::new();
        assembly.push(
            text.root(),
            vec![fetched(b"hello"), fetched(b"")],
            &mut steps,
        );
        let Some(Step::Operation(Operation::Commit { tree, blobs, .. })) = steps.pop() else {
            panic!("the document is valid");
        };
        assert_eq!(tree.blobs, [BlobRef::of(b"hello"), BlobRef::of(b"")]);
        assert!(tree.blobs.iter().all(|blob| blobs.get(*blob).is_some()));
        let trouble = BlobTrouble {
            code: "blob_too_large",
            message: "much".into(),
            retryable: false,
        };
        assembly.push(
            text.root(),
            vec![fetched(b"hello"), Err(trouble)],
            &mut steps,
        );
        let Some(Step::Failed(failure)) = steps.pop() else {
            panic!("the document fails");
        };
        assert_eq!(
            (&*failure.code, failure.source),
            ("blob_too_large", FailureSource::Blob)
        );
        assert_eq!(failure.subject, Subject::Document("t://a".into()));
    }

    #[test]
    fn an_unknown_category_keeps_its_code() {
        let item = r#"{"kind":"document","file_uri":"t://a","document":{"file_type":"md"},"pages":[{"elements":[{"category":"Poem"}]}]}"#;
        assert_eq!(outcome(&[item.to_owned()]), ["DPE_CATEGORY_UNKNOWN"]);
    }
}
