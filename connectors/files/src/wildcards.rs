//! Wildcards as git matches them in ignore files.
//!
//! What they mean is git's `wildmatch`, oddities of its case folding included: there the text is
//! folded and so are plain characters of a pattern, but neither an escaped one nor the members of a
//! class. Matching takes steps in proportion to pattern times text, whatever the stars. Knows
//! nothing of lines and folders.

/// A pattern, cut up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wildcards(Vec<Part>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    /// This byte; folded together with the text.
    Byte(u8),
    /// This byte, never folded.
    Escaped(u8),
    /// Any byte but a slash.
    Any,
    /// One of a set, or one of none.
    Class(Class),
    /// Bytes without a slash.
    Star,
    /// Bytes.
    Stars,
    /// The next two parts, or nothing in their place.
    Optional,
    /// Nothing at all: what git takes for malformed matches no text.
    Never,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Class {
    is_negated: bool,
    members: Vec<Member>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Member {
    Byte(u8),
    Range(u8, u8),
    Named(Name),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Name {
    Alnum,
    Alpha,
    Blank,
    Cntrl,
    Digit,
    Graph,
    Lower,
    Print,
    Punct,
    Space,
    Upper,
    Xdigit,
}

impl Wildcards {
    /// Cuts a pattern up.
    pub(crate) fn parse(pattern: &[u8]) -> Self {
        let mut parts = Vec::new();
        let mut rest = pattern;
        while let Some((&first, after)) = rest.split_first() {
            rest = match first {
                b'*' => {
                    let before = pattern[..pattern.len() - rest.len()].last();
                    stars(before, rest, &mut parts)
                }
                b'[' => match class(after) {
                    Some((class, after)) => {
                        parts.push(Part::Class(class));
                        after
                    }
                    None => {
                        parts.push(Part::Never);
                        b""
                    }
                },
                b'\\' => {
                    parts.push(
                        after
                            .first()
                            .map_or(Part::Never, |&byte| Part::Escaped(byte)),
                    );
                    after.get(1..).unwrap_or_default()
                }
                b'?' => {
                    parts.push(Part::Any);
                    after
                }
                byte => {
                    parts.push(Part::Byte(byte));
                    after
                }
            };
        }
        Self(parts)
    }

    /// Returns whether there is a text that matches.
    pub(crate) fn is_possible(&self) -> bool {
        !self.0.contains(&Part::Never)
    }

    /// Returns whether `text` matches as a whole; `fold` leaves the case of ASCII letters out of
    /// account as far as git does.
    pub(crate) fn matches(&self, text: &[u8], fold: bool) -> bool {
        if !self.ends_alike(text, fold) {
            return false;
        }
        let mut at = vec![false; self.0.len() + 1];
        at[0] = true;
        self.skip(&mut at);
        let mut next = vec![false; at.len()];
        for &byte in text {
            let byte = if fold {
                byte.to_ascii_lowercase()
            } else {
                byte
            };
            next.fill(false);
            for (place, part) in self.0.iter().enumerate().filter(|(place, _)| at[*place]) {
                match part {
                    Part::Star => next[place] |= byte != b'/',
                    Part::Stars => next[place] = true,
                    part => next[place + 1] |= part.takes(byte, fold),
                }
            }
            std::mem::swap(&mut at, &mut next);
            self.skip(&mut at);
        }
        at[self.0.len()]
    }

    /// Adds the places that are reached without a byte.
    fn skip(&self, at: &mut [bool]) {
        for (place, part) in self.0.iter().enumerate() {
            if at[place] {
                at[place + 1] |= matches!(part, Part::Star | Part::Stars | Part::Optional);
                if *part == Part::Optional {
                    at[place + 3] = true;
                }
            }
        }
    }

    /// Compares the bytes that both end in, which rules most texts out at once.
    fn ends_alike(&self, text: &[u8], fold: bool) -> bool {
        let parts = self.0.iter().rev();
        let mut both = parts.zip(text.iter().rev());
        both.by_ref()
            .map_while(|(part, &byte)| match part {
                Part::Byte(_) => {
                    let byte = if fold {
                        byte.to_ascii_lowercase()
                    } else {
                        byte
                    };
                    Some(part.takes(byte, fold))
                }
                _ => None,
            })
            .all(|alike| alike)
    }
}

impl Part {
    /// Returns whether this part stands for a byte, folded already.
    fn takes(&self, byte: u8, fold: bool) -> bool {
        match self {
            Self::Byte(own) if fold => own.to_ascii_lowercase() == byte,
            Self::Byte(own) | Self::Escaped(own) => *own == byte,
            Self::Any => byte != b'/',
            Self::Class(class) => byte != b'/' && class.has(byte, fold) != class.is_negated,
            Self::Star | Self::Stars | Self::Optional | Self::Never => false,
        }
    }
}

impl Class {
    fn has(&self, byte: u8, fold: bool) -> bool {
        self.members.iter().any(|member| match member {
            Member::Byte(own) => *own == byte,
            Member::Range(low, high) => {
                let within = |byte| (*low..=*high).contains(&byte);
                within(byte) || fold && within(byte.to_ascii_uppercase())
            }
            Member::Named(Name::Upper) if fold => byte.is_ascii_alphabetic(),
            Member::Named(name) => name.has(byte),
        })
    }
}

impl Name {
    fn parse(name: &[u8]) -> Option<Self> {
        Some(match name {
            b"alnum" => Self::Alnum,
            b"alpha" => Self::Alpha,
            b"blank" => Self::Blank,
            b"cntrl" => Self::Cntrl,
            b"digit" => Self::Digit,
            b"graph" => Self::Graph,
            b"lower" => Self::Lower,
            b"print" => Self::Print,
            b"punct" => Self::Punct,
            b"space" => Self::Space,
            b"upper" => Self::Upper,
            b"xdigit" => Self::Xdigit,
            _ => return None,
        })
    }

    fn has(self, byte: u8) -> bool {
        match self {
            Self::Alnum => byte.is_ascii_alphanumeric(),
            Self::Alpha => byte.is_ascii_alphabetic(),
            Self::Blank => matches!(byte, b' ' | b'\t'),
            Self::Cntrl => byte.is_ascii_control(),
            Self::Digit => byte.is_ascii_digit(),
            Self::Graph => byte.is_ascii_graphic(),
            Self::Lower => byte.is_ascii_lowercase(),
            Self::Print => byte.is_ascii_graphic() || byte == b' ',
            Self::Punct => byte.is_ascii_punctuation(),
            // Git's own idea of space: neither the vertical tab nor the form feed.
            Self::Space => matches!(byte, b' ' | b'\t' | b'\n' | b'\r'),
            Self::Upper => byte.is_ascii_uppercase(),
            Self::Xdigit => byte.is_ascii_hexdigit(),
        }
    }
}

/// Reads the stars `rest` begins with, `before` being what stands before them, and returns what
/// follows. Several lead over slashes only as a component of their own.
fn stars<'p>(before: Option<&u8>, rest: &'p [u8], parts: &mut Vec<Part>) -> &'p [u8] {
    let count = rest.iter().take_while(|&&byte| byte == b'*').count();
    let after = &rest[count..];
    let is_alone = matches!(before, None | Some(b'/'))
        && (after.is_empty() || after.starts_with(b"/") || after.starts_with(b"\\/"));
    match after.strip_prefix(b"/") {
        _ if count == 1 || !is_alone => parts.push(Part::Star),
        None => parts.push(Part::Stars),
        Some(after) => {
            parts.extend([Part::Optional, Part::Stars, Part::Byte(b'/')]);
            return after;
        }
    }
    after
}

/// Reads a class behind its bracket, and returns it with what follows; nothing if it is malformed.
fn class(text: &[u8]) -> Option<(Class, &[u8])> {
    let (is_negated, mut rest) = match text.split_first() {
        Some((b'!' | b'^', rest)) => (true, rest),
        _ => (false, text),
    };
    let mut members = Vec::new();
    // What a range may begin with.
    let mut low = None;
    loop {
        let (&first, after) = rest.split_first()?;
        (low, rest) = match first {
            b'-' if low.is_some() && !matches!(after.first(), None | Some(b']')) => {
                let (high, after) = one(after)?;
                members.extend(low.map(|low| Member::Range(low, high)));
                (None, after)
            }
            b'[' if after.starts_with(b":") => match named(&after[1..])? {
                Some((name, after)) => {
                    members.push(Member::Named(Name::parse(name)?));
                    (None, after)
                }
                None => {
                    members.push(Member::Byte(b'['));
                    (Some(b'['), after)
                }
            },
            _ => {
                let (byte, after) = one(rest)?;
                members.push(Member::Byte(byte));
                (Some(byte), after)
            }
        };
        // The first member may be a closing bracket.
        if let Some(after) = rest.strip_prefix(b"]") {
            let class = Class {
                is_negated,
                members,
            };
            return Some((class, after));
        }
    }
}

/// Reads one member, escaped or not.
fn one(text: &[u8]) -> Option<(u8, &[u8])> {
    let (&first, rest) = text.split_first()?;
    match first {
        b'\\' => rest.split_first().map(|(&byte, rest)| (byte, rest)),
        byte => Some((byte, rest)),
    }
}

/// Reads the name of a class up to its `:]`; nothing within if it ends otherwise, nothing at all
/// if it does not end.
fn named(text: &[u8]) -> Option<Option<(&[u8], &[u8])>> {
    let end = text.iter().position(|&byte| byte == b']')?;
    let name = text[..end].strip_suffix(b":");
    Some(name.map(|name| (name, &text[end + 1..])))
}

#[cfg(test)]
mod tests {
    use super::Wildcards;

    #[test]
    fn many_stars_do_not_take_for_ever() {
        let pattern = b"**/*a".repeat(40);
        let text = b"a".repeat(4000);
        assert!(!Wildcards::parse(&[&pattern[..], b"b"].concat()).matches(&text, false));
        assert!(Wildcards::parse(&b"*a".repeat(200)).matches(&text, true));
    }

    #[test]
    fn what_is_malformed_is_known_to_match_nothing() {
        for pattern in ["a[b", "[]", "[!]", "[\\", "a\\", "[[:foo:]]", "[a-\\"] {
            assert!(
                !Wildcards::parse(pattern.as_bytes()).is_possible(),
                "{pattern}"
            );
        }
        for pattern in ["[]]", "[!]a]", "[[:alpha:]]", "\\[", "[[:a]", "[a-]"] {
            assert!(
                Wildcards::parse(pattern.as_bytes()).is_possible(),
                "{pattern}"
            );
        }
    }
}
