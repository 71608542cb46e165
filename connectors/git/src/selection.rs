//! Which paths are enumerated, as far as the configuration says it.

use dpe_connector_files::{Case, Patterns};

/// The globs of the configuration, and the folder they speak of.
#[derive(Clone, Debug)]
pub(crate) struct Selection {
    include: Option<Patterns>,
    exclude: Patterns,
    hidden: bool,
    /// Path of the folder; empty for the whole tree.
    folder: Vec<u8>,
}

impl Selection {
    /// Compiles the globs.
    ///
    /// # Errors
    ///
    /// Names the glob that cannot be one.
    pub(crate) fn new(
        include: &[String],
        exclude: &[String],
        hidden: bool,
        folder: Vec<u8>,
    ) -> Result<Self, String> {
        let compiled = |member: &str, globs: &[String]| {
            Patterns::of_globs(globs).map_err(|why| format!("{member}: {why}"))
        };
        Ok(Self {
            include: (!include.is_empty())
                .then(|| compiled("include", include))
                .transpose()?,
            exclude: compiled("exclude", exclude)?,
            hidden,
            folder,
        })
    }

    /// Returns the path of the folder that is enumerated; empty for the whole tree.
    pub(crate) fn folder(&self) -> &[u8] {
        &self.folder
    }

    /// Returns whether an enumeration goes on at `path`, relative to the folder. The folders above
    /// have been admitted already. `ruled` is what the ignore files say: left out, or taken back.
    pub(crate) fn admits(&self, path: &[u8], is_folder: bool, ruled: Option<bool>) -> bool {
        let is_excluded = || {
            let verdict = self.exclude.verdict(path, is_folder, Case::Sensitive);
            verdict == Some(true)
        };
        let is_ruled_out = match ruled {
            Some(left_out) => left_out,
            None => !self.hidden && is_hidden(path),
        };
        // A folder has to be entered to find out what in it is included.
        !is_ruled_out && !is_excluded() && (is_folder || self.includes(path, false))
    }

    /// Returns whether `path` or a folder above it is included.
    pub(crate) fn includes(&self, path: &[u8], is_folder: bool) -> bool {
        let Some(include) = &self.include else {
            return true;
        };
        let (mut path, mut is_folder) = (path, is_folder);
        loop {
            if let Some(named) = include.verdict(path, is_folder, Case::Sensitive) {
                return named;
            }
            let Some(slash) = path.iter().rposition(|&byte| byte == b'/') else {
                return false;
            };
            (path, is_folder) = (&path[..slash], true);
        }
    }
}

fn is_hidden(path: &[u8]) -> bool {
    dpe_connector_files::file_name(path).starts_with(b".")
}

#[cfg(test)]
mod tests {
    use super::Selection;

    fn selection(include: &[&str], exclude: &[&str]) -> Selection {
        let owned = |globs: &[&str]| {
            globs
                .iter()
                .map(|glob| (*glob).to_owned())
                .collect::<Vec<_>>()
        };
        Selection::new(&owned(include), &owned(exclude), false, Vec::new()).unwrap()
    }

    #[test]
    fn include_names_files_or_the_folders_above_them() {
        let selection = selection(&["*.md", "/api/"], &["drafts/**"]);
        let admitted = |path: &str| selection.admits(path.as_bytes(), false, None);
        assert!(admitted("a.md"));
        assert!(admitted("deep/down/a.md"));
        assert!(admitted("api/v1/spec.yaml"));
        assert!(!admitted("other/api/spec.yaml"));
        assert!(!admitted("a.txt"));
        assert!(!admitted("drafts/a.md"));
        assert!(selection.admits(b"deep", true, None));
    }

    #[test]
    fn hidden_names_are_left_out_unless_a_rule_takes_them_back() {
        let selection = selection(&[], &["*.key"]);
        assert!(!selection.admits(b".github", true, None));
        assert!(selection.admits(b".github", true, Some(false)));
        assert!(!selection.admits(b"a.md", false, Some(true)));
        assert!(!selection.admits(b"a.key", false, Some(false)));
    }
}
