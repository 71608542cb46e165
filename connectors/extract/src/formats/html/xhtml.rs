//! XHTML in the notation of HTML.
//!
//! A parser of HTML takes `<title/>` for the beginning of a title without end, and what is in a CDATA section for a
//! comment. Only that is written anew here; everything else stays as it is.

use std::borrow::Cow;

/// Elements that have no end tag in HTML either.
const VOID: [&str; 14] = [
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source",
    "track", "wbr",
];

/// Returns the text with an end tag for each element that is written as empty.
pub(super) fn as_html(text: &str) -> Cow<'_, str> {
    if !text.contains("/>") && !text.contains("<![CDATA[") {
        return Cow::Borrowed(text);
    }
    let mut html = String::with_capacity(text.len() + text.len() / 16);
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        html.push_str(&rest[..at]);
        rest = &rest[at..];
        let length = if rest.starts_with("<!--") {
            through(rest, "-->")
        } else if let Some(section) = rest.strip_prefix("<![CDATA[") {
            let length = section.find("]]>").unwrap_or(section.len());
            push_escaped(&mut html, &section[..length]);
            rest = section[length..].strip_prefix("]]>").unwrap_or_default();
            continue;
        } else {
            tag_length(rest)
        };
        let (tag, after) = rest.split_at(length);
        rest = after;
        match empty_element(tag) {
            Some(name) => {
                html.push_str(&tag[..tag.len() - 2]);
                html.push_str("></");
                html.push_str(name);
                html.push('>');
            }
            None => html.push_str(tag),
        }
    }
    html.push_str(rest);
    Cow::Owned(html)
}

/// Returns the name of an element that is written as empty and may not be so in HTML.
fn empty_element(tag: &str) -> Option<&str> {
    let inner = tag.strip_prefix('<')?.strip_suffix("/>")?;
    let end = inner.find(|character: char| character.is_ascii_whitespace());
    let name = &inner[..end.unwrap_or(inner.len())];
    let is_name = name.starts_with(|character: char| character.is_ascii_alphabetic());
    let is_void = VOID.iter().any(|void| name.eq_ignore_ascii_case(void));
    (is_name && !is_void).then_some(name)
}

fn through(rest: &str, end: &str) -> usize {
    rest.find(end).map_or(rest.len(), |at| at + end.len())
}

/// Returns the length of a tag; `>` in the value of an attribute does not end it.
fn tag_length(rest: &str) -> usize {
    let mut quote = None;
    for (at, byte) in rest.bytes().enumerate().skip(1) {
        match (quote, byte) {
            (None, b'>') => return at + 1,
            (None, b'"' | b'\'') => quote = Some(byte),
            // A text that is no tag after all.
            (None, b'<') => return at,
            (Some(open), byte) if open == byte => quote = None,
            _ => {}
        }
    }
    rest.len()
}

fn push_escaped(html: &mut String, text: &str) {
    for character in text.chars() {
        match character {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            other => html.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::as_html;

    #[test]
    fn empty_elements_end_and_sections_become_text() {
        let html = as_html("<title/><p a='/>'>x<br/><a id=\"b\" /> 1 < 2 /><i/>y<!-- <b/> --></p>");
        assert_eq!(
            html,
            "<title></title><p a='/>'>x<br/><a id=\"b\" ></a> 1 < 2 /><i></i>y<!-- <b/> --></p>"
        );
        assert_eq!(
            as_html("<p><![CDATA[a<b & c]]>d</p>"),
            "<p>a&lt;b &amp; cd</p>"
        );
        assert_eq!(as_html("<p/"), "<p/");
        assert_eq!(as_html("<![CDATA[x"), "x");
    }
}
