//! Where colours are used: what a person chose, then the conventions of the environment.
//!
//! Knows streams only as terminals or not.

use std::env;

/// Where colours are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Color {
    /// On terminals that can show them, unless the environment says otherwise.
    #[default]
    Auto,
    /// Everywhere.
    Always,
    /// Nowhere.
    Never,
}

impl Color {
    /// Returns whether a stream has colours that is a `terminal`, or is none.
    pub fn is_on(self, terminal: bool) -> bool {
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => by_environment(terminal, |name| env::var(name).ok()),
        }
    }
}

/// `NO_COLOR` (no-color.org) outweighs `CLICOLOR_FORCE` (bixense.com/clicolors), as in the libraries
/// that others use.
fn by_environment(terminal: bool, variable: impl Fn(&str) -> Option<String>) -> bool {
    let given = |name| variable(name).filter(|value| !value.is_empty());
    if given("NO_COLOR").is_some() {
        return false;
    }
    if given("CLICOLOR_FORCE").is_some_and(|value| value != "0") {
        return true;
    }
    let is_refused = given("CLICOLOR").is_some_and(|value| value == "0");
    terminal && !is_refused && variable("TERM").is_none_or(|term| term != "dumb")
}

#[cfg(test)]
mod tests {
    use super::by_environment;

    #[test]
    fn the_conventions_of_the_environment_are_kept() {
        let is_on = |variables: &[(&str, &str)], terminal| {
            by_environment(terminal, |name| {
                let mut found = variables.iter().filter(|(given, _)| *given == name);
                found.next().map(|(_, value)| (*value).to_owned())
            })
        };
        assert!(is_on(&[], true));
        assert!(!is_on(&[], false));
        assert!(!is_on(&[("NO_COLOR", "1")], true));
        assert!(is_on(&[("NO_COLOR", "")], true));
        assert!(is_on(&[("CLICOLOR_FORCE", "1")], false));
        assert!(!is_on(&[("CLICOLOR_FORCE", "0")], false));
        assert!(!is_on(&[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")], true));
        assert!(!is_on(&[("CLICOLOR", "0")], true));
        assert!(!is_on(&[("TERM", "dumb")], true));
    }
}
