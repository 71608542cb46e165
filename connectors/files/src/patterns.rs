//! Patterns as git reads them (gitignore(5)).
//!
//! The text of an ignore file is bytes, and so are the paths: nothing here cares for encodings.
//! How a line is cut up, and which part of a path it is held against, is decided here; what its
//! wildcards match, in [`crate::wildcards`]. Knows no files.

use bstr::ByteSlice;

use crate::wildcards::Wildcards;

/// Whether case counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// It does.
    Sensitive,
    /// That of ASCII letters does not, as with `core.ignoreCase`.
    Fold,
}

/// The patterns of one file, or of one member of the configuration, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patterns(Vec<Pattern>);

/// A line with a pattern, as it stands in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'p> {
    /// Its number, from 1 on.
    pub number: usize,
    /// The pattern, with its marks and without what git cuts off its end.
    pub text: &'p [u8],
    /// Whether it takes back what earlier lines said.
    pub is_negative: bool,
}

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Pattern {
    /// Number of the line, from 1 on.
    number: usize,
    /// The line, as far as it counts.
    text: Vec<u8>,
    /// Stands for itself, at the beginning. The marks of negation and of folders are gone, and so
    /// is a leading slash.
    literal: Vec<u8>,
    /// What follows; nothing if there is no wildcard.
    wild: Option<Wildcards>,
    /// Takes back what earlier lines said.
    is_negative: bool,
    /// Speaks of folders only.
    only_folders: bool,
    /// Is held against the last component only.
    is_name: bool,
}

impl Patterns {
    /// Reads the text of an ignore file.
    pub fn parse(text: &[u8]) -> Self {
        let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
        let lines = text.split(|&byte| byte == b'\n').zip(1..);
        Self(
            lines
                .filter_map(|(text, number)| line(text, number))
                .collect(),
        )
    }

    /// Reads globs that were given one by one.
    ///
    /// # Errors
    ///
    /// Says what is wrong with a glob that could never name anything.
    pub fn of_globs(globs: &[String]) -> Result<Self, String> {
        let pattern = |(glob, number): (&String, usize)| {
            let refused = |why| Err(format!("{glob:?} {why}"));
            match line(glob.as_bytes(), number) {
                _ if glob.contains('\n') => refused("has more than one line"),
                None => refused("is empty or a comment"),
                Some(pattern) if !pattern.is_possible() => {
                    refused("ends in a backslash or within a class [...], or names no class")
                }
                Some(pattern) => Ok(pattern),
            }
        };
        globs
            .iter()
            .zip(1..)
            .map(pattern)
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// Returns no patterns.
    pub const fn empty() -> Self {
        Self(Vec::new())
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns what these patterns say of `path`, relative to the folder they belong to: whether
    /// it is named, or taken back. Nothing if they do not speak of it; the folders above it are
    /// not looked at.
    pub fn verdict(&self, path: &[u8], is_folder: bool, case: Case) -> Option<bool> {
        let decisive = self.decisive(path, is_folder, case)?;
        Some(!decisive.is_negative)
    }

    /// Returns the line that decides what these patterns say of `path`, as [`Self::verdict`] does.
    pub fn decisive(&self, path: &[u8], is_folder: bool, case: Case) -> Option<Line<'_>> {
        let mut from_the_last = self.0.iter().rev();
        let pattern = from_the_last.find(|pattern| pattern.matches(path, is_folder, case))?;
        Some(Line {
            number: pattern.number,
            text: &pattern.text,
            is_negative: pattern.is_negative,
        })
    }
}

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Reads one line; nothing if it has no pattern.
fn line(line: &[u8], number: usize) -> Option<Pattern> {
    if line.starts_with(b"#") {
        return None;
    }
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    // Git's lines are C strings.
    let line = line.split(|&byte| byte == 0).next().unwrap_or(line);
    let line = without_trailing_spaces(line);
    let whole = line;
    let (is_negative, line) = match line.strip_prefix(b"!") {
        Some(rest) => (true, rest),
        None => (false, line),
    };
    let (only_folders, text) = match line.strip_suffix(b"/") {
        Some(rest) => (true, rest),
        None => (false, line),
    };
    let is_name = !text.contains(&b'/');
    let text = text.strip_prefix(b"/").unwrap_or(text);
    let literal = text.find_byteset(b"*?[\\").unwrap_or(text.len());
    let (literal, wild) = text.split_at(literal);
    (!text.is_empty()).then(|| Pattern {
        number,
        text: whole.to_owned(),
        literal: literal.to_owned(),
        wild: (!wild.is_empty()).then(|| Wildcards::parse(wild)),
        is_negative,
        only_folders,
        is_name,
    })
}

/// Cuts the spaces at the end off, as far as no backslash keeps them.
fn without_trailing_spaces(line: &[u8]) -> &[u8] {
    let mut end = 0;
    let mut at = 0;
    while at < line.len() {
        match line[at] {
            b'\\' if at + 1 == line.len() => return line,
            b'\\' => at += 2,
            byte => {
                at += 1;
                if byte == b' ' {
                    continue;
                }
            }
        }
        end = at;
    }
    &line[..end]
}

impl Pattern {
    fn matches(&self, path: &[u8], is_folder: bool, case: Case) -> bool {
        if self.only_folders && !is_folder {
            return false;
        }
        let start = match path.rfind_byte(b'/') {
            Some(slash) if self.is_name => slash + 1,
            _ => 0,
        };
        let value = &path[start..];
        let Some((begins, rest)) = value.split_at_checked(self.literal.len()) else {
            return false;
        };
        let fold = case == Case::Fold;
        let is_alike = match fold {
            true => begins.eq_ignore_ascii_case(&self.literal),
            false => begins == self.literal,
        };
        is_alike
            && match &self.wild {
                None => rest.is_empty(),
                Some(wild) => wild.matches(rest, fold),
            }
    }

    /// Returns whether every class ends and no backslash does; what is not so never matches.
    fn is_possible(&self) -> bool {
        self.wild.as_ref().is_none_or(Wildcards::is_possible)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(text: &str, path: &str, is_folder: bool) -> Option<bool> {
        Patterns::parse(text.as_bytes()).verdict(path.as_bytes(), is_folder, Case::Sensitive)
    }

    /// From the examples and rules of gitignore(5).
    #[test]
    fn lines_mean_what_the_manual_of_git_says() {
        let cases = [
            ("hello.*", "a/b/hello.txt", false, Some(true)),
            ("/hello.*", "a/hello.java", false, None),
            ("foo/", "a/foo", true, Some(true)),
            ("foo/", "a/foo", false, None),
            ("doc/frotz", "a/doc/frotz", false, None),
            ("foo/*", "foo/test.json", false, Some(true)),
            ("foo/*", "foo/bar/hello.c", false, None),
            ("**/foo/bar", "a/foo/bar", false, Some(true)),
            ("abc/**", "abc/d/e", false, Some(true)),
            ("abc/**", "abc", true, None),
            ("a/**/b", "a/b", false, Some(true)),
            ("a/**/b", "a/x/y/b", false, Some(true)),
            ("*\n!a", "a", false, Some(false)),
            ("\\!a", "!a", false, Some(true)),
            ("\\#a", "#a", false, Some(true)),
            ("# a", "# a", false, None),
            ("a  ", "a", false, Some(true)),
            ("a\\ ", "a ", false, Some(true)),
            ("a\\", "a\\", false, None),
            ("a[bc", "a[bc", false, None),
        ];
        for (text, path, is_folder, expected) in cases {
            assert_eq!(verdict(text, path, is_folder), expected, "{text:?} {path}");
        }
    }

    #[test]
    fn braces_and_encodings_mean_nothing() {
        assert_eq!(verdict("{a,b}", "a", false), None);
        assert_eq!(verdict("{a,b}", "{a,b}", false), Some(true));
        let latin = Patterns::parse(b"caf\xe9\n?\xff");
        assert_eq!(
            latin.verdict(b"caf\xe9", false, Case::Sensitive),
            Some(true)
        );
        assert_eq!(latin.verdict(b"x\xff", false, Case::Sensitive), Some(true));
    }

    #[test]
    fn case_counts_unless_it_is_said_not_to() {
        let patterns = Patterns::parse(b"Build/*.O");
        assert_eq!(patterns.verdict(b"build/a.o", false, Case::Sensitive), None);
        assert_eq!(
            patterns.verdict(b"build/a.o", false, Case::Fold),
            Some(true)
        );
    }

    #[test]
    fn globs_that_can_name_nothing_are_refused() {
        for glob in [
            "", " ", "#a", "/", "!", "a[b", "[]", "[!]", "[\\", "a\\", "a\nb",
        ] {
            assert!(Patterns::of_globs(&[glob.to_owned()]).is_err(), "{glob:?}");
        }
        for glob in ["[]]", "[!]a]", "[[:alpha:]]", "a\\[", "!a/"] {
            assert!(Patterns::of_globs(&[glob.to_owned()]).is_ok(), "{glob:?}");
        }
    }
}
