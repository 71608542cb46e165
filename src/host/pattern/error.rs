//! Why a text is no pattern of the subset (connector contract §5.3, reason tags).

use thiserror::Error;

/// A text that is outside of the subset. Does not hold the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{reason} at character {at}")]
pub struct PatternError {
    /// The rule that is broken.
    pub reason: PatternReason,
    /// Where, in scalar values from the beginning.
    pub at: usize,
}

/// The rules of §5.1 and §5.2, shown as the contract's tags.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PatternReason {
    /// More than 1024 scalar values.
    #[error("length")]
    Length,
    /// More than 64 nested groups.
    #[error("nesting_depth")]
    NestingDepth,
    /// An expansion size above 4096.
    #[error("expansion")]
    Expansion,
    /// An anchor anywhere but at the ends of a branch at the top.
    #[error("anchor_position")]
    AnchorPosition,
    /// A quantifier without an atom, or a brace that is none.
    #[error("invalid_repetition")]
    InvalidRepetition,
    /// A second quantifier.
    #[error("stacked_quantifier")]
    StackedQuantifier,
    /// A `?` after a quantifier.
    #[error("lazy_quantifier")]
    LazyQuantifier,
    /// A `+` after a quantifier.
    #[error("possessive_quantifier")]
    PossessiveQuantifier,
    /// A group that looks ahead or behind.
    #[error("lookaround")]
    Lookaround,
    /// A group with a name.
    #[error("named_group")]
    NamedGroup,
    /// A comment.
    #[error("comment_group")]
    CommentGroup,
    /// Flags, for a group or from here on.
    #[error("inline_flag")]
    InlineFlag,
    /// A reference to a group.
    #[error("backreference")]
    Backreference,
    /// A property of Unicode.
    #[error("unicode_property_escape")]
    UnicodePropertyEscape,
    /// Another escape the contract does not have.
    #[error("unknown_escape")]
    UnknownEscape,
    /// A class without items.
    #[error("empty_class")]
    EmptyClass,
    /// A `[` in a class.
    #[error("class_unescaped_bracket")]
    ClassUnescapedBracket,
    /// A `-` that is neither first, last nor between two characters.
    #[error("class_dash_position")]
    ClassDashPosition,
    /// A range that begins or ends with a shorthand.
    #[error("class_range_endpoint")]
    ClassRangeEndpoint,
    /// A range that ends before it begins.
    #[error("class_range_order")]
    ClassRangeOrder,
    /// `&&`, `--` or `~~` in a class.
    #[error("class_set_operation")]
    ClassSetOperation,
    /// Whatever else the grammar does not have.
    #[error("syntax")]
    Syntax,
}

impl PatternReason {
    pub(super) fn at(self, at: usize) -> PatternError {
        PatternError { reason: self, at }
    }
}
