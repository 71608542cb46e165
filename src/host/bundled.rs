//! The connectors that are linked into this binary and run as children of it.

use dpe_connector::manifest::Manifest;

use super::manifest::read_manifest;

/// A connector that needs no installation.
#[derive(Clone, Debug)]
pub struct Bundled {
    /// Its manifest.
    pub manifest: Manifest,
    /// The text of its manifest.
    pub manifest_text: &'static str,
    /// Arguments of this very executable that make it the connector.
    pub args: [&'static str; 3],
}

/// Name and manifest of each.
const ALL: [(&str, &str); 2] = [
    (dpe_connector_fs::NAME, dpe_connector_fs::MANIFEST),
    (dpe_connector_git::NAME, dpe_connector_git::MANIFEST),
];

/// Returns the bundled connectors, sorted by name.
pub fn bundled_connectors() -> impl Iterator<Item = Bundled> {
    ALL.into_iter().map(of)
}

/// Returns the bundled connector of this name.
pub fn bundled(name: &str) -> Option<Bundled> {
    ALL.into_iter().find(|(known, _)| *known == name).map(of)
}

fn of((name, manifest_text): (&'static str, &'static str)) -> Bundled {
    Bundled {
        manifest: read_manifest(manifest_text.as_bytes())
            .expect("a test reads the manifest of every bundled connector"),
        manifest_text,
        args: ["connector", "serve", name],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifest_of_every_bundled_connector_is_valid() {
        let versions: Vec<String> = bundled_connectors()
            .map(|bundled| bundled.manifest.version)
            .collect();
        let expected = [dpe_connector_fs::VERSION, dpe_connector_git::VERSION];
        assert_eq!(versions, expected);
        assert!(bundled("git").is_some());
        assert!(bundled("unheard_of").is_none());
    }
}
