//! What a configuration includes and excludes, the same for every source of files.

use crate::patterns::{Case, Line, Patterns};

/// The members `include` and `exclude`, as patterns.
#[derive(Clone, Debug)]
pub struct Globs {
    include: Option<Patterns>,
    exclude: Patterns,
}

impl Globs {
    /// Compiles both members. Without anything in `include` everything is included.
    ///
    /// # Errors
    ///
    /// Names the member, and the glob in it that could never name anything.
    pub fn new(include: &[String], exclude: &[String]) -> Result<Self, String> {
        let compiled = |member: &str, globs: &[String]| {
            Patterns::of_globs(globs).map_err(|why| format!("{member}: {why}"))
        };
        Ok(Self {
            include: (!include.is_empty())
                .then(|| compiled("include", include))
                .transpose()?,
            exclude: compiled("exclude", exclude)?,
        })
    }

    /// Returns whether an enumeration goes on at `path`, relative to the root. The folders above it
    /// have been admitted already.
    pub fn admit(&self, path: &[u8], is_folder: bool) -> bool {
        // A folder has to be entered to find out what in it is included.
        self.exclude.verdict(path, is_folder, Case::Sensitive) != Some(true)
            && (is_folder || self.include(path, false))
    }

    /// Returns the glob that excludes `path`, if one does.
    pub fn excluding(&self, path: &[u8], is_folder: bool) -> Option<Line<'_>> {
        let decisive = self.exclude.decisive(path, is_folder, Case::Sensitive);
        decisive.filter(|line| !line.is_negative)
    }

    /// Returns whether `path` or a folder above it is included; the nearest one counts.
    pub fn include(&self, mut path: &[u8], mut is_folder: bool) -> bool {
        let Some(include) = &self.include else {
            return true;
        };
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

#[cfg(test)]
mod tests {
    use super::Globs;

    fn globs(include: &[&str], exclude: &[&str]) -> Result<Globs, String> {
        let owned = |globs: &[&str]| -> Vec<String> {
            globs.iter().map(|glob| (*glob).to_owned()).collect()
        };
        Globs::new(&owned(include), &owned(exclude))
    }

    #[test]
    fn include_names_files_or_the_folders_above_them() {
        let globs = globs(&["*.md", "/api/"], &["drafts/**"]).unwrap();
        let admitted = |path: &str| globs.admit(path.as_bytes(), false);
        assert!(admitted("a.md"));
        assert!(admitted("deep/down/a.md"));
        assert!(admitted("api/v1/spec.yaml"));
        assert!(!admitted("other/api/spec.yaml"));
        assert!(!admitted("a.txt"));
        assert!(!admitted("drafts/a.md"));
        assert!(globs.admit(b"deep", true));
    }

    #[test]
    fn a_glob_that_is_none_is_refused_with_its_member() {
        let why = globs(&["*.md"], &["a[b"]).unwrap_err();
        assert!(why.starts_with("exclude: "), "{why}");
    }
}
