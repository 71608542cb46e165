//! Keeps credentials out of what is shown.
//!
//! Two roads, for neither is enough alone: the credentials of a round are known and looked for in every
//! spelling; and whatever stands where a URL has its user is hidden, known or not.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::place::Url;

/// What stands in place of a credential.
const HIDDEN: &str = "***";

/// The credentials of one URL.
#[derive(Default)]
pub(crate) struct Secrets {
    /// Hidden wherever they are, the longest first.
    everywhere: Vec<String>,
    /// Hidden where they are words of their own: names of users are often short.
    as_words: Vec<String>,
}

impl Secrets {
    /// Returns those of `url`, and of `credential`, a user with a password.
    pub(crate) fn of(url: &Url, credential: Option<(&str, &str)>) -> Self {
        let mut secrets = Self::default();
        let spelled = url.userinfo.as_deref().unwrap_or_default();
        let (spelled_user, spelled_password) = spelled.split_once(':').unwrap_or((spelled, ""));
        let query = url.text.split_once('?').map_or("", |(_, query)| query);
        secrets.everywhere = vec![query.to_owned(), spelled_password.to_owned()];
        secrets.as_words = vec![spelled_user.to_owned()];
        secrets.as_words.extend(url.user.clone());
        secrets.everywhere.extend(url.password.clone());
        if let Some((user, password)) = credential {
            let sent = STANDARD.encode(format!("{user}:{password}"));
            secrets.everywhere.extend([password.to_owned(), sent]);
        }
        for kind in [&mut secrets.everywhere, &mut secrets.as_words] {
            kind.retain(|secret| !secret.is_empty());
            kind.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
            kind.dedup();
        }
        secrets
    }

    /// Returns a text that somebody else wrote, without them.
    pub(crate) fn hide(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in &self.everywhere {
            text = text.replace(secret, HIDDEN);
        }
        for word in &self.as_words {
            text = without_word(&text, word);
        }
        without_users(&text)
    }
}

/// Returns the name of a place as a person gave it, without what may be a credential.
///
/// For texts that were not understood, too: a password may hold what no URL may hold.
pub fn without_credentials(text: &str) -> String {
    let is_path = text.starts_with(['/', '.']) && !text.starts_with("//");
    let Some((before, after)) = text.rsplit_once('@').filter(|_| !is_path) else {
        return without_query(text).to_owned();
    };
    if let Some((scheme, userinfo)) = before.split_once("://") {
        let user = shown_user(scheme, userinfo);
        let after = after.split('?').next().unwrap_or_default();
        return format!("{scheme}://{user}@{after}");
    }
    // Without a scheme a user alone is part of an address of ssh, or of a name.
    if before.contains(':') || before.starts_with("//") {
        return format!("{HIDDEN}@{after}");
    }
    format!("{before}@{after}")
}

fn without_query(text: &str) -> &str {
    if text.contains("://") {
        text.split('?').next().unwrap_or_default()
    } else {
        text
    }
}

/// Returns what is shown of the user in a URL: of ssh it is part of the address.
fn shown_user(scheme: &str, userinfo: &str) -> String {
    let is_address = scheme.to_ascii_lowercase().ends_with("ssh");
    match userinfo.split_once(':') {
        None if is_address => userinfo.to_owned(),
        Some((user, _)) if is_address => format!("{user}:{HIDDEN}"),
        _ => HIDDEN.to_owned(),
    }
}

/// Hides the users of all URLs in a text.
fn without_users(text: &str) -> String {
    let mut parts = text.split("://");
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let scheme = shown.rsplit(|c: char| !c.is_ascii_alphanumeric()).next();
        let scheme = scheme.unwrap_or_default().to_owned();
        shown.push_str("://");
        let end = part.find(|c: char| c.is_whitespace() || "/?#'\"`<>".contains(c));
        let (authority, rest) = part.split_at(end.unwrap_or(part.len()));
        match authority.rsplit_once('@') {
            Some((userinfo, host)) => {
                shown.push_str(&shown_user(&scheme, userinfo));
                shown.push('@');
                shown.push_str(host);
            }
            None => shown.push_str(authority),
        }
        shown.push_str(rest);
    }
    shown
}

fn without_word(text: &str, word: &str) -> String {
    let is_part = |character: Option<char>| character.is_some_and(char::is_alphanumeric);
    let mut shown = String::new();
    let mut rest = text;
    let mut before = None;
    while let Some(at) = rest.find(word) {
        let (start, found) = rest.split_at(at);
        let after = &found[word.len()..];
        before = start.chars().next_back().or(before);
        shown.push_str(start);
        let stands_alone = !is_part(before) && !is_part(after.chars().next());
        shown.push_str(if stands_alone { HIDDEN } else { word });
        before = word.chars().next_back();
        rest = after;
    }
    shown.push_str(rest);
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::Place;

    #[test]
    fn what_was_named_is_shown_without_what_may_be_a_credential() {
        for (text, shown) in [
            ("https://h/x", "https://h/x"),
            ("https://s3cret@h/x", "https://***@h/x"),
            ("HTTP://u:s3cret@h/x", "HTTP://***@h/x"),
            ("ftp://u:s3cret@h/x", "ftp://***@h/x"),
            ("http://u:s3cret@h:99999/x", "http://***@h:99999/x"),
            ("http://u:s3 cret@h/x", "http://***@h/x"),
            ("http://u:s3/cr@et@h/x", "http://***@h/x"),
            ("http://h/x?token=s3cret", "http://h/x"),
            ("http://u@h/x?token=s3cret", "http://***@h/x"),
            ("file://u:s3cret@h/x", "file://***@h/x"),
            ("http:/u:s3cret@h/x", "***@h/x"),
            ("//u:s3cret@h/x", "***@h/x"),
            ("u:s3cret@h:x", "***@h:x"),
            ("git@h:x", "git@h:x"),
            ("ssh://git@h/x", "ssh://git@h/x"),
            ("ssh://git:s3cret@h/x", "ssh://git:***@h/x"),
            ("/srv/a:b@c/docs", "/srv/a:b@c/docs"),
            ("docs@2", "docs@2"),
        ] {
            assert_eq!(without_credentials(text), shown, "{text}");
        }
    }

    #[test]
    fn what_others_say_is_shown_without_credentials_in_any_spelling() {
        let Ok(Place::Url(url)) = Place::parse("https://me:p%40ss@h/x") else {
            panic!("it is a URL");
        };
        let secrets = Secrets::of(&url, Some(("me", "p@ss")));
        // printf 'me:p@ss' | base64
        for (said, shown) in [
            (
                "fatal: 'https://me@h/x' is gone",
                "fatal: 'https://***@h/x' is gone",
            ),
            ("sent p%40ss, p@ss", "sent ***, ***"),
            ("Basic bWU6cEBzcw==", "Basic ***"),
            (
                "remote: me may not, says some name",
                "remote: *** may not, says some name",
            ),
            (
                "see ssh://git@h/y and http://x:y@z",
                "see ssh://git@h/y and http://***@z",
            ),
        ] {
            assert_eq!(secrets.hide(said), shown);
        }
    }
}
