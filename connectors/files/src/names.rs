//! Parts of paths. A path is bytes with `/` between its components.

/// Returns the last component of a path.
pub fn file_name(path: &[u8]) -> &[u8] {
    path.rsplit(|&byte| byte == b'/').next().unwrap_or(path)
}

/// Returns what follows the last dot of the file name, if the dot is not its first byte.
pub fn extension(path: &[u8]) -> Option<&[u8]> {
    let name = file_name(path);
    let dot = name.iter().rposition(|&byte| byte == b'.')?;
    (dot > 0).then(|| &name[dot + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_extensions_are_those_of_the_last_component() {
        assert_eq!(file_name(b"a.b/c"), b"c");
        assert_eq!(extension(b"a.b/c"), None);
        assert_eq!(extension(b"a/c.tar.gz"), Some(&b"gz"[..]));
        assert_eq!(extension(b"a/.profile"), None);
    }
}
