//! A look at the tags of a text before it is parsed.
//!
//! The tokenizer compares each attribute of a tag with all before it, and a tag can be as long as the
//! file. This pass finds, in one go over the bytes, whether some tag has attributes beyond any use.

/// More attributes than any tag has that somebody wrote.
const MAX_ATTRIBUTES: usize = 2000;

/// Elements whose content holds no tags.
const RAW: [&[u8]; 8] = [
    b"script",
    b"style",
    b"textarea",
    b"title",
    b"iframe",
    b"xmp",
    b"noembed",
    b"noframes",
];

/// Whether some tag has more attributes than [`MAX_ATTRIBUTES`].
pub(super) fn have_absurd_attributes(text: &str) -> bool {
    let mut rest = text.as_bytes();
    while let Some(at) = memchr::memchr(b'<', rest) {
        rest = &rest[at + 1..];
        if let Some(comment) = rest.strip_prefix(b"!--") {
            rest = after(comment, b"-->");
        } else if rest.first().is_some_and(u8::is_ascii_alphabetic) {
            let (name, tag) = rest.split_at(name_length(rest));
            let (attributes, following) = attributes(tag);
            if attributes > MAX_ATTRIBUTES {
                return true;
            }
            rest = following;
            if RAW.iter().any(|raw| raw.eq_ignore_ascii_case(name)) {
                rest = after_raw(rest, name);
            }
        }
    }
    false
}

/// Counts the attributes of a tag and returns what follows it.
fn attributes(tag: &[u8]) -> (usize, &[u8]) {
    let mut rest = tag;
    let mut count = 0;
    loop {
        let start = rest
            .iter()
            .position(|byte| !byte.is_ascii_whitespace() && *byte != b'/');
        let Some(start) = start else {
            return (count, b"");
        };
        if rest[start] == b'>' {
            return (count, &rest[start + 1..]);
        }
        count += 1;
        // An attribute's name may begin with `=`.
        rest = &rest[start + 1..];
        rest = &rest[name_length(rest)..];
        if let Some(value) = rest.trim_ascii_start().strip_prefix(b"=") {
            rest = after_value(value.trim_ascii_start());
        }
    }
}

fn after_value(value: &[u8]) -> &[u8] {
    match value.first() {
        Some(quote @ (b'"' | b'\'')) => after(&value[1..], &[*quote]),
        _ => {
            let end = value
                .iter()
                .position(|byte| byte.is_ascii_whitespace() || *byte == b'>');
            &value[end.unwrap_or(value.len())..]
        }
    }
}

fn name_length(text: &[u8]) -> usize {
    text.iter()
        .position(|byte| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'>' | b'='))
        .unwrap_or(text.len())
}

fn after<'a>(text: &'a [u8], end: &[u8]) -> &'a [u8] {
    memchr::memmem::find(text, end).map_or(b"", |at| &text[at + end.len()..])
}

/// Returns what follows the end tag of an element without tags in it.
fn after_raw<'a>(text: &'a [u8], name: &[u8]) -> &'a [u8] {
    memchr::memmem::find_iter(text, b"</")
        .map(|at| &text[at + 2..])
        .find(|rest| {
            rest.get(..name.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(name))
        })
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{MAX_ATTRIBUTES, attributes, have_absurd_attributes};

    #[test]
    fn attributes_are_counted_as_html_does() {
        assert_eq!(
            attributes(b" a b=1 c='x > y' d = \"z\"/>rest"),
            (4, &b"rest"[..])
        );
        assert_eq!(attributes(b">rest"), (0, &b"rest"[..]));
        assert_eq!(attributes(b" a='open"), (1, &b""[..]));
        assert_eq!(attributes(b" a"), (1, &b""[..]));
    }

    #[test]
    fn only_tags_count() {
        let many = " a".repeat(MAX_ATTRIBUTES + 1);
        assert!(have_absurd_attributes(&format!("x<p{many}>")));
        assert!(have_absurd_attributes(&format!(
            "<Script>1</SCRIPT><p{many}"
        )));
        assert!(!have_absurd_attributes(&format!("<!-- <p{many}> -->")));
        assert!(!have_absurd_attributes(&format!(
            "<script>if (i<p{many}>1)</script>"
        )));
        assert!(!have_absurd_attributes(&format!(
            "<p title='{many}'> < p{many}>"
        )));
    }
}
