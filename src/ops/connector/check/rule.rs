//! The rules that are tried out.

/// A rule of the connector contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// What it is called in results.
    pub name: &'static str,
    /// The section it is from.
    pub section: &'static str,
}

const fn rule(name: &'static str, section: &'static str) -> Rule {
    Rule { name, section }
}

/// The manifest is valid.
pub(super) const MANIFEST: Rule = rule("manifest", "§4");
/// Nothing is done before `initialize`.
pub(super) const BEFORE_INITIALIZE: Rule = rule("before_initialize", "§10");
/// A version nobody knows is refused.
pub(super) const VERSION: Rule = rule("version_refused", "§10");
/// A configuration that cannot be used is refused.
pub(super) const CONFIG: Rule = rule("config_refused", "§10");
/// `initialize` succeeds, with the identity of the manifest.
pub(super) const INITIALIZE: Rule = rule("initialize", "§10");
/// A method nobody knows is refused.
pub(super) const UNKNOWN_METHOD: Rule = rule("unknown_method", "§9");
/// A scan goes on to its end.
pub(super) const ROUND: Rule = rule("round", "§11");
/// Items are closed and valid, segments in order.
pub(super) const ITEMS: Rule = rule("items", "§12, §13");
/// Items are inside of the prefix.
pub(super) const PREFIX: Rule = rule("prefix", "§3");
/// Handles give the same bytes at any offset.
pub(super) const BLOBS: Rule = rule("blobs", "§14");
/// A handle nobody gave is refused.
pub(super) const UNKNOWN_HANDLE: Rule = rule("unknown_handle", "§14.2");
/// A continuation nobody gave is refused.
pub(super) const UNKNOWN_NEXT: Rule = rule("unknown_next", "§11");
/// `cancel` is answered, and the plugin lives on.
pub(super) const CANCEL: Rule = rule("cancel", "§15");
/// It exits with 0 after `shutdown`.
pub(super) const SHUTDOWN: Rule = rule("shutdown", "§17");
/// A request above the limit is refused.
pub(super) const OVERSIZED: Rule = rule("oversized_request", "§9");
/// No message is above the limit.
pub(super) const MESSAGE_LIMIT: Rule = rule("message_limit", "§9");
/// Two enumerations are the same.
pub(super) const DETERMINISM: Rule = rule("determinism", "§2");
/// It exits when its stdin ends.
pub(super) const END_OF_INPUT: Rule = rule("end_of_input", "§17");
/// A cursor is of use in another process.
pub(super) const CURSOR: Rule = rule("cursor", "§16");
/// A cursor that is of no use leads to a full enumeration.
pub(super) const CURSOR_FALLBACK: Rule = rule("cursor_fallback", "§16");
/// There is nothing but responses on stdout.
pub(super) const FRAMING: Rule = rule("framing", "§9");
