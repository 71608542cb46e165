//! RFC 6901 pointers.
//!
//! Pointers are only needed once something is wrong, so nobody keeps a path while reading: it is
//! found again from the place in the text.

use super::value::Value;

/// Appends one reference token, escaped, to a pointer.
pub fn push_token(pointer: &mut String, token: &str) {
    pointer.push('/');
    for character in token.chars() {
        match character {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            other => pointer.push(other),
        }
    }
}

/// Returns the pointer from `root` to the value that begins at byte `offset` of the text.
pub(super) fn to_offset(root: Value<'_>, offset: usize) -> String {
    let mut pointer = String::new();
    let mut here = root;
    while here.offset() != offset {
        let Some((token, child)) = child_at(here, offset) else {
            break;
        };
        push_token(&mut pointer, &token);
        here = child;
    }
    pointer
}

fn child_at(parent: Value<'_>, offset: usize) -> Option<(String, Value<'_>)> {
    if let Some(mut members) = parent.members() {
        return members
            .find(|(_, value)| value.covers(offset))
            .map(|(name, value)| (name.into_owned(), value));
    }
    parent
        .items()?
        .enumerate()
        .find(|(_, item)| item.covers(offset))
        .map(|(position, item)| (position.to_string(), item))
}
