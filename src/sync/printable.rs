//! Foreign text made safe to print: what a source, a remote or a gateway says is shown to people.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Returns `text` with control characters written as escapes, so that a name or a message of a
/// source can neither move the cursor nor forge a line.
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.chars().any(must_be_escaped) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        if must_be_escaped(character) {
            // Writing to a string cannot fail.
            let _ = write!(safe, "{}", character.escape_default());
        } else {
            safe.push(character);
        }
    }
    Cow::Owned(safe)
}

/// Control characters but the harmless tab, and the marks that turn the direction of text around.
fn must_be_escaped(character: char) -> bool {
    (character.is_control() && character != '\t')
        || matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::printable;

    #[test]
    fn escapes_cannot_reach_the_terminal() {
        assert_eq!(printable("a\u{1b}[2Jb\nc"), r"a\u{1b}[2Jb\nc");
        assert_eq!(printable("caf\u{e9} \u{202e}x"), "caf\u{e9} \\u{202e}x");
        assert_eq!(printable("plain\ttext"), "plain\ttext");
    }
}
