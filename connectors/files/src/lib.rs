//! What connectors share whose documents are files, be they in a folder or in a repository.
//!
//! The same file has to become the same document, be skipped for the same reason and be seen to have
//! moved by the same rule wherever it was found. This crate holds what is needed for that, and
//! knows neither a file system nor a repository.

mod beside;
mod bounds;
mod content;
mod document;
mod extractor;
mod globs;
mod handles;
mod items;
pub mod moves;
mod names;
mod owner;
mod patterns;
mod pipeline;
mod report;
mod scans;
mod spool;
mod trouble;
mod wildcards;
mod workers;

pub use beside::{NEIGHBOUR_BYTES, Neighbour, Neighbours, Shown, show_neighbours};
pub use bounds::{Bounds, MAX_FILE_BYTES};
pub use content::{HEAD_BYTES, Limits, Wanted, format_of, wanted, wanted_by_name};
pub use document::{Input, Made, Maker, NoDocument};
pub use dpe_extract::{
    ExtractError, Extraction, Reason, WHOLE_INPUT, is_named_as_picture, picture_type,
    shows_pictures_beside,
};
pub use extractor::Extractor;
pub use globs::Globs;
pub use handles::{CHUNK_BYTES, Handles};
pub use items::{Items, RoundEnd};
pub use names::{extension, file_name};
pub use owner::Owner;
pub use patterns::{Case, Line, Patterns};
pub use pipeline::{BUDGET, Pipeline, threads};
pub use report::{Kind, Report, shown};
pub use scans::{Beginning, Round, Scans};
pub use trouble::{Failure, OnRefused, OnTrouble, SKIPPED, UNREADABLE, too_large, unsupported};
pub use workers::{Program, Workers, serve_worker};
