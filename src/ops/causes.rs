//! Errors in one line, for reports and tables that have no room for a chain of causes.

use std::error::Error;

/// Returns a message with those of its causes that it does not repeat itself.
pub(super) fn with_causes(error: &dyn Error) -> String {
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(current) = cause {
        let text = current.to_string();
        if !message.contains(&text) {
            message.push_str(": ");
            message.push_str(&text);
        }
        cause = current.source();
    }
    message
}
