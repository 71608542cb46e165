//! The grammar and the bounds (connector contract §5.1, §5.2).
//!
//! Reads the text once, and knows the expansion size of every part as soon as it has been read.

mod bracket;

use super::class::Class;
use super::count::Count;
use super::error::{PatternError, PatternReason};
use super::tree::{Branch, Node, Tree};

/// Longest pattern, in scalar values.
const MAX_LENGTH: usize = 1024;

/// Deepest nesting of groups.
const MAX_NESTING: usize = 64;

/// Largest expansion size.
const MAX_EXPANSION: u64 = 4096;

/// Reads a whole pattern.
pub(super) fn tree(text: &str) -> Result<Tree, PatternError> {
    let text: Vec<char> = text.chars().collect();
    if text.len() > MAX_LENGTH {
        return Err(PatternReason::Length.at(MAX_LENGTH));
    }
    Parser {
        text: &text,
        at: 0,
        depth: 0,
        classes: Vec::new(),
    }
    .whole()
}

/// A part with its expansion size.
struct Part {
    node: Node,
    size: u64,
}

struct Parser<'p> {
    text: &'p [char],
    at: usize,
    depth: usize,
    classes: Vec<Class>,
}

impl<'p> Parser<'p> {
    fn whole(mut self) -> Result<Tree, PatternError> {
        let mut branches = Vec::new();
        let mut size: u64 = 0;
        loop {
            let (branch, added) = self.top()?;
            branches.push(branch);
            size = size.saturating_add(added);
            if !self.eat('|') {
                break;
            }
        }
        match self.peek() {
            Some('^' | '$') => Err(self.here(PatternReason::AnchorPosition)),
            Some(_) => Err(self.here(PatternReason::Syntax)),
            None if size > MAX_EXPANSION => Err(PatternReason::Expansion.at(0)),
            None => Ok(Tree {
                branches,
                classes: self.classes,
            }),
        }
    }

    fn top(&mut self) -> Result<(Branch, u64), PatternError> {
        let from_start = self.eat('^');
        let body = self.branch()?;
        let to_end = self.eat('$');
        if to_end && !matches!(self.peek(), None | Some('|')) {
            return Err(PatternReason::AnchorPosition.at(self.at - 1));
        }
        let branch = Branch {
            from_start,
            body: body.node,
            to_end,
        };
        Ok((branch, body.size))
    }

    /// Reads pieces up to whatever is none; whoever called knows whether it may stand there.
    fn branch(&mut self) -> Result<Part, PatternError> {
        let mut nodes = Vec::new();
        let mut size: u64 = 0;
        while !matches!(self.peek(), None | Some('|' | ')' | '^' | '$')) {
            let piece = self.piece()?;
            nodes.push(piece.node);
            size = size.saturating_add(piece.size);
        }
        let node = Node::Sequence(nodes);
        Ok(Part { node, size })
    }

    fn piece(&mut self) -> Result<Part, PatternError> {
        let atom = self.atom()?;
        let Some((least, most, factor)) = self.quantifier()? else {
            return Ok(atom);
        };
        match self.peek() {
            Some('?') => return Err(self.here(PatternReason::LazyQuantifier)),
            Some('+') => return Err(self.here(PatternReason::PossessiveQuantifier)),
            Some('*' | '{') => return Err(self.here(PatternReason::StackedQuantifier)),
            _ => {}
        }
        Ok(Part {
            node: Node::repeated(atom.node, least, most),
            size: atom.size.saturating_mul(factor),
        })
    }

    /// Returns the least and the most repetitions, and what the size is multiplied with.
    fn quantifier(&mut self) -> Result<Option<(u64, Option<u64>, u64)>, PatternError> {
        let simple = match self.peek() {
            Some('*') => (0, None, 1),
            Some('+') => (1, None, 1),
            Some('?') => (0, Some(1), 1),
            Some('{') => return self.counted().map(Some),
            _ => return Ok(None),
        };
        self.at += 1;
        Ok(Some(simple))
    }

    fn counted(&mut self) -> Result<(u64, Option<u64>, u64), PatternError> {
        let wrong = self.here(PatternReason::InvalidRepetition);
        self.at += 1;
        let least = self.count().ok_or(wrong)?;
        let open = self.eat(',');
        let most = if open { self.count() } else { Some(least) };
        if !self.eat('}') || most.is_some_and(|most| most < least) {
            return Err(wrong);
        }
        let factor = most.unwrap_or(least).value();
        Ok((least.value(), most.map(Count::value), factor))
    }

    fn count(&mut self) -> Option<Count<'p>> {
        let rest = &self.text[self.at..];
        let length = rest.iter().take_while(|char| char.is_ascii_digit()).count();
        self.at += length;
        (length > 0).then(|| Count::new(&rest[..length]))
    }

    fn atom(&mut self) -> Result<Part, PatternError> {
        let here = self.at;
        let Some(character) = self.peek() else {
            return Err(PatternReason::Syntax.at(here));
        };
        self.at += 1;
        match character {
            '(' => self.group(),
            '[' => self.class(),
            '.' => Ok(self.one(Class::any(), 1)),
            '\\' => {
                let class = match self.shorthand() {
                    Some(class) => class,
                    None => Class::of(self.escape()?),
                };
                Ok(self.one(class, 1))
            }
            '*' | '+' | '?' | '{' | '}' => Err(PatternReason::InvalidRepetition.at(here)),
            ']' => Err(PatternReason::Syntax.at(here)),
            literal => Ok(self.one(Class::of(literal), 1)),
        }
    }

    fn one(&mut self, class: Class, size: u64) -> Part {
        self.classes.push(class);
        let node = Node::One(self.classes.len() - 1);
        Part { node, size }
    }

    /// Reads a group behind its parenthesis.
    fn group(&mut self) -> Result<Part, PatternError> {
        let open = self.at - 1;
        if self.eat('?') && !self.eat(':') {
            return Err(self.extended_group().at(open));
        }
        self.depth += 1;
        if self.depth > MAX_NESTING {
            return Err(PatternReason::NestingDepth.at(open));
        }
        let mut nodes = Vec::new();
        let mut size: u64 = 0;
        loop {
            let branch = self.branch()?;
            nodes.push(branch.node);
            size = size.saturating_add(branch.size);
            if !self.eat('|') {
                break;
            }
        }
        match self.peek() {
            Some(')') => self.at += 1,
            Some('^' | '$') => return Err(self.here(PatternReason::AnchorPosition)),
            _ => return Err(PatternReason::Syntax.at(open)),
        }
        self.depth -= 1;
        let node = Node::Choice(nodes);
        let size = size.max(1);
        Ok(Part { node, size })
    }

    /// Names what begins with `(?` and is not in the subset.
    fn extended_group(&self) -> PatternReason {
        match (self.peek(), self.text.get(self.at + 1)) {
            (Some('=' | '!'), _) | (Some('<'), Some('=' | '!')) => PatternReason::Lookaround,
            (Some('<' | '\''), _) | (Some('P'), Some('<')) => PatternReason::NamedGroup,
            (Some('P'), Some('=')) => PatternReason::Backreference,
            (Some('#'), _) => PatternReason::CommentGroup,
            (Some(flag), _) if flag.is_ascii_alphabetic() || flag == '-' => {
                PatternReason::InlineFlag
            }
            _ => PatternReason::Syntax,
        }
    }

    /// Reads the letter of a shorthand behind its backslash, if it is one.
    fn shorthand(&mut self) -> Option<Class> {
        let class = self.peek().and_then(Class::shorthand)?;
        self.at += 1;
        Some(class)
    }

    /// Reads an escaped character behind its backslash.
    fn escape(&mut self) -> Result<char, PatternError> {
        let backslash = self.at - 1;
        let Some(letter) = self.peek() else {
            return Err(PatternReason::Syntax.at(backslash));
        };
        self.at += 1;
        let reason = match letter {
            '(' | ')' | '*' | '+' | '-' | '.' | '?' | '[' | '\\' | ']' | '^' | '{' | '|' | '}'
            | '$' => return Ok(letter),
            'n' => return Ok('\n'),
            'r' => return Ok('\r'),
            't' => return Ok('\t'),
            'x' => match self.hexadecimal() {
                Some(character) => return Ok(character),
                None => PatternReason::UnknownEscape,
            },
            '1'..='9' | 'k' | 'g' => PatternReason::Backreference,
            'p' | 'P' => PatternReason::UnicodePropertyEscape,
            _ => PatternReason::UnknownEscape,
        };
        Err(reason.at(backslash))
    }

    fn hexadecimal(&mut self) -> Option<char> {
        let digits = self.text.get(self.at..self.at + 2)?;
        let code = digits
            .iter()
            .try_fold(0, |code, digit| Some(code * 16 + digit.to_digit(16)?))?;
        self.at += 2;
        char::from_u32(code)
    }

    fn peek(&self) -> Option<char> {
        self.text.get(self.at).copied()
    }

    fn eat(&mut self, character: char) -> bool {
        let found = self.peek() == Some(character);
        self.at += usize::from(found);
        found
    }

    fn here(&self, reason: PatternReason) -> PatternError {
        reason.at(self.at)
    }
}
