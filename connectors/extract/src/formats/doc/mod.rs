//! DOC: documents of Word 6 to 2003 ([MS-DOC]).
//!
//! The text is a run of characters in which marks say what ends; what a paragraph is stands elsewhere,
//! by the places of the stream that it was written to. Nothing there is believed: a table that is
//! missing costs what it says, and the words stay.

mod fib;
mod notes;
mod open;
mod pictures;
mod pieces;
mod reader;
mod runs;
mod styles;

use crate::format::Format;
use crate::formats::compound::{self, Compound};
use crate::formats::{head, story, summary};
use crate::reading::Reading;
use crate::{Document, ExtractError};

use fib::Fib;
use reader::{Parts, Reader};

/// Reads a document.
///
/// # Errors
///
/// `encrypted`, `unsupported_version` (before Word 6), `damaged`, `bomb`.
pub(crate) fn read(
    format: Format,
    file: &mut Compound<'_>,
    reading: &mut Reading<'_>,
) -> Result<Document, ExtractError> {
    let document = compound::stream(file, "/WordDocument", reading)?.unwrap_or_default();
    let fib = Fib::read(&document)?;
    let mut head = head(format.as_type("doc"));
    summary::declare(&mut head, file, reading)?;
    let tables = match fib.is_old {
        true => None,
        false => {
            let tables = compound::stream(file, fib.table_stream, reading);
            reading.tolerated("the tables", tables)?.flatten()
        }
    };
    let data = compound::stream(file, "/Data", reading);
    let data = reading.tolerated("the data", data)?.flatten();
    let parts = Parts {
        document: &document,
        tables: if fib.is_old {
            &document
        } else {
            tables.as_deref().unwrap_or(&[])
        },
        data: data.as_deref().unwrap_or(&[]),
    };
    let blocks = Reader::new(&fib, parts, reading)?.read();
    Ok(story::document(head, blocks, reading))
}
