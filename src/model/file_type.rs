//! Format of a document's source (hash contract §10): an open set with a grammar, no aliases.

use thiserror::Error;

/// A string outside the grammar of `file_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "a file_type is 1 to 32 characters: a lowercase letter or digit, then lowercase letters, \
     digits and underscores"
)]
pub struct InvalidFileType;

/// Values with an agreed meaning, in registry order. Others are as valid.
#[rustfmt::skip]
pub const RECOMMENDED_FILE_TYPES: [&str; 38] = [
    "bmp", "csv", "doc", "docx", "eml", "epub", "heic", "html", "jpg", "json", "md", "msg",
    "ndjson", "odt", "org", "pdf", "png", "ppt", "pptx", "rst", "rtf", "tiff", "tsv", "txt", "wav",
    "xls", "xlsx", "xml", "zip", "git_repo", "java_repo", "python_repo", "javascript_repo",
    "typescript_repo", "unk", "empty", "jira_project", "jira_issue",
];

/// Checks the grammar `[a-z0-9][a-z0-9_]{0,31}` over the whole string.
///
/// # Errors
/// [`InvalidFileType`] if it does not match.
pub fn check_file_type(text: &str) -> Result<(), InvalidFileType> {
    let is_alphanumeric = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let valid = text.len() <= 32
        && text.bytes().next().is_some_and(is_alphanumeric)
        && text
            .bytes()
            .all(|byte| is_alphanumeric(byte) || byte == b'_');
    if valid { Ok(()) } else { Err(InvalidFileType) }
}
