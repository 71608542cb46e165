//! The connectors that are linked into this binary and run as children of it.

use dpe_connector::manifest::Manifest;

use super::manifest::read_manifest;

/// A connector that needs no installation.
#[derive(Clone, Debug)]
pub struct Bundled {
    /// Its manifest.
    pub manifest: Manifest,
    /// Arguments of this very executable that make it the connector.
    pub args: [&'static str; 3],
}

/// Returns the bundled connector of this name.
pub fn bundled(name: &str) -> Option<Bundled> {
    match name {
        dpe_connector_fs::NAME => Some(Bundled {
            manifest: read_manifest(dpe_connector_fs::MANIFEST.as_bytes())
                .expect("a test reads the manifest of every bundled connector"),
            args: ["connector", "serve", dpe_connector_fs::NAME],
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifest_of_every_bundled_connector_is_valid() {
        let fs = bundled("fs").unwrap();
        assert_eq!(fs.manifest.version, dpe_connector_fs::VERSION);
        assert!(bundled("unheard_of").is_none());
    }
}
