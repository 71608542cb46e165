//! What a plugin gets to see of the environment (connector contract §7.2): a few base variables
//! and what its instance gives it, nothing else. So no credential of the remote can reach it.

use std::env;
use std::ffi::OsString;

use dpe_connector::manifest::{BASE_ENVIRONMENT, BASE_ENVIRONMENT_LOCALE};

/// Returns the complete environment of a plugin: the base variables this process has, and `given`
/// (resolved secrets and `plugin.env`, whose names are never base names).
pub fn plugin_environment(given: Vec<(OsString, OsString)>) -> Vec<(OsString, OsString)> {
    selected(env::vars_os(), given)
}

fn selected(
    own: impl Iterator<Item = (OsString, OsString)>,
    given: Vec<(OsString, OsString)>,
) -> Vec<(OsString, OsString)> {
    own.filter(|(name, _)| name.to_str().is_some_and(is_inherited))
        .chain(given)
        .collect()
}

fn is_inherited(name: &str) -> bool {
    BASE_ENVIRONMENT.contains(&name) || name.starts_with(BASE_ENVIRONMENT_LOCALE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_base_variables_and_given_ones_reach_a_plugin() {
        let pair = |name: &&str| (OsString::from(name), OsString::from("v"));
        let own = [
            "PATH",
            "HOME",
            "LANG",
            "TZ",
            "TMPDIR",
            "LC_ALL",
            "LC_X",
            "DPE_AUTHORIZATION",
            "TEMP",
            "XDG_CONFIG_HOME",
            "path",
        ];
        let found = selected(own.iter().map(pair), vec![pair(&"WIKI_TOKEN")]);
        let names: Vec<_> = found.iter().filter_map(|(name, _)| name.to_str()).collect();
        let expected = [
            "PATH",
            "HOME",
            "LANG",
            "TZ",
            "TMPDIR",
            "LC_ALL",
            "LC_X",
            "WIKI_TOKEN",
        ];
        assert_eq!(names, expected);
    }
}
