//! Path bytes ↔ file_uri below a prefix.
//!
//! The result is valid and already normalised (hash contract §11), and every path gives another
//! URI, so that a connector can go back from a URI to the path it came from. Knows no file
//! system: a path is bytes with `/` between its components.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, percent_encode};

/// All but unreserved characters, sub-delims, `:`, `@` and the `/` between segments.
const NO_PATH_CHARACTERS: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'!')
    .remove(b'$')
    .remove(b'&')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b'+')
    .remove(b',')
    .remove(b';')
    .remove(b'=')
    .remove(b':')
    .remove(b'@')
    .remove(b'/');

/// Returns the file_uri of `path` below `prefix`, which is a valid, normalised URI.
///
/// Bytes that may stand in a path segment as they are (unreserved, sub-delims, `:` and `@`) do
/// so; every other byte becomes `%HH`. Where the prefix ends inside its authority a `/` is put
/// between, since a host would swallow the path and lose its capitals (§11.2).
pub fn file_uri(prefix: &str, path: &[u8]) -> String {
    let mut uri = String::with_capacity(prefix.len() + path.len() + 8);
    uri.push_str(prefix);
    if ends_in_authority(prefix) {
        uri.push('/');
    }
    uri.extend(percent_encode(path, NO_PATH_CHARACTERS));
    uri
}

/// Returns the path whose [`file_uri`] below `prefix` is `uri`, if there is one.
pub fn path_of(prefix: &str, uri: &str) -> Option<Vec<u8>> {
    let mut rest = uri.strip_prefix(prefix)?;
    if ends_in_authority(prefix) {
        rest = rest.strip_prefix('/')?;
    }
    let path: Vec<u8> = percent_decode_str(rest).collect();
    // A lone `%` is taken for itself, but no URI of a path has one.
    (file_uri(prefix, &path) == uri).then_some(path)
}

fn ends_in_authority(prefix: &str) -> bool {
    let Some((_, rest)) = prefix.split_once(':') else {
        return false;
    };
    rest.strip_prefix("//")
        .is_some_and(|authority| !authority.contains(['/', '?', '#']))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{ProptestConfig, any, prop, prop_assert, prop_assert_eq, proptest};

    use super::*;

    #[test]
    fn bytes_that_are_not_path_characters_are_percent_encoded() {
        let cases: [(&[u8], &str); 6] = [
            (b"a/b.md", "dpe://h/a/b.md"),
            (b"with space", "dpe://h/with%20space"),
            ("é".as_bytes(), "dpe://h/%C3%A9"),
            (b"\xff\xfe", "dpe://h/%FF%FE"),
            (b"50%?#[x]", "dpe://h/50%25%3F%23%5Bx%5D"),
            (b"a:b@c!$&'()*+,;=~_-", "dpe://h/a:b@c!$&'()*+,;=~_-"),
        ];
        for (path, uri) in cases {
            assert_eq!(file_uri("dpe://h/", path), uri);
            assert_eq!(path_of("dpe://h/", uri).as_deref(), Some(path));
        }
    }

    #[test]
    fn a_prefix_that_ends_in_the_host_is_closed_first() {
        assert_eq!(file_uri("dpe://docs", b"README"), "dpe://docs/README");
        assert_eq!(path_of("dpe://docs", "dpe://docsREADME"), None);
        assert_eq!(file_uri("dpe:", b"README"), "dpe:README");
        assert_eq!(file_uri("x://h?q=", b"A"), "x://h?q=A");
    }

    #[test]
    fn uris_of_no_path_are_not_led_back() {
        for uri in [
            "dpe://other/a",
            "dpe://h/%4",
            "dpe://h/%zz",
            "dpe://h/%41",
            "dpe://h/%c3",
        ] {
            assert_eq!(path_of("dpe://h/", uri), None, "{uri}");
        }
    }

    /// The normalisation of hash contract §11.2 for the part behind the authority, written
    /// down anew for this test.
    fn normalised_path(text: &str) -> String {
        let bytes = text.as_bytes();
        let mut out = String::new();
        let mut at = 0;
        while at < bytes.len() {
            if bytes[at] == b'%' {
                let value = u8::from_str_radix(&text[at + 1..at + 3], 16).unwrap();
                if value.is_ascii_alphanumeric() || b"-._~".contains(&value) {
                    out.push(char::from(value));
                } else {
                    out.push_str(&text[at..at + 3].to_ascii_uppercase());
                }
                at += 3;
            } else {
                out.push(char::from(bytes[at]));
                at += 1;
            }
        }
        out
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn every_path_gives_a_normalised_uri_and_comes_back(
            path in prop::collection::vec(any::<u8>(), 0..40),
            prefix in prop::sample::select(vec!["dpe://h/", "dpe://h", "dpe:", "x://u@h:1/p/", "x://h?q#"]),
        ) {
            let uri = file_uri(prefix, &path);
            prop_assert!(uri.bytes().all(|byte| byte.is_ascii_alphanumeric()
                || b"-._~:/?#[]@!$&'()*+,;=%".contains(&byte)));
            let tail = &uri[prefix.len()..];
            prop_assert_eq!(normalised_path(tail), tail);
            prop_assert_eq!(path_of(prefix, &uri), Some(path));
        }
    }
}
