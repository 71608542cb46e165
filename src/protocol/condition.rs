//! The grammar of conditional header fields, as a server judges it (http-binding §5.1).
//!
//! Only form is judged here; what a tag is compared with is the store's business.

/// Says that a conditional field is not of the accepted form: `DPE_VALIDATION`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// A well-formed entity-tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntityTag<'h> {
    weak: bool,
    opaque: &'h [u8],
}

impl<'h> EntityTag<'h> {
    /// Returns the text between the quotes if the tag is strong; a weak one never matches a write.
    pub fn strong(self) -> Option<&'h [u8]> {
        (!self.weak).then_some(self.opaque)
    }

    /// Returns the text between the quotes, with `W/` ignored (weak comparison).
    pub fn opaque(self) -> &'h [u8] {
        self.opaque
    }

    /// Reads one tag at the start of `text` and returns it with what follows.
    fn split(text: &'h [u8]) -> Result<(Self, &'h [u8]), Malformed> {
        let (weak, quoted) = match text.strip_prefix(b"W/") {
            Some(quoted) => (true, quoted),
            None => (false, text),
        };
        let inner = quoted.strip_prefix(b"\"").ok_or(Malformed)?;
        let end = inner
            .iter()
            .position(|&byte| !matches!(byte, 0x21 | 0x23..=0x7e | 0x80..=0xff))
            .ok_or(Malformed)?;
        if inner[end] != b'"' {
            return Err(Malformed);
        }
        let opaque = &inner[..end];
        Ok((Self { weak, opaque }, &inner[end + 1..]))
    }
}

/// `If-None-Match` of a read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IfNoneMatch<'h> {
    /// `*`: any existing document matches.
    Any,
    /// One or more tags.
    Tags(Vec<EntityTag<'h>>),
}

/// Reads `If-Match` of a write: exactly one entity-tag.
pub fn if_match(value: &[u8]) -> Result<EntityTag<'_>, Malformed> {
    match EntityTag::split(trim(value))? {
        (tag, []) => Ok(tag),
        _ => Err(Malformed),
    }
}

/// Reads `If-None-Match` of a commit: exactly `*`.
pub fn if_absent(value: &[u8]) -> Result<(), Malformed> {
    if trim(value) == b"*" {
        Ok(())
    } else {
        Err(Malformed)
    }
}

/// Reads `If-None-Match` of get_skeleton: `*`, or a list of tags without empty items.
pub fn if_none_match(value: &[u8]) -> Result<IfNoneMatch<'_>, Malformed> {
    let mut rest = trim(value);
    if rest == b"*" {
        return Ok(IfNoneMatch::Any);
    }
    let mut tags = Vec::new();
    loop {
        let (tag, after) = EntityTag::split(rest)?;
        tags.push(tag);
        match trim(after) {
            [] => return Ok(IfNoneMatch::Tags(tags)),
            [b',', next @ ..] => rest = trim(next),
            _ => return Err(Malformed),
        }
    }
}

/// Removes optional whitespace: spaces and tabs only.
fn trim(mut value: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = value {
        value = rest;
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tags(value: &str) -> Result<Vec<(bool, String)>, Malformed> {
        Ok(match if_none_match(value.as_bytes())? {
            IfNoneMatch::Any => vec![],
            IfNoneMatch::Tags(tags) => tags
                .into_iter()
                .map(|tag| {
                    let text = String::from_utf8_lossy(tag.opaque()).into_owned();
                    (tag.strong().is_none(), text)
                })
                .collect(),
        })
    }

    #[test]
    fn if_match_is_exactly_one_tag() {
        for (value, text) in [
            ("\"x\"", "x"),
            ("\"\"", ""),
            (" \t\"a,b\"\t ", "a,b"),
            ("\"dpe1:00\"", "dpe1:00"),
        ] {
            let tag = if_match(value.as_bytes()).expect(value);
            assert_eq!(tag.strong(), Some(text.as_bytes()), "{value}");
        }
        assert_eq!(
            if_match(b"\"\x80\xff\"").map(EntityTag::strong),
            Ok(Some(&b"\x80\xff"[..]))
        );
        for value in [
            "*",
            "",
            " ",
            "x",
            "\"a\", \"b\"",
            "\"a\",",
            "\"a",
            "a\"",
            "w/\"a\"",
            "W/",
            "W/a",
            "W/ \"a\"",
            "\"a b\"",
            "\"a\tb\"",
            "\"a\"b",
            "\"a\x7f\"",
            "\"a\"\"",
        ] {
            assert_eq!(if_match(value.as_bytes()), Err(Malformed), "{value:?}");
        }
    }

    #[test]
    fn weak_tag_is_well_formed_but_never_strong() {
        let tag = if_match(b"W/\"x\"").expect("the form is accepted");
        assert_eq!(tag.strong(), None);
        assert_eq!(tag.opaque(), b"x");
    }

    #[test]
    fn if_none_match_of_a_commit_is_exactly_the_star() {
        assert_eq!(if_absent(b"*"), Ok(()));
        assert_eq!(if_absent(b"\t* "), Ok(()));
        for value in ["", "\"x\"", "*,*", "* *", "*, \"x\""] {
            assert_eq!(if_absent(value.as_bytes()), Err(Malformed), "{value}");
        }
    }

    #[test]
    fn if_none_match_of_a_read_is_star_or_a_list_without_empty_items() {
        assert_eq!(if_none_match(b" * "), Ok(IfNoneMatch::Any));
        let one = |weak, text: &str| (weak, text.to_owned());
        assert_eq!(tags("\"a,b\""), Ok(vec![one(false, "a,b")]));
        assert_eq!(
            tags("\"a\" ,\tW/\"b\",\"\""),
            Ok(vec![one(false, "a"), one(true, "b"), one(false, "")])
        );
        // The list of http-binding §5.1, and its neighbours.
        for value in [
            "x",
            "\"unterminated",
            "W/",
            "*, \"x\"",
            "\"a\",",
            "\"a\",,\"b\"",
            "",
            "\"x\", *",
            ",\"a\"",
            "\"a\" \"b\"",
            "\"a\"; \"b\"",
        ] {
            assert_eq!(if_none_match(value.as_bytes()), Err(Malformed), "{value}");
        }
    }
}
