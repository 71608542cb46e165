//! Whose cursor it is (connector contract §16): a cursor of another version, prefix or
//! configuration says nothing.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// What a cursor belongs to: anything in it changed, and the cursor says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner([u8; 16]);

impl Owner {
    /// Returns the owner that stands for these texts (version, prefix, configuration).
    pub fn of(texts: &[&str]) -> Self {
        let mut hasher = Sha256::new();
        for text in texts {
            hasher.update((text.len() as u64).to_le_bytes());
            hasher.update(text);
        }
        let mut short = [0; 16];
        short.copy_from_slice(&hasher.finalize()[..16]);
        Self(short)
    }
}

impl std::fmt::Display for Owner {
    /// Writes it in hexadecimal digits.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::Owner;

    #[test]
    fn texts_do_not_run_together() {
        assert_ne!(Owner::of(&["a", "bc"]), Owner::of(&["ab", "c"]));
        assert_eq!(Owner::of(&["a"]).to_string().len(), 32);
    }
}
