//! Room `model` (layer 1): what a document is, and the identity of its content.
//!
//! Document, page and element with their closed schemas and validation order, content hashes under
//! every known contract, blob references, file_uri and file_type: hash contract 1, complete. This
//! room takes values and gives values; it knows no remote, no source, no disk and no clock.

mod blob;
mod category;
mod children;
mod contract;
mod depth;
mod document;
mod element;
mod expanded;
mod expanded_text;
mod fields;
mod file_type;
mod file_uri;
mod hash;
mod hex;
mod page;
mod preimage;
mod remote_url;
mod tree;
mod violation;

pub use blob::{BlobHasher, BlobRef, InvalidBlobRef};
pub use category::{CATEGORIES, Category, ContentFields};
pub use contract::{Contract, Contracts};
pub use depth::{MAX_NESTING_DEPTH, nesting_depth};
pub use document::{DocumentObject, doc_hash, document};
pub use element::{ElementObject, element};
pub use expanded::{ExpandedHashes, PageHashes, expanded};
pub use expanded_text::expanded_text;
pub use file_type::{InvalidFileType, RECOMMENDED_FILE_TYPES, check_file_type};
pub use file_uri::{FileUri, InvalidUri};
pub use hash::{Hash, HashError};
pub use page::{PageObject, canonical_page_length, page, page_hash};
pub use remote_url::{InvalidRemoteUrl, check_remote_url};
pub use tree::{Object, Tree, TreeBuilder, byte_sources};
pub use violation::{Code, Violation};
