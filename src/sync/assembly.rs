//! Puts the segments of documents together (connector contract §13) and turns items into
//! operations, in stream order.

use crate::json::{Text, Value};
use crate::model::{Contract, FileUri, Tree, TreeBuilder, Violation};

use super::blobs::Blobs;
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

    /// Takes one item and hands what it came to, in order, to `out`.
    pub fn push(&mut self, value: Value<'_>, out: &mut Vec<Step>) {
        match item::judge(value, &self.prefix) {
            Ok(Item::Segment(segment)) => self.segment(segment, out),
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

    fn segment(&mut self, segment: Segment<'_>, out: &mut Vec<Step>) {
        let follows = self
            .open
            .as_ref()
            .is_some_and(|open| *open.uri() == segment.uri);
        if !follows {
            self.interrupt(out);
            return self.begin(segment, out);
        }
        match self.open.take().expect("a document is open") {
            Open::Failed { .. } if segment.head.is_some() => self.begin(segment, out),
            Open::Failed { uri } => self.swallow_rest(uri, segment.continued),
            Open::Growing { .. } if segment.head.is_some() => {
                let message = "only the first segment of a document may carry `document`";
                self.fail(segment.uri, segment.continued, message, out);
            }
            Open::Growing { head, builder, .. } => self.grow(segment, head, builder, out),
        }
    }

    fn begin(&mut self, segment: Segment<'_>, out: &mut Vec<Step>) {
        let Some(head) = segment.head else {
            let message = "the first segment of a document must carry `document`";
            return self.fail(segment.uri, segment.continued, message, out);
        };
        let builder = Box::new(TreeBuilder::new(self.contract));
        self.grow(segment, head.raw().to_owned(), builder, out);
    }

    fn grow(
        &mut self,
        segment: Segment<'_>,
        head: String,
        mut builder: Box<TreeBuilder>,
        out: &mut Vec<Step>,
    ) {
        let Segment {
            uri,
            pages,
            continued,
            ..
        } = segment;
        if let Err(failure) = add_pages(&mut builder, pages, &uri) {
            out.push(Step::Failed(failure));
            return self.swallow_rest(uri, continued);
        }
        if continued {
            self.open = Some(Open::Growing { uri, head, builder });
            return;
        }
        out.push(match close(*builder, &head) {
            Ok(tree) => Step::Operation(Operation::Commit {
                uri,
                tree: Box::new(tree),
                blobs: Blobs::default(),
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

/// Validates and hashes pages. An element with bytes fails the document: they would have to be
/// staged, and dropping them to save the rest is forbidden (§14.2).
fn add_pages(builder: &mut TreeBuilder, pages: Value<'_>, uri: &FileUri) -> Result<(), Failure> {
    let mut has_blob = false;
    let added = builder.add_pages(pages, |_source| {
        has_blob = true;
        Ok(None)
    });
    if let Err(violation) = added {
        return Err(violated(uri, &violation));
    }
    if has_blob {
        return Err(Failure::item(
            FailureSource::Blob,
            "blob_read_failed",
            "this document has binary content, which cannot be delivered yet",
            Subject::Document(uri.to_string()),
        ));
    }
    Ok(())
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
    use super::{Assembly, Step};
    use crate::json::Text;
    use crate::model::Contract;
    use crate::sync::wave::Operation;

    /// Runs items through an assembly and names what came out.
    fn outcome(items: &[String]) -> Vec<String> {
        let mut assembly = Assembly::new("t://", Contract::Dpe1);
        let mut steps = Vec::new();
        for item in items {
            let text = Text::parse(item.as_bytes()).unwrap();
            assembly.push(text.root(), &mut steps);
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

    #[test]
    fn an_unknown_category_keeps_its_code() {
        let item = r#"{"kind":"document","file_uri":"t://a","document":{"file_type":"md"},"pages":[{"elements":[{"category":"Poem"}]}]}"#;
        assert_eq!(outcome(&[item.to_owned()]), ["DPE_CATEGORY_UNKNOWN"]);
    }
}
