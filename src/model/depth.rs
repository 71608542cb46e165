//! Nesting depth of one object (hash contract §7).

use super::violation::Violation;
use crate::json::Value;

/// Deepest nesting of a valid object.
pub const MAX_NESTING_DEPTH: usize = 64;

/// Returns the nesting depth of a value: 0 for a scalar, one more than the deepest child for a
/// container. `child_list` names the root member whose array counts as 1, whatever it holds.
pub fn nesting_depth(value: Value<'_>, child_list: Option<&str>) -> usize {
    let Some(members) = value.members() else {
        return depth_of(value);
    };
    let deepest = members
        .map(|(name, member)| match child_list {
            Some(list) if name == list && member.items().is_some() => 1,
            _ => depth_of(member),
        })
        .max();
    1 + deepest.unwrap_or(0)
}

/// Recursion is bounded by what the parser lets nest.
fn depth_of(value: Value<'_>) -> usize {
    let deepest = if let Some(members) = value.members() {
        members.handles().map(|(_, member)| depth_of(member)).max()
    } else if let Some(items) = value.items() {
        items.map(depth_of).max()
    } else {
        return 0;
    };
    1 + deepest.unwrap_or(0)
}

/// Step 0b of hash contract §6.1.
pub(super) fn check(value: Value<'_>, child_list: Option<&str>) -> Result<(), Violation> {
    let fits = value.depth_bound() <= MAX_NESTING_DEPTH
        || nesting_depth(value, child_list) <= MAX_NESTING_DEPTH;
    if fits {
        Ok(())
    } else {
        Err(Violation::here("nested deeper than 64"))
    }
}
