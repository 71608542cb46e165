//! Damage: stored content that is not what was stored.
//!
//! A store is a file, and what a file holds is no promise. Whatever reads content says so with an
//! error, and here is which errors mean that waiting does not help.

use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase, TypeMismatch};
use rusqlite::types::Type;

/// Makes the error of stored content that cannot be what was stored.
pub(super) fn damaged(why: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(0, Type::Text, why.into())
}

/// Whether an error means that the content of the database is damaged, which no later attempt
/// changes.
pub(crate) fn is_damage(error: &rusqlite::Error) -> bool {
    match error {
        rusqlite::Error::SqliteFailure(failure, message) => {
            matches!(failure.code, DatabaseCorrupt | NotADatabase | TypeMismatch)
                || is_about_schema(message.as_deref().unwrap_or_default())
        }
        rusqlite::Error::SqlInputError { msg, .. } => is_about_schema(msg),
        rusqlite::Error::FromSqlConversionFailure(..)
        | rusqlite::Error::IntegralValueOutOfRange(..)
        | rusqlite::Error::InvalidColumnType(..)
        | rusqlite::Error::QueryReturnedNoRows
        | rusqlite::Error::Utf8Error(..) => true,
        _ => false,
    }
}

/// Statements are fixed: if one names what is not there, the tables are not those of a store.
fn is_about_schema(message: &str) -> bool {
    message.starts_with("no such ")
}
