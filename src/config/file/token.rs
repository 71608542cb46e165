//! What looks like a secret, and a text without it.
//!
//! Secrets do not belong into configuration files. Who puts one there all the same is told so, and
//! must not see it on a screen or in a log because of that.

/// Names of values that are secrets, whatever stands before them.
const SECRET_NAMES: [&str; 11] = [
    "token",
    "password",
    "passwd",
    "passphrase",
    "secret",
    "authorization",
    "api_key",
    "apikey",
    "access_key",
    "private_key",
    "credential",
];

/// Beginnings of tokens that somebody hands out.
const TOKENS: [&str; 14] = [
    "ghp_",
    "gho_",
    "ghs_",
    "ghu_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "sk-",
    "sk_live_",
    "npm_",
    "AKIA",
    "AIza",
];

/// The parts of a reference to a secret.
pub(super) const REFERENCE: [&str; 3] = ["env", "file", "command"];

/// Shorter texts with such a beginning are words.
const TOKEN_BYTES: usize = 16;

/// Returns whether a value of this name would be a secret.
pub fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('-', "_");
    SECRET_NAMES.iter().any(|secret| {
        let before = name.strip_suffix(secret);
        before.is_some_and(|before| before.is_empty() || before.ends_with('_'))
    })
}

/// Returns whether a text is a credential to all appearances, wherever it stands.
pub fn looks_like_token(text: &str) -> bool {
    let scheme = |scheme: &str| {
        let head = text.get(..scheme.len());
        head.is_some_and(|head| head.eq_ignore_ascii_case(scheme)) && text.len() > scheme.len()
    };
    let is_token = |beginning: &str| text.starts_with(beginning) && text.len() >= TOKEN_BYTES;
    let is_jwt = text.starts_with("eyJ") && text.split('.').count() == 3;
    scheme("bearer ")
        || scheme("basic ")
        || scheme("token ")
        || TOKENS.iter().any(|beginning| is_token(beginning)) && !text.contains([' ', '/'])
        || is_jwt
        || text.starts_with("-----BEGIN")
        || has_userinfo(text)
}

/// Returns whether a URL has a password in front of its host.
pub(super) fn has_userinfo(text: &str) -> bool {
    userinfo(text).is_some_and(|userinfo| userinfo.contains(':') && !userinfo.ends_with(':'))
}

/// Returns what stands in front of the host of a URL.
pub(super) fn userinfo(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("://")?;
    let authority = rest.split(['/', '?', '#', '"', '\'']).next()?;
    authority.rsplit_once('@').map(|(userinfo, _)| userinfo)
}

/// Returns a text of the same length whose secrets are asterisks. It need not be TOML.
pub fn hidden(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let (mut within, mut is_table_of_references) = (None, false);
    for line in text.split_inclusive('\n') {
        // A text of several lines that begins with a secret goes on with it.
        if let Some(quotes) = within {
            shown.push_str(&asterisks(line));
            if line.contains(quotes) {
                within = None;
            }
            continue;
        }
        if line.trim_start().starts_with('[') {
            is_table_of_references = names_references(line.trim().trim_matches(['[', ']']));
        }
        let value = line.find('=').map_or(0, |equals| equals + 1);
        let (name, rest) = line.split_at(value);
        let name = name.trim_end_matches('=').trim();
        let name = name.rsplit(['.', '{', ',']).next().unwrap_or_default();
        let is_reference = rest.trim_start().starts_with('{');
        if value > 0 && is_secret_name(name.trim().trim_matches(['"', '\''])) && !is_reference {
            shown.push_str(&line[..value]);
            shown.push_str(&asterisks(rest));
            within = ["\"\"\"", "'''"]
                .into_iter()
                .find(|quotes| rest.matches(quotes).count() == 1);
        } else {
            let is_reference = is_table_of_references || names_references(&line[..value]);
            shown.push_str(&without_tokens(line, is_reference));
        }
    }
    shown
}

/// Returns whether a key is that of places where secrets are.
fn names_references(key: &str) -> bool {
    let parts = key.split(['.', '=', ' ', '"', '\'']);
    let mut parts = parts.filter(|part| !part.is_empty());
    parts.any(|part| part == "credential" || part == "secrets")
}

/// Hides quoted texts of a line that are secrets, and values of inline tables with such names. Where
/// there should be a reference, only its parts are shown.
fn without_tokens(line: &str, is_reference: bool) -> String {
    let mut shown = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(start) = rest.find(['"', '\'']) {
        let quote = &rest[start..=start];
        let (before, quoted) = rest.split_at(start + 1);
        let end = quoted.find(quote).unwrap_or(quoted.trim_end().len());
        let name = before.trim_end_matches(['"', '\'']).trim_end();
        let name = name.strip_suffix('=').unwrap_or_default().trim_end();
        let name = name
            .rsplit(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-'))
            .next()
            .unwrap_or_default();
        shown.push_str(before);
        let is_secret = looks_like_token(&quoted[..end])
            || userinfo(&quoted[..end]).is_some()
            || is_secret_name(name)
            || is_reference && !name.is_empty() && !REFERENCE.contains(&name);
        if is_secret {
            shown.push_str(&asterisks(&quoted[..end]));
        } else {
            shown.push_str(&quoted[..end]);
        }
        let close = (end + 1).min(quoted.len());
        let close = if quoted.is_char_boundary(close) {
            close
        } else {
            end
        };
        shown.push_str(&quoted[end..close]);
        rest = &quoted[close..];
    }
    shown.push_str(rest);
    shown
}

/// Returns as many asterisks as there are bytes, so that places stay where they are.
fn asterisks(text: &str) -> String {
    let body = text.trim_end_matches(['\n', '\r']);
    let blank = body.len() - body.trim_start().len();
    let mut shown = body[..blank].to_owned();
    shown.extend(std::iter::repeat_n('*', body.len() - blank));
    shown.push_str(&text[body.len()..]);
    shown
}

#[cfg(test)]
mod tests {
    use super::{hidden, is_secret_name, looks_like_token};

    #[test]
    fn tokens_are_known_by_their_looks() {
        for token in [
            "Bearer abc",
            "basic dTpw",
            "ghp_0123456789abcdefABCDEF",
            "eyJhbGciOi.eyJzdWIi.c2ln",
            "https://u:p@example.com/r",
            "-----BEGIN PRIVATE KEY-----",
        ] {
            assert!(looks_like_token(token), "{token}");
        }
        for word in [
            "docs",
            "bearer",
            "sk-learn",
            "https://example.com/r",
            "ssh://git@host/x",
            "ghp_x",
        ] {
            assert!(!looks_like_token(word), "{word}");
        }
        assert!(is_secret_name("WIKI_TOKEN") && is_secret_name("api-key"));
        assert!(!is_secret_name("token_file") && !is_secret_name("tokens"));
    }

    #[test]
    fn a_text_is_shown_without_its_secrets_and_everything_else_stays_in_place() {
        for text in [
            "credential = \"Bearer hunter2\"\nurl = 'x'\n",
            "url = \"https://me:hunter2@h/r\"\nstore = 1",
            "config = { password = \"hunter2\", root = \"docs\" }\n",
            "[remote.a]\npassword = \"hunter2",
            "a = \"Bearer hunter2\" # so\r\nb = [",
            "token = \"\"\"\nhunter2\n\"\"\"\nroot = \"docs\"\n",
            "a.token = hunter2",
            "credential = { value = \"hunter2\" }",
            "[remote.a.credential]\nvalue = \"hunter2\"",
        ] {
            let shown = hidden(text);
            assert!(!shown.contains("hunter2"), "{shown}");
            assert_eq!(shown.len(), text.len(), "{shown}");
            assert_eq!(shown.matches('\n').count(), text.matches('\n').count());
        }
        let plain = "[source.a]\nconfig = { root = \"docs\" }\ncredential = { env = \"A\" }\n";
        assert_eq!(hidden(plain), plain);
    }
}
