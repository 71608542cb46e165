//! Classes in brackets, where most of the rules are about dashes (connector contract §5.1).

use super::{Parser, Part};
use crate::host::pattern::class::Class;
use crate::host::pattern::error::{PatternError, PatternReason};

impl Parser<'_> {
    /// Reads a class behind its bracket.
    pub(super) fn class(&mut self) -> Result<Part, PatternError> {
        let open = self.at - 1;
        let is_negated = self.eat('^');
        let begin = self.at;
        let mut items = Vec::new();
        if self.eat('-') {
            items.push(Class::of('-'));
        }
        while !self.eat(']') {
            if self.peek().is_none() {
                return Err(PatternReason::Syntax.at(open));
            }
            items.push(self.item()?);
        }
        if items.is_empty() {
            return Err(PatternReason::EmptyClass.at(open));
        }
        let written = &self.text[begin..self.at - 1];
        let is_doubled = |pair: &[char]| pair[0] == pair[1] && matches!(pair[0], '&' | '-' | '~');
        if let Some(offset) = written.windows(2).position(is_doubled) {
            return Err(PatternReason::ClassSetOperation.at(begin + offset));
        }
        let size = items.len() as u64;
        let mut class = Class::union(items);
        if is_negated {
            class = class.complement();
        }
        Ok(self.one(class, size))
    }

    fn item(&mut self) -> Result<Class, PatternError> {
        let here = self.at;
        if self.peek() == Some('-') {
            return self.dash();
        }
        if let Some(class) = self.class_shorthand() {
            if self.is_range() {
                return Err(PatternReason::ClassRangeEndpoint.at(here));
            }
            return Ok(class);
        }
        let low = self.class_character()?;
        if !self.is_range() {
            return Ok(Class::of(low));
        }
        self.at += 1;
        if self.class_shorthand().is_some() {
            return Err(PatternReason::ClassRangeEndpoint.at(here));
        }
        let high = self.class_character()?;
        if high < low {
            return Err(PatternReason::ClassRangeOrder.at(here));
        }
        Ok(Class::range(low, high))
    }

    /// Reads a dash where an item may begin: the last character of a class, or wrong.
    fn dash(&mut self) -> Result<Class, PatternError> {
        if self.text.get(self.at + 1) == Some(&']') {
            self.at += 1;
            return Ok(Class::of('-'));
        }
        let reason = if self.text[self.at - 1] == '-' {
            PatternReason::ClassSetOperation
        } else {
            PatternReason::ClassDashPosition
        };
        Err(self.here(reason))
    }

    /// Returns whether a range operator comes next: a dash that is not the last character.
    fn is_range(&self) -> bool {
        self.peek() == Some('-') && self.text.get(self.at + 1) != Some(&']')
    }

    fn class_shorthand(&mut self) -> Option<Class> {
        let letter = self.text.get(self.at + 1)?;
        let class = (self.peek() == Some('\\')).then(|| Class::shorthand(*letter))??;
        self.at += 2;
        Some(class)
    }

    fn class_character(&mut self) -> Result<char, PatternError> {
        let here = self.at;
        let Some(character) = self.peek() else {
            return Err(PatternReason::Syntax.at(here));
        };
        self.at += 1;
        match character {
            '\\' => self.escape(),
            '[' => Err(PatternReason::ClassUnescapedBracket.at(here)),
            '-' => Err(PatternReason::ClassSetOperation.at(here)),
            other => Ok(other),
        }
    }
}
